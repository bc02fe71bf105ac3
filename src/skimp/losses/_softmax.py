"""The multinomial logistic loss."""

from typing import final

import numpy as np
from scipy.special import log_softmax, softmax, xlogy

from skimp._core._types import Array
from skimp.losses._base import Loss
from skimp.losses._simplex import conjugate_on_simplex, own_class


@final
class Softmax(Loss):
    r"""Multinomial logistic loss, :math:`\log \sum_j e^{f_j} - f_y`, for one of k classes.

    The probability of class j is :math:`p_j = e^{f_j} / \sum_l e^{f_l}`. Targets have shape
    (n, k), positive for the class of the row alone.

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
        """Return minus the log probability of the row's class, of shape (n, 1)."""
        cost: Array = -np.sum(np.where(y > 0, log_softmax(f, axis=1), 0), axis=1, keepdims=True)
        return cost

    def gradient(self, y: Array, f: Array) -> Array:
        """Return p, less 1 for the row's class."""
        slope: Array = softmax(f, axis=1) - own_class(y, f.dtype)
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

    def majorant(self, y: Array, f: Array) -> Array:
        """Return a half, for every class."""
        return np.full_like(f, 0.5)

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return the negative entropy of the probabilities that have the gradient u."""
        return conjugate_on_simplex(y, u, lambda p: xlogy(p, p))
