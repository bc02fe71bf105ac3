"""What every loss is."""

from abc import ABC, abstractmethod
from typing import Any

from skimp._core._names import as_object
from skimp._core._types import Array


class Loss(ABC):
    """A convex function of a prediction f, for each target y: value and two derivatives.

    Arrays in, arrays of the same shape out: one entry for each row and output.
    """

    @abstractmethod
    def value(self, y: Array, f: Array) -> Array:
        """Return the loss."""

    @abstractmethod
    def gradient(self, y: Array, f: Array) -> Array:
        """Return its derivative in f, or a subgradient."""

    @abstractmethod
    def curvature(self, y: Array, f: Array) -> Array:
        """Return its second derivative in f."""


_NAMES = {"squared": "squared"}


def as_loss(loss: Any, *, owner: str) -> Loss:
    """Return a loss for a name or an object; ``owner`` is named in the error."""
    return as_object(loss, Loss, _NAMES, "skimp.losses", owner=owner, role="loss")  # type: ignore[type-abstract]
