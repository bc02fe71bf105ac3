"""Losses made of lines and parabolas, all by one formula."""

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from skimp._core._types import Array
from skimp.losses._base import Loss


class PiecewiseLoss(Loss):
    r"""A loss made of lines and parabolas, written by its slopes.

    .. math::
        \ell(y, f) = \max_{l \le \beta \le h} \; \beta (y - f) - \epsilon |\beta|
        - \frac{q}{4} \beta^2

    with limits l and h that contain 0 and may depend on the sign of y, a half width
    :math:`\epsilon` of the part that costs nothing, and q = 1 for parabolas, 0 for lines. The
    slope in f is :math:`-\beta`, and the conjugate at u is what is subtracted, at
    :math:`\beta = -u`. Dual coordinate descent needs nothing else.
    """

    curve: ClassVar[bool]
    """True for parabolas, q = 1."""
    epsilon: float = 0.0
    """Half the width of the part that costs nothing."""

    @abstractmethod
    def limits(self, y: Array) -> tuple[Array | float, Array | float]:
        """Return l and h."""

    def _excess(self, y: Array, f: Array) -> Array:
        """Return y - f, shrunk by epsilon towards zero."""
        r: Array = y - f
        if not self.epsilon:
            return r
        excess: Array = np.sign(r) * np.maximum(np.abs(r) - f.dtype.type(self.epsilon), 0)
        return excess

    def _slope(self, y: Array, f: Array) -> Array:
        """Return the maximizing slope beta."""
        low, high = self.limits(y)
        excess = self._excess(y, f)
        if self.curve:
            beta: Array = np.clip(2 * excess, low, high)
        else:
            beta = np.where(excess > 0, high, np.where(excess < 0, low, 0))
        return beta.astype(f.dtype, copy=False)

    def value(self, y: Array, f: Array) -> Array:
        """Return the loss."""
        beta = self._slope(y, f)
        cost: Array = np.abs(beta * self._excess(y, f))
        return cost - beta * beta / 4 if self.curve else cost

    def gradient(self, y: Array, f: Array) -> Array:
        """Return the derivative in f, a subgradient at a kink."""
        return -self._slope(y, f)

    def curvature(self, y: Array, f: Array) -> Array:
        """Return 2 on parabolas and 0 on lines."""
        if not self.curve:
            return np.zeros_like(f)
        low, high = self.limits(y)
        slope = 2 * self._excess(y, f)
        inside = (slope >= low) & (slope <= high) & (np.abs(y - f) >= self.epsilon)
        bend: Array = np.where(inside, f.dtype.type(2), f.dtype.type(0))
        return bend

    def majorant(self, y: Array, f: Array) -> Array:
        """Return 2, or less far out on a line that limits a parabola."""
        if not self.curve:
            return super().majorant(y, f)
        beta, excess = self._slope(y, f), self._excess(y, f)
        above = np.full_like(f, 2)
        return np.divide(beta, excess, out=above, where=beta != 0)

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return the conjugate, infinite if -u is not a slope of the loss."""
        low, high = self.limits(y)
        cost = u * y + u.dtype.type(self.epsilon) * np.abs(u) + self.curve * u * u / 4
        return np.where((-u >= low) & (-u <= high), cost, np.inf)
