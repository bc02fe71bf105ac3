"""Loops of random binning: hashes of the bins that rows fall into, and the numbers of known bins.

Grids are given by columns: ``R[j]`` holds one over the pitch of column j in each grid, ``S[j]`` its
shift as a share of the pitch. The bin of x is ``floor(x R + S)``, and the hash of a grid's bins is
the sum of their differences to those of an origin, times odd 64-bit ``factors``: columns at their
origin cost nothing, and the bin of zero is zero.
"""

import numpy as np
from numba import njit

from skimp._core.loops._math import FAST

_LARGEST = 2.0**50
"""Bins further out than this are one: it keeps them whole numbers in float64."""
_MAGIC = 1.5 * 2.0**52
"""Added to a whole number, it leaves the number in the low bits: AVX2 has no other conversion."""
_MAGIC_BITS = int(np.float64(_MAGIC).view(np.int64))


@njit(nogil=True, cache=True, fastmath=FAST, inline="always")
def _bin(t):
    t = min(max(np.floor(t), -_LARGEST), _LARGEST)
    return np.float64(t + _MAGIC).view(np.int64) - _MAGIC_BITS


@njit(nogil=True, cache=True, fastmath=FAST)
def _add_column(keys, x, r, s, factor):
    """Add the bins of one number in all grids."""
    for p in range(len(keys)):
        keys[p] += factor * _bin(x * r[p] + s[p])


@njit(nogil=True, cache=True, fastmath=FAST)
def dense_keys(X, R, S, origin, factors, keys):
    """Fill the hashes of each row, one for each grid."""
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
    """Do what `dense_keys` does for CSR rows: absent entries are zeros."""
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
    """Fill 32 well mixed bits of each hash."""
    for i in range(keys.shape[0]):
        for p in range(keys.shape[1]):
            key = np.uint64(keys[i, p])
            key = (key ^ (key >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
            key = (key ^ (key >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
            out[i, p] = np.uint32(key >> np.uint64(32))


@njit(nogil=True, cache=True)
def look_up(found, known, starts, firsts, shifts, codes):
    """Fill the number of each print among the known ones of its grid, from 1 on, and 0 if none.

    Grid p's known prints rise from ``known[starts[firsts[p]]]`` on. Those with the leading bits b,
    all but ``shifts[p]`` of the 32, begin at ``starts[firsts[p] + b]``.
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
