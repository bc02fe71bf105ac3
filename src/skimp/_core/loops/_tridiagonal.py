"""Factors of shifted tridiagonal matrices, and diagonals of their inverses."""

import numpy as np
from numba import njit

from skimp._core.loops._math import FAST


@njit(nogil=True, cache=True)
def factor(diagonal, beside, shifts, pivots, ratios):
    """Factorize ``T + s I = L D L^T`` for each shift s.

    Fills ``pivots``, the diagonal of D, and ``ratios``, the subdiagonal of L.
    """
    for a in range(len(shifts)):
        pivots[0, a] = diagonal[0] + shifts[a]
        for i in range(1, len(diagonal)):
            ratios[i, a] = beside[i - 1] / pivots[i - 1, a]
            pivots[i, a] = diagonal[i] + shifts[a] - ratios[i, a] * beside[i - 1]


@njit(nogil=True, cache=True, fastmath=FAST)
def add_inverse_diagonals(Qt, pivots, ratios, out):
    """Add the diagonal of ``Q (L D L^T)^-1 Q^T`` to ``out``, one row for each shift.

    The columns of ``Qt`` are some rows of Q, few enough for the cache.
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
