"""Methods of the literature under their own names."""

from skimp.recipes._krls import POWERS, krls

__all__ = ["POWERS", "krls"]
