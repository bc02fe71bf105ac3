"""The names that the literature gives to choices of kernel, approximation, loss and solver."""

from skimp.recipes._krls import POWERS, krls

__all__ = ["POWERS", "krls"]
