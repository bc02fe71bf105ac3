"""Preconditioned conjugate gradients for several right-hand sides."""

from collections.abc import Callable

import numpy as np

from skimp._core._types import Array

_FLAT = 1e-20
"""Directions with less relative curvature than this are not followed."""


def conjugate_gradients(
    product: Callable[[Array, Array], Array],
    precondition: Callable[[Array, Array], Array],
    right: Array,
    *,
    tol: float,
    max_iter: int,
    joint: bool,
) -> tuple[Array, int]:
    """Solve ``H X = right``; return X and the number of products with H.

    Iterations stop when the residual of every column has fallen to ``tol`` times its initial norm,
    in the norm of the preconditioner. Columns that are solved drop out of further products.

    Parameters
    ----------
    product, precondition : callables
        Multiply columns by H and by an approximate inverse of H. Both take the columns and their
        numbers.
    right : array of shape (m, k)
        Right-hand sides.
    tol : float
        Relative tolerance.
    max_iter : int
        Maximum number of products.
    joint : bool
        Whether H couples the columns, so that they form a single right-hand side.
    """

    def inner(A: Array, B: Array) -> Array:
        return np.asarray(np.sum(A * B, axis=None if joint else 0, dtype=np.float64))

    solution = np.zeros_like(right)
    columns = np.arange(right.shape[1])
    X, R = solution, right.copy()
    S = precondition(R, columns)
    direction, size = S, inner(R, S)
    goal = tol**2 * size
    for n_products in range(1, max_iter + 1):
        HP = product(direction, columns)
        curvature = inner(direction, HP)
        curved = curvature > _FLAT * size
        step = np.divide(size, curvature, out=np.zeros_like(size), where=curved)
        step = step.astype(right.dtype)
        X += step * direction
        R -= step * HP
        S = precondition(R, columns)
        before, size = size, inner(R, S)
        open_ = size > goal
        if not open_.any() or n_products == max_iter:
            solution[:, columns] = X
            return solution, n_products
        ratio = np.divide(size, before, out=np.zeros_like(size), where=before > 0)
        direction = S + ratio.astype(right.dtype) * direction
        if not joint and not open_.all():
            solution[:, columns] = X
            columns, size, goal = columns[open_], size[open_], goal[open_]
            X, R, direction = X[:, open_], R[:, open_], direction[:, open_]
    return solution, 0
