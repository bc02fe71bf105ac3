"""Losses: what a mistake costs."""

from skimp.losses._base import Loss, as_loss
from skimp.losses._squared import Squared

squared = Squared()

__all__ = ["Loss", "Squared", "as_loss", "squared"]
