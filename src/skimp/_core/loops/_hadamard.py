"""The fast Walsh-Hadamard transform, and products of it with random diagonals.

A vector of n numbers, n a power of two from 16 on, is seen as 16 rows of n / 16. Transforming
columns needs no shuffles within a register, so the two halves of the work are both done on columns,
with a transposition between them. The transform is that of ``scipy.linalg.hadamard`` with outputs
in the transposed order: entry ``16 r + c`` is the usual one at ``c n / 16 + r``.
"""

import numpy as np
from numba import njit

from skimp._core.loops._math import FAST

SMALLEST = 16


@njit(nogil=True, cache=True, fastmath=FAST)
def _fours(x, h):
    """Transform over two bits of the index, of strides h and 2 h."""
    for start in range(0, len(x), 4 * h):
        p, q = x[start : start + h], x[start + h : start + 2 * h]
        r, s = x[start + 2 * h : start + 3 * h], x[start + 3 * h : start + 4 * h]
        for j in range(h):
            a, b, c, d = p[j] + q[j], p[j] - q[j], r[j] + s[j], r[j] - s[j]
            p[j], q[j], r[j], s[j] = a + c, b + d, a - c, b - d


@njit(nogil=True, cache=True, fastmath=FAST)
def _twos(x, h):
    """Transform over one bit of the index, of stride h."""
    for start in range(0, len(x), 2 * h):
        p, q = x[start : start + h], x[start + h : start + 2 * h]
        for j in range(h):
            p[j], q[j] = p[j] + q[j], p[j] - q[j]


@njit(nogil=True, cache=True, fastmath=FAST)
def hadamard(x, buffer):
    """Replace x by its transform, not normalized; ``buffer`` is as long and is overwritten."""
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
    """Fill ``work`` with x times two diagonals, and zeros behind."""
    d = len(x)
    for j in range(d):
        work[j] = x[j] * scale[j] * diagonal[j]
    work[d:] = 0


@njit(nogil=True, cache=True, fastmath=FAST)
def _rotate(x, scale, D, work, buffer):
    """Fill ``work`` with ``H D3 H D2 H D1 diag(scale) x``, x padded with zeros."""
    _load(x, scale, D[0], work)
    for t in range(1, 3):
        hadamard(work, buffer)
        for j in range(len(work)):
            work[j] *= D[t, j]
    hadamard(work, buffer)


@njit(nogil=True, cache=True, fastmath=FAST)
def structured(X, scale, signs, lengths, out):
    """Fill the products of rows with blocks ``diag(lengths) H D3 H D2 H D1 diag(scale)``.

    ``signs`` holds the diagonals, of shape (blocks, 3, n); ``lengths`` as many numbers as ``out``
    has columns: the last block may be cut off.
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
    """Fill entries of the rows' rotations, as in `structured`: those that are ``chosen``, in order.

    ``chosen`` holds as many entries of each rotation as the next block of columns has.
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

    B are ``signs``, P permutes by ``orders`` and G are ``normals``, all of shape (blocks, n).
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
