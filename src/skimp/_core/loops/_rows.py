"""Products of rows in any layout with the coefficients of several outputs.

Rows X are a C-contiguous array, or the tuple (data, columns, row starts) of a CSR matrix, or the
tuple (codes, offsets, value, first code) of `skimp.data.Codes`. Coefficients V have shape
(outputs, width). For codes they are stored column by column, so that one cache miss loads the
coefficients of all outputs.
"""

import numpy as np
from numba import njit, types
from numba.extending import overload

from skimp._core.loops._math import FAST


def dot(X, i, v):
    """Return the inner product of row i and v."""
    raise NotImplementedError("compiled code only")


@overload(dot, jit_options={"fastmath": FAST})
def _dot(X, i, v):
    return _by_layout(X, _dense_dot, _sparse_dot, _coded_dot)


def _by_layout(X, dense, sparse, coded):
    if isinstance(X, types.Array):
        return dense
    return sparse if isinstance(X[2], types.Array) else coded


def _dense_dot(X, i, v):
    total = 0.0
    for c in range(len(v)):
        total += np.float64(X[i, c]) * v[c]
    return total


def _sparse_dot(X, i, v):
    data, columns, starts = X
    total = 0.0
    for e in range(starts[i], starts[i + 1]):
        total += np.float64(data[e]) * v[columns[e]]
    return total


def _coded_dot(X, i, v):
    # codes without a feature have coefficients that are always zero
    codes, offsets, value, _ = X
    total = 0.0
    for g in range(len(offsets)):
        total += v[offsets[g] + np.int64(codes[i, g])]
    return np.float64(value) * total


def add_row(X, i, t, v):
    """Add t times row i to v."""
    raise NotImplementedError("compiled code only")


@overload(add_row, jit_options={"fastmath": FAST})
def _add_row(X, i, t, v):
    return _by_layout(X, _add_dense, _add_sparse, _add_coded)


def _add_dense(X, i, t, v):
    for c in range(len(v)):
        v[c] += t * np.float64(X[i, c])


def _add_sparse(X, i, t, v):
    data, columns, starts = X
    for e in range(starts[i], starts[i + 1]):
        v[columns[e]] += t * np.float64(data[e])


def _add_coded(X, i, t, v):
    codes, offsets, value, first = X
    t *= np.float64(value)
    for g in range(len(offsets)):
        code = np.int64(codes[i, g])
        v[offsets[g] + code] += t if code >= first else 0.0


def squared_norm(X, i):
    """Return the squared norm of row i."""
    raise NotImplementedError("compiled code only")


@overload(squared_norm, jit_options={"fastmath": FAST})
def _squared_norm(X, i):
    return _by_layout(X, _dense_norm, _sparse_norm, _coded_norm)


def _dense_norm(X, i):
    total = 0.0
    for c in range(X.shape[1]):
        total += np.float64(X[i, c]) * np.float64(X[i, c])
    return total


def _sparse_norm(X, i):
    data, _, starts = X
    total = 0.0
    for e in range(starts[i], starts[i + 1]):
        total += np.float64(data[e]) * np.float64(data[e])
    return total


def _coded_norm(X, i):
    codes, offsets, value, first = X
    count = 0
    for g in range(len(offsets)):
        count += np.int64(codes[i, g]) >= first
    return count * np.float64(value) * np.float64(value)


def outputs_at(X, i, V, active, f):
    """Fill ``f_j = x_i . V_j`` for the active outputs."""
    raise NotImplementedError("compiled code only")


@overload(outputs_at, jit_options={"fastmath": FAST})
def _outputs_at(X, i, V, active, f):
    return _by_layout(X, _each_output, _each_output, _coded_outputs)


def _each_output(X, i, V, active, f):
    for j in range(len(f)):
        if active[j]:
            f[j] = dot(X, i, V[j])


def _coded_outputs(X, i, V, active, f):
    if len(f) == 1:
        f[0] = dot(X, i, V[0])
        return
    codes, offsets, value, _ = X
    W = V.T
    f[:] = 0
    for g in range(len(offsets)):
        c = np.uint64(offsets[g]) + np.uint64(codes[i, g])
        for j in range(len(f)):
            f[j] += W[c, j]
    for j in range(len(f)):
        f[j] *= np.float64(value)


def add_outputs(X, i, t, V):
    """Add ``t_j x_i`` to ``V_j``."""
    raise NotImplementedError("compiled code only")


@overload(add_outputs, jit_options={"fastmath": FAST})
def _add_outputs(X, i, t, V):
    return _by_layout(X, _add_each, _add_each, _add_coded_outputs)


def _add_each(X, i, t, V):
    for j in range(len(t)):
        if t[j] != 0:
            add_row(X, i, t[j], V[j])


def _add_coded_outputs(X, i, t, V):
    if len(t) == 1:
        add_row(X, i, t[0], V[0])
        return
    codes, offsets, value, first = X
    W = V.T
    for g in range(len(offsets)):
        if codes[i, g] >= first:
            c = np.uint64(offsets[g]) + np.uint64(codes[i, g])
            for j in range(len(t)):
                W[c, j] += np.float64(value) * t[j]


@njit(nogil=True, cache=True, fastmath=FAST)
def squared_norms(X, Q):
    """Fill ``Q_i = |x_i|^2``."""
    for i in range(len(Q)):
        Q[i] = squared_norm(X, i)


@njit(nogil=True, cache=True, fastmath=FAST)
def predictions(X, outputs, V, b, F):
    """Fill ``F_ij = x_i . V_j + b_j`` for the half-open range ``outputs``."""
    first, last = outputs
    every = np.ones(last - first, np.bool_)
    for i in range(F.shape[0]):
        outputs_at(X, i, V, every, F[i, first:last])
        for j in range(first, last):
            F[i, j] += b[j]


@njit(nogil=True, cache=True, fastmath=FAST)
def add_rows(X, outputs, T, constant, V, b):
    """Add ``sum_i T_ij x_i`` to ``V_j`` for the half-open range ``outputs``."""
    first, last = outputs
    for i in range(T.shape[0]):
        add_outputs(X, i, T[i, first:last], V)
        for j in range(first, last):
            b[j] += constant * T[i, j]
