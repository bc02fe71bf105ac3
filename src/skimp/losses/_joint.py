"""Joint losses of k classes."""

from collections.abc import Callable
from typing import final

import numpy as np
from scipy.special import log_softmax, softmax, xlogy

from skimp._core._types import Array
from skimp.losses._base import Loss


@final
class MulticlassHinge(Loss):
    r"""Multi-class hinge loss of Crammer and Singer for k classes.

    .. math:: \ell(y, f) = \max_j (f_j + [j \neq y]) - f_y

    The loss is zero if the score of the true class exceeds all others by at least 1. Targets have
    shape (n, k) and are positive for the true class only.

    References
    ----------
    Crammer and Singer (2001), On the algorithmic implementation of multiclass kernel-based vector
    machines.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.losses import multiclass_hinge
    >>> y = np.array([[1.0, -1.0, -1.0]])
    >>> multiclass_hinge.value(y, np.array([[2.0, 1.5, 0.0]])).tolist()
    [[0.5]]
    """

    joint = True
    labels = True
    smooth = False

    def _ahead(self, y: Array, f: Array) -> Array:
        """Return f plus 1 for all classes but the true one."""
        return np.where(y > 0, f, f + 1)

    def value(self, y: Array, f: Array) -> Array:
        """Return the loss, of shape (n, 1)."""
        own = np.sum(np.where(y > 0, f, 0), axis=1, keepdims=True)
        cost: Array = self._ahead(y, f).max(axis=1, keepdims=True) - own
        return cost

    def gradient(self, y: Array, f: Array) -> Array:
        """Return the indicator of the highest-scoring class minus that of the true class."""
        slope = -(y > 0).astype(f.dtype)
        slope[np.arange(len(f)), self._ahead(y, f).argmax(axis=1)] += 1
        return slope

    @property
    def max_slope(self) -> float:
        """Return 1."""
        return 1.0

    def curvature(self, y: Array, f: Array) -> Array:
        """Return zeros."""
        return np.zeros_like(f)

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return minus the sum of u over the other classes; infinity if u is not a subgradient."""
        return conjugate_on_simplex(y, u, lambda p: np.where(y > 0, 0, -p))


@final
class Softmax(Loss):
    r"""Multinomial logistic loss for k classes.

    .. math:: \ell(y, f) = \log \sum_j e^{f_j} - f_y

    The probability of class j is :math:`p_j = e^{f_j} / \sum_l e^{f_l}`. Targets have shape
    (n, k) and are positive for the true class only.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.losses import softmax
    >>> softmax.value(np.array([[1.0, -1.0, -1.0]]), np.zeros((1, 3))).round(4).tolist()
    [[1.0986]]
    """

    joint = True
    labels = True
    probabilistic = True

    def value(self, y: Array, f: Array) -> Array:
        """Return minus the log probability of the true class, of shape (n, 1)."""
        cost: Array = -np.sum(np.where(y > 0, log_softmax(f, axis=1), 0), axis=1, keepdims=True)
        return cost

    def gradient(self, y: Array, f: Array) -> Array:
        """Return the probabilities minus the indicator of the true class."""
        slope: Array = softmax(f, axis=1) - (y > 0)
        return slope

    def curvature(self, y: Array, f: Array) -> Array:
        """Return p (1 - p), the diagonal of the second derivative."""
        p = softmax(f, axis=1)
        variance: Array = p * (1 - p)
        return variance

    def curved(self, y: Array, f: Array, v: Array) -> Array:
        """Return the product of diag(p) - p p^T and v."""
        p = softmax(f, axis=1)
        pv = p * v
        product: Array = pv - p * pv.sum(axis=1, keepdims=True)
        return product

    @property
    def max_slope(self) -> float:
        """Return 1."""
        return 1.0

    @property
    def max_curvature(self) -> float:
        """Return 1/2."""
        return 0.5

    def majorant(self, y: Array, f: Array) -> Array:
        """Return 1/2 for each class."""
        return np.full_like(f, 0.5)

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return the negative entropy of the probabilities whose gradient is u."""
        return conjugate_on_simplex(y, u, lambda p: xlogy(p, p))


def conjugate_on_simplex(y: Array, u: Array, cost: Callable[[Array], Array]) -> Array:
    """Sum ``cost(p)`` for p = u + [true class]; infinity if p is not a distribution."""
    # tolerance for negative probabilities, and for a sum different from 1
    rounding = np.sqrt(np.finfo(u.dtype).eps)
    p = u + (y > 0)
    total = p.sum(axis=1, keepdims=True)
    inside = (p.min(axis=1, keepdims=True) >= -rounding) & (np.abs(total - 1) <= rounding)
    costs = cost(np.maximum(p, 0)).sum(axis=1, keepdims=True)
    return np.where(inside, costs, np.inf)
