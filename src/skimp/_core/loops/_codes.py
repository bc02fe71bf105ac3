"""Products with rows that are `skimp.data.Codes`, without forming the one-hot matrix Z.

Codes below ``first`` have no feature: they add nothing.
"""

import numpy as np
from numba import njit

from skimp._core.loops._math import FAST


@njit(nogil=True, cache=True, fastmath=FAST)
def gather(codes, offsets, value, first, C, out):
    """Fill ``out = Z C``."""
    for i in range(codes.shape[0]):
        out[i] = 0
        for g in range(len(offsets)):
            if codes[i, g] >= first:
                c = offsets[g] + codes[i, g]
                for j in range(C.shape[1]):
                    out[i, j] += C[c, j]
        for j in range(C.shape[1]):
            out[i, j] *= value


@njit(nogil=True, cache=True, fastmath=FAST)
def scatter(codes, offsets, value, first, U, out):
    """Add ``Z^T U`` to ``out``."""
    for i in range(codes.shape[0]):
        for g in range(len(offsets)):
            if codes[i, g] >= first:
                c = offsets[g] + codes[i, g]
                for j in range(U.shape[1]):
                    out[c, j] += value * U[i, j]


@njit(nogil=True, cache=True, fastmath=FAST)
def gram(codes, offsets, value, first, weight, out):
    """Add ``Z^T diag(weight) Z`` to ``out``."""
    for i in range(codes.shape[0]):
        w = np.float64(value) * np.float64(value) * weight[i]
        for g in range(len(offsets)):
            if codes[i, g] >= first:
                row = out[offsets[g] + codes[i, g]]
                for h in range(len(offsets)):
                    if codes[i, h] >= first:
                        row[offsets[h] + codes[i, h]] += w
