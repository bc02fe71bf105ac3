"""Quadratic programs over probability vectors."""

import numpy as np
from scipy.linalg import cho_solve

from skimp._core._linalg import cholesky
from skimp._core._types import Array

_ROUNDING = 4 * float(np.finfo(np.float64).eps)
"""Smallest ridge of the matrix, in units of its size and mean diagonal."""
_SHARE = 0.1
"""Ridge in units of the tolerance; it changes the minimum by at most half as much."""


def simplex_qp(H: Array, b: Array, start: Array, tol: float) -> Array:
    r"""Minimize :math:`\frac12 p^T H p - b^T p` over probability vectors p.

    An active set method: it minimizes over the entries that are not zero, moves towards that point
    until an entry becomes zero, which leaves the set, and otherwise adds the entry with the
    steepest descent. A change of the set takes O(s^3) time for s entries in it.

    Parameters
    ----------
    H : array of shape (m, m)
        A positive semidefinite matrix.
    b : array of shape (m,)
        The linear term.
    start : array of shape (m,)
        Initial probabilities.
    tol : float
        Largest distance from the minimum.

    Returns
    -------
    array of shape (m,)
        The minimum, up to ``tol`` and rounding.

    References
    ----------
    Wolfe (1976), Finding the nearest point in a polytope.
    """
    p, inside, entered = start / start.sum(), start > 0, -1
    for _ in range(10 * len(b) + 100):
        goal = _least(H, b, inside, _SHARE * tol)
        falling = np.flatnonzero(inside & (goal <= 0))
        if len(falling):
            shares = p[falling] / (p[falling] - goal[falling])
            first = falling[shares.argmin()]
            p = np.maximum(p + shares.min() * (goal - p), 0)
            p[first], inside[first] = 0, False
            if first == entered:
                # it was added because of a rounding error
                break
            continue
        p = goal
        descent = b - H @ p
        descent -= descent @ p
        entered = int(np.where(inside, -np.inf, descent).argmax())
        if descent[entered] <= tol or inside[entered]:
            break
        inside[entered] = True
    best: Array = p / p.sum()
    return best


def _least(H: Array, b: Array, inside: Array, ridge: float) -> Array:
    """Minimize over vectors that sum to 1 and are zero outside; entries may be negative."""
    numbers = np.flatnonzero(inside)
    # a multiple of the matrix of ones changes nothing on the simplex, and makes H definite
    A = H[np.ix_(numbers, numbers)]
    size = A.diagonal().mean() or 1.0
    A += size
    ridge = max(ridge, _ROUNDING * len(A) * size)
    R = None
    while R is None:
        A.flat[:: len(A) + 1] += ridge
        R, ridge = cholesky(A), 100 * ridge
    free, shift = cho_solve((R, False), np.column_stack([b[numbers], np.ones(len(A))])).T
    goal = np.zeros(len(b))
    goal[numbers] = free + (1 - free.sum()) / shift.sum() * shift
    return goal
