"""Hessian products over the few rows at which a loss is curved."""

import numpy as np
from numba import njit

from skimp._core.loops._math import FAST


@njit(nogil=True, cache=True, fastmath=FAST)
def add_curved(Z, V, D, out):
    """Add ``sum_i D[i, c] (z_i . V[c]) z_i`` to each row c of ``out``.

    Zero entries of D and zero rows of V are skipped. Rows of V and ``out`` have one more entry
    than Z has columns, for a constant feature 1.
    """
    n, width = Z.shape
    moving = np.array([c for c in range(V.shape[0]) if V[c].any()], np.intp)
    for i in range(n):
        z = Z[i]
        for c in moving:
            if D[i, c] != 0:
                v, total = V[c], out[c]
                s = v[width]
                for j in range(width):
                    s += z[j] * v[j]
                s *= D[i, c]
                for j in range(width):
                    total[j] += s * z[j]
                total[width] += s
