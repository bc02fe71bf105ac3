"""The squared loss."""

from dataclasses import dataclass
from typing import final

import numpy as np

from skimp._core._types import Array
from skimp.losses._base import Loss


@final
@dataclass(frozen=True)
class Squared(Loss):
    r"""Squared loss, :math:`(y - f)^2`: regression, or classification with targets 1 and -1.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.losses import squared
    >>> squared.value(np.array([3.0]), np.array([1.0])).item()
    4.0
    """

    def value(self, y: Array, f: Array) -> Array:
        """Return (y - f)^2."""
        squares: Array = (y - f) ** 2
        return squares

    def gradient(self, y: Array, f: Array) -> Array:
        """Return 2 (f - y)."""
        slope: Array = 2 * (f - y)
        return slope

    def curvature(self, y: Array, f: Array) -> Array:
        """Return 2."""
        return np.full_like(f, 2)
