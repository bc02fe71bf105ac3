"""The logistic loss."""

from typing import final

import numpy as np
from scipy.special import expit, xlogy

from skimp._core._types import Array
from skimp.losses._base import Loss

_SMALL = 1e-3
"""For smaller arguments, tanh(x) = x within the rounding error of float32."""


@final
class Log(Loss):
    r"""Logistic loss, :math:`\log(1 + e^{-y f})`, for targets 1 and -1.

    The prediction f is the log odds of y = 1, whose probability is :math:`1 / (1 + e^{-f})`.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.losses import log
    >>> log.value(np.array([1.0]), np.array([0.0])).round(4).item()
    0.6931
    """

    labels = True
    probabilistic = True

    def value(self, y: Array, f: Array) -> Array:
        """Return log(1 + exp(-y f))."""
        cost: Array = np.logaddexp(f.dtype.type(0), -y * f)
        return cost

    def gradient(self, y: Array, f: Array) -> Array:
        """Return -y / (1 + exp(y f))."""
        slope: Array = -y * expit(-y * f)
        return slope

    def curvature(self, y: Array, f: Array) -> Array:
        """Return p (1 - p), where p is the probability of y = 1."""
        variance: Array = expit(f) * expit(-f)
        return variance

    @property
    def max_slope(self) -> float:
        """Return 1."""
        return 1.0

    @property
    def max_curvature(self) -> float:
        """Return 1/4."""
        return 0.25

    def majorant(self, y: Array, f: Array) -> Array:
        """Return tanh(f / 2) / (2 f), which is 1/4 at 0."""
        quarter = np.full_like(f, 0.25)
        above: Array = np.divide(np.tanh(f / 2), 2 * f, out=quarter, where=np.abs(f) > _SMALL)
        return above

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return the negative entropy of -u y; infinity if that is not a probability."""
        p = -u * y
        inside = (p >= 0) & (p <= 1)
        p = np.where(inside, p, 0)
        return np.where(inside, xlogy(p, p) + xlogy(1 - p, 1 - p), np.inf)
