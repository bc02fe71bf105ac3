"""The multi-class hinge loss of Crammer and Singer."""

from typing import final

import numpy as np

from skimp._core._types import Array
from skimp.losses._base import Loss
from skimp.losses._simplex import conjugate_on_simplex, own_class


@final
class MulticlassHinge(Loss):
    r"""Multi-class hinge loss, :math:`\max_j (f_j + [j \neq y]) - f_y`, for one of k classes.

    It is zero if the row's class is ahead of every other one by 1. Targets have shape (n, k),
    positive for the class of the row alone.

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
        """Return f, with 1 added for the classes that are not the row's."""
        return np.where(y > 0, f, f + 1)

    def value(self, y: Array, f: Array) -> Array:
        """Return what the row's class lacks to be ahead by 1, of shape (n, 1)."""
        own = np.sum(np.where(y > 0, f, 0), axis=1, keepdims=True)
        cost: Array = self._ahead(y, f).max(axis=1, keepdims=True) - own
        return cost

    def gradient(self, y: Array, f: Array) -> Array:
        """Return 1 for the class that is ahead, less 1 for the row's class: a subgradient."""
        slope = -own_class(y, f.dtype)
        slope[np.arange(len(f)), self._ahead(y, f).argmax(axis=1)] += 1
        return slope

    def curvature(self, y: Array, f: Array) -> Array:
        """Return 0."""
        return np.zeros_like(f)

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return minus the mass off the row's class, infinite if u is not a subgradient."""
        return conjugate_on_simplex(y, u, lambda p: np.where(y > 0, 0, -p))
