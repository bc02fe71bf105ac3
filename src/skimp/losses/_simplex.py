"""Shared by joint losses, whose gradients are probabilities minus the row's class."""

from collections.abc import Callable

import numpy as np

from skimp._core._types import Array, DType


def own_class(y: Array, dtype: DType) -> Array:
    """Return 1 for the class of each row and 0 for the others."""
    return (y > 0).astype(dtype)


def conjugate_on_simplex(y: Array, u: Array, cost: Callable[[Array], Array]) -> Array:
    """Return the sum of ``cost(p)``, p = u + own class, or infinity if p is not a distribution."""
    # by which probabilities may be below zero, or their sum away from one
    rounding = np.sqrt(np.finfo(u.dtype).eps)
    p = u + own_class(y, u.dtype)
    total = p.sum(axis=1, keepdims=True)
    inside = (p.min(axis=1, keepdims=True) >= -rounding) & (np.abs(total - 1) <= rounding)
    costs = cost(np.maximum(p, 0)).sum(axis=1, keepdims=True)
    return np.where(inside, costs, np.inf)
