"""Preconditioned conjugate gradients for several right sides at once."""

from collections.abc import Callable

import numpy as np

from skimp._core._types import Array

_FLAT = 1e-20
"""Curvature for a unit of descent below which a direction has none: no step along it is safe."""


def conjugate_gradients(
    product: Callable[[Array], Array],
    precondition: Callable[[Array], Array],
    right: Array,
    *,
    tol: float,
    max_iter: int,
    joint: bool,
) -> tuple[Array, int]:
    """Solve ``H X = right`` and return X with the number of products that it took.

    Stops when the residual of every column, in the norm of the preconditioner's inverse, has come
    down to ``tol`` times what it was.

    Parameters
    ----------
    product, precondition : callables
        Multiply by H, and by an approximate inverse of H.
    right : array of shape (m, k)
        Right sides.
    tol : float
        Relative tolerance.
    max_iter : int
        Most products.
    joint : bool
        Whether H couples the columns, so that they are one right side.
    """

    def inner(A: Array, B: Array) -> Array:
        return np.asarray(np.sum(A * B, axis=None if joint else 0, dtype=np.float64))

    X, R = np.zeros_like(right), right.copy()
    S = precondition(R)
    direction, size = S, inner(R, S)
    goal = tol**2 * size
    for n_products in range(1, max_iter + 1):
        HP = product(direction)
        curvature = inner(direction, HP)
        curved = curvature > _FLAT * size
        step = np.divide(size, curvature, out=np.zeros_like(size), where=curved)
        step = step.astype(right.dtype)
        X += step * direction
        R -= step * HP
        S = precondition(R)
        before, size = size, inner(R, S)
        if np.all(size <= goal):
            return X, n_products
        ratio = np.divide(size, before, out=np.zeros_like(size), where=before > 0)
        direction = S + ratio.astype(right.dtype) * direction
        # a column that is solved has no direction any more, which makes products cheaper
        direction *= size > goal
    return X, max_iter
