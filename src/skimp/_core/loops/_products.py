"""Loops that turn projections of rows into features of polynomial kernels, without the GIL."""

import numpy as np
from numba import njit

from skimp._core.loops._math import FAST

_PART = 1024
"""Features are computed in parts of this size, whose terms fit in the cache."""


@njit(nogil=True, cache=True, fastmath=FAST)
def products(P, offset, factors, scale, out):
    """Fill ``out_c = scale_c sum_t prod_j (P + offset)[:, factors[t, j, c]]``.

    ``factors`` are unsigned integers, for which Numba omits the check for negative indices.
    """
    n_terms, degree, k = factors.shape
    row, terms = np.empty(P.shape[1], P.dtype), np.empty(min(k, _PART), P.dtype)
    for i in range(P.shape[0]):
        for j in range(len(row)):
            row[j] = P[i, j] + offset[j]
        for start in range(0, k, _PART):
            part = slice(start, min(k, start + _PART))
            z, scales = out[i, part], scale[part]
            z[:] = 0
            for t in range(n_terms):
                first, last = factors[t, 0, part], factors[t, degree - 1, part]
                if degree == 1:
                    for c in range(len(z)):
                        z[c] += row[first[c]]
                elif degree == 2:
                    for c in range(len(z)):
                        z[c] += row[first[c]] * row[last[c]]
                else:
                    term = terms[: len(z)]
                    for c in range(len(z)):
                        term[c] = row[first[c]]
                    for j in range(1, degree - 1):
                        column = factors[t, j, part]
                        for c in range(len(z)):
                            term[c] *= row[column[c]]
                    for c in range(len(z)):
                        z[c] += term[c] * row[last[c]]
            for c in range(len(z)):
                z[c] *= scales[c]


@njit(nogil=True, cache=True, fastmath=FAST)
def add_squares(P, factor, out):
    """Add ``factor P^2`` to ``out``."""
    for i in range(P.shape[0]):
        for j in range(P.shape[1]):
            out[i, j] += factor * P[i, j] * P[i, j]
