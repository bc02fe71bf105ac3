"""Nearest binary codes by Hamming distance, in 64-bit words."""

import numpy as np
from numba import njit

_PAIRS = np.uint64(0x5555555555555555)
_FOURS = np.uint64(0x3333333333333333)
_BYTES = np.uint64(0x0F0F0F0F0F0F0F0F)
_ONES = np.uint64(0x0101010101010101)


@njit(nogil=True, cache=True, inline="always")
def _ones(x):
    """Count the bits that are set in a word."""
    x = x - ((x >> np.uint64(1)) & _PAIRS)
    x = (x & _FOURS) + ((x >> np.uint64(2)) & _FOURS)
    x = (x + (x >> np.uint64(4))) & _BYTES
    return (x * _ONES) >> np.uint64(56)


@njit(nogil=True, cache=True)
def nearest_codes(queries, codes, skipped, distances, neighbors):
    """Fill the nearest codes of each query and their distances, by a counting sort.

    Codes at the same distance remain in order. ``skipped`` holds one code to leave out for each
    query, or -1.
    """
    n, words = codes.shape
    size = distances.shape[1]
    found = np.empty(n, np.uint32)
    counts = np.empty(64 * words + 2, np.int64)
    for q in range(len(queries)):
        counts[:] = 0
        for i in range(n):
            total = np.uint64(0)
            for w in range(words):
                total += _ones(queries[q, w] ^ codes[i, w])
            found[i] = total
        for i in range(n):
            if i != skipped[q]:
                counts[found[i] + 1] += 1
        # cumulative counts: the place of the next code at each distance
        for bits in range(1, len(counts)):
            counts[bits] += counts[bits - 1]
        left = size
        for i in range(n):
            place = counts[found[i]]
            if place < size and i != skipped[q]:
                distances[q, place] = found[i]
                neighbors[q, place] = i
                counts[found[i]] += 1
                left -= 1
                if left == 0:
                    break
