"""Loops over symmetric matrices that an orthogonal matrix has made tridiagonal."""

import numpy as np
from numba import njit

from skimp._core.loops._math import FAST


@njit(nogil=True, cache=True)
def factor(diagonal, beside, shifts, pivots, ratios):
    """Fill D and the entries beside the diagonal of L, ``T + s I = L D L^T``, for each shift s."""
    for a in range(len(shifts)):
        pivots[0, a] = diagonal[0] + shifts[a]
        for i in range(1, len(diagonal)):
            ratios[i, a] = beside[i - 1] / pivots[i - 1, a]
            pivots[i, a] = diagonal[i] + shifts[a] - ratios[i, a] * beside[i - 1]


@njit(nogil=True, cache=True, fastmath=FAST)
def add_inverse_diagonals(Qt, pivots, ratios, out):
    """Add the diagonal of ``Q (L D L^T)^-1 Q^T`` to the rows of ``out``, one for each L and D.

    ``Qt`` has the rows of Q as columns: some of them, as many as stay in cache.
    """
    n, m = Qt.shape
    Y = np.zeros((pivots.shape[1], m))
    for i in range(n):
        for a in range(pivots.shape[1]):
            ratio, inverse = ratios[i, a], 1 / pivots[i, a]
            for j in range(m):
                y = Qt[i, j] - ratio * Y[a, j]
                Y[a, j] = y
                out[a, j] += y * y * inverse
