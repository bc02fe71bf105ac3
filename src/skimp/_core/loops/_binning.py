"""Loops of random binning: hash the bins of rows, and look up the codes of known bins.

``R[j]`` holds the inverse pitch of column j in each grid and ``S[j]`` its shift, as a share of the
pitch. The bin of x is ``floor(x R + S)``. A grid's hash is the sum over columns of the bin minus
the bin of the column's origin, times an odd 64-bit factor, so entries equal to their origin are
skipped.
"""

import numpy as np
from numba import njit

from skimp._core.loops._math import FAST

_LARGEST = 2.0**50
"""Bins are clipped to this range, in which float64 represents all integers exactly."""
_MAGIC = 1.5 * 2.0**52
"""Adding this moves an integer into the low bits of a float64; AVX2 has no such conversion."""
_MAGIC_BITS = int(np.float64(_MAGIC).view(np.int64))


@njit(nogil=True, cache=True, fastmath=FAST, inline="always")
def _bin(t):
    t = min(max(np.floor(t), -_LARGEST), _LARGEST)
    return np.float64(t + _MAGIC).view(np.int64) - _MAGIC_BITS


@njit(nogil=True, cache=True, fastmath=FAST)
def _add_column(keys, x, r, s, factor):
    """Add the bins of one value to the hashes of all grids."""
    for p in range(len(keys)):
        keys[p] += factor * _bin(x * r[p] + s[p])


@njit(nogil=True, cache=True, fastmath=FAST)
def dense_keys(X, R, S, origin, factors, keys):
    """Fill one hash per row and grid."""
    for i in range(X.shape[0]):
        keys[i] = 0
        for j in range(X.shape[1]):
            x = np.float64(X[i, j])
            if x != origin[j]:
                _add_column(keys[i], x, R[j], S[j], factors[j])
                if origin[j] != 0:
                    _add_column(keys[i], origin[j], R[j], S[j], -factors[j])


@njit(nogil=True, cache=True, fastmath=FAST)
def sparse_keys(data, columns, starts, R, S, origin, factors, keys):
    """Fill the same hashes as `dense_keys` for CSR rows."""
    absent = np.zeros(keys.shape[1], np.int64)
    for j in range(len(origin)):
        if origin[j] != 0:
            _add_column(absent, origin[j], R[j], S[j], -factors[j])
    for i in range(keys.shape[0]):
        keys[i] = absent
        for e in range(starts[i], starts[i + 1]):
            j = columns[e]
            _add_column(keys[i], np.float64(data[e]), R[j], S[j], factors[j])


@njit(nogil=True, cache=True)
def prints(keys, out):
    """Fill a 32-bit fingerprint of each hash."""
    for i in range(keys.shape[0]):
        for p in range(keys.shape[1]):
            key = np.uint64(keys[i, p])
            key = (key ^ (key >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
            key = (key ^ (key >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
            out[i, p] = np.uint32(key >> np.uint64(32))


@njit(nogil=True, cache=True)
def look_up(found, known, starts, firsts, shifts, codes):
    """Fill the position of each fingerprint among the known ones of its grid: 1, 2, ... or 0.

    0 stands for an unknown fingerprint. The known fingerprints of grid p are sorted and begin at
    ``known[starts[firsts[p]]]``. Those whose bits above the lowest ``shifts[p]`` equal b begin at
    ``starts[firsts[p] + b]``.
    """
    for p in range(found.shape[1]):
        first, shift = firsts[p], shifts[p]
        zeroth = np.int64(starts[first]) - 1
        for i in range(found.shape[0]):
            b = first + np.int64(found[i, p] >> shift)
            code = np.int64(0)
            for r in range(np.int64(starts[b]), np.int64(starts[b + 1])):
                if known[r] == found[i, p]:
                    code = r - zeroth
            codes[i, p] = code
