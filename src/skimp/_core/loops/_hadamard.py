"""The fast Walsh-Hadamard transform, and its products with random diagonal matrices.

A vector of length n, a power of two of at least 16, is treated as a matrix of 16 rows. The columns
are transformed, the matrix is transposed, and the columns are transformed again: column transforms
need no shuffles within a SIMD register. The result is the transform of ``scipy.linalg.hadamard``
with its entries in transposed order: entry ``16 r + c`` here is entry ``c n / 16 + r`` there.
"""

import numpy as np
from numba import njit

from skimp._core.loops._math import FAST

SMALLEST = 16


@njit(nogil=True, cache=True, fastmath=FAST)
def _fours(x, h):
    """Apply the transform to two bits of the index, with strides h and 2 h."""
    for start in range(0, len(x), 4 * h):
        p, q = x[start : start + h], x[start + h : start + 2 * h]
        r, s = x[start + 2 * h : start + 3 * h], x[start + 3 * h : start + 4 * h]
        for j in range(h):
            a, b, c, d = p[j] + q[j], p[j] - q[j], r[j] + s[j], r[j] - s[j]
            p[j], q[j], r[j], s[j] = a + c, b + d, a - c, b - d


@njit(nogil=True, cache=True, fastmath=FAST)
def _twos(x, h):
    """Apply the transform to one bit of the index, with stride h."""
    for start in range(0, len(x), 2 * h):
        p, q = x[start : start + h], x[start + h : start + 2 * h]
        for j in range(h):
            p[j], q[j] = p[j] + q[j], p[j] - q[j]


@njit(nogil=True, cache=True, fastmath=FAST)
def hadamard(x, buffer):
    """Replace x by its unnormalized transform; ``buffer``, of equal length, is overwritten."""
    n, columns = len(x), len(x) // 16
    _fours(x, columns)
    _fours(x, 4 * columns)
    for r in range(columns):
        for c in range(16):
            buffer[16 * r + c] = x[c * columns + r]
    h = 16
    while 4 * h <= n:
        _fours(buffer, h)
        h *= 4
    if h < n:
        _twos(buffer, h)
    x[:] = buffer


@njit(nogil=True, cache=True, fastmath=FAST)
def _load(x, scale, diagonal, work):
    """Fill ``work`` with ``x scale diagonal``, padded with zeros."""
    d = len(x)
    for j in range(d):
        work[j] = x[j] * scale[j] * diagonal[j]
    work[d:] = 0


@njit(nogil=True, cache=True, fastmath=FAST)
def _rotate(x, scale, D, work, buffer):
    """Fill ``work`` with ``H D3 H D2 H D1 diag(scale) x``, with x padded by zeros."""
    _load(x, scale, D[0], work)
    for t in range(1, 3):
        hadamard(work, buffer)
        for j in range(len(work)):
            work[j] *= D[t, j]
    hadamard(work, buffer)


@njit(nogil=True, cache=True, fastmath=FAST)
def structured(X, scale, signs, lengths, out):
    """Fill the products of rows with blocks ``diag(lengths) H D3 H D2 H D1 diag(scale)``.

    ``signs`` holds the diagonals D, of shape (blocks, 3, n), and ``lengths`` one number for each
    column of ``out``. The last block is truncated if ``out`` has fewer columns.
    """
    n = signs.shape[2]
    work, buffer = np.empty(n, out.dtype), np.empty(n, out.dtype)
    for i in range(X.shape[0]):
        for block in range(signs.shape[0]):
            _rotate(X[i], scale, signs[block], work, buffer)
            start = block * n
            for j in range(min(n, out.shape[1] - start)):
                out[i, start + j] = work[j] * lengths[start + j]


@njit(nogil=True, cache=True, fastmath=FAST)
def rotated_parts(X, scale, signs, chosen, out):
    """Fill selected entries of the rotations ``H D3 H D2 H D1 diag(scale)`` of rows.

    ``chosen`` holds, for each column of ``out``, the entry to take from the rotation of its block.
    """
    n = signs.shape[2]
    work, buffer = np.empty(n, out.dtype), np.empty(n, out.dtype)
    for i in range(X.shape[0]):
        for block in range(signs.shape[0]):
            _rotate(X[i], scale, signs[block], work, buffer)
            start = block * n
            for j in range(min(n, out.shape[1] - start)):
                out[i, start + j] = work[chosen[start + j]]


@njit(nogil=True, cache=True, fastmath=FAST)
def fastfood(X, scale, signs, orders, normals, lengths, out):
    """Fill the products of rows with blocks ``diag(lengths) H G P H B diag(scale)``.

    The diagonal B holds ``signs``, the permutation P ``orders`` and the diagonal G ``normals``,
    each of shape (blocks, n).
    """
    n = signs.shape[1]
    work, other, buffer = np.empty((3, n), out.dtype)
    for i in range(X.shape[0]):
        for block in range(signs.shape[0]):
            _load(X[i], scale, signs[block], work)
            hadamard(work, buffer)
            for j in range(n):
                other[j] = work[orders[block, j]] * normals[block, j]
            hadamard(other, buffer)
            start = block * n
            for j in range(min(n, out.shape[1] - start)):
                out[i, start + j] = other[j] * lengths[start + j]
