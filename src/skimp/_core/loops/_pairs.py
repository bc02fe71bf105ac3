"""Loops over pairs of rows: distances, and corrections of distances from matrix products.

All functions take C-contiguous arrays of one dtype, write into an argument and release the GIL.
``Bt`` is B transposed, so that the innermost loop runs over the rows of B; ``w`` holds the weights
of the columns.
"""

import numpy as np
from numba import njit

from skimp._core.loops._math import FAST, ORDERED

# Adding the smallest normal number to x + b avoids 0/0 without a branch. Other sums do not change
# unless they are about as small.


@njit(nogil=True, cache=True, fastmath=FAST)
def squared_differences(X, Bt, w, S):
    """Fill ``S_ij = sum_k w_k (X_ik - B_jk)^2``, term by term."""
    for i in range(X.shape[0]):
        S[i, :] = 0
        for k in range(X.shape[1]):
            x = X[i, k]
            for j in range(S.shape[1]):
                t = x - Bt[k, j]
                S[i, j] += w[k] * t * t


@njit(nogil=True, cache=True, fastmath=FAST)
def centre_rows(X, centre, factors, norms):
    """Replace each row x by ``(x - centre) factors``, and fill the squared norms."""
    for i in range(X.shape[0]):
        # sum in float64: similar columns round in the same direction in float32
        norm = np.float64(0)
        for k in range(X.shape[1]):
            x = (X[i, k] - centre[k]) * factors[k]
            X[i, k] = x
            norm += np.float64(x) * np.float64(x)
        norms[i] = norm


@njit(nogil=True, cache=True, fastmath=FAST)
def squared_distances(S, xx, bb, share, n_close):
    """Replace inner products by ``max(0, xx_i + bb_j - 2 S_ij)``.

    ``n_close`` counts, for each row, the distances below ``share (xx_i + bb_j)``: these have lost
    too many digits.
    """
    real = S.dtype.type
    for i in range(S.shape[0]):
        x = xx[i]
        count = np.int32(0)
        for j in range(S.shape[1]):
            both = x + bb[j]
            s = both - real(2) * S[i, j]
            S[i, j] = max(s, real(0))
            # this order of the comparison also counts NaN, the result of an overflow
            count += np.int32(0) if s >= share * both else np.int32(1)
        n_close[i] = count


@njit(nogil=True, cache=True, fastmath=FAST)
def close_distances(S, rows, X, B, w, xx, bb, share):
    """Recompute the distances below ``share (xx_i + bb_j)`` in these rows of S, term by term.

    X holds one row for each entry of ``rows``.
    """
    for r in range(len(rows)):
        i = rows[r]
        for j in range(S.shape[1]):
            if not S[i, j] >= share * (xx[i] + bb[j]):
                s = S.dtype.type(0)
                for k in range(X.shape[1]):
                    t = X[r, k] - B[j, k]
                    s += w[k] * t * t
                S[i, j] = s


@njit(nogil=True, cache=True, fastmath=FAST)
def close_sparse_distances(
    S, rows, X_data, X_columns, X_starts, B_data, B_columns, B_starts, w, xx, bb, share
):
    """Recompute the same distances as `close_distances`, for the CSR parts of X and B."""
    for r in range(len(rows)):
        i = rows[r]
        for j in range(S.shape[1]):
            if not S[i, j] >= share * (xx[i] + bb[j]):
                s = S.dtype.type(0)
                p, q = X_starts[r], B_starts[j]
                while p < X_starts[r + 1] or q < B_starts[j + 1]:
                    x = b = w.dtype.type(0)
                    at_p = X_columns[p] if p < X_starts[r + 1] else len(w)
                    at_q = B_columns[q] if q < B_starts[j + 1] else len(w)
                    k = min(at_p, at_q)
                    if at_p == k:
                        x = X_data[p]
                        p += 1
                    if at_q == k:
                        b = B_data[q]
                        q += 1
                    s += w[k] * (x - b) * (x - b)
                S[i, j] = s


@njit(nogil=True, cache=True, fastmath=FAST)
def manhattan(X, Bt, w, S):
    """Fill ``S_ij = sum_k w_k |X_ik - B_jk|``."""
    for i in range(X.shape[0]):
        S[i, :] = 0
        for k in range(X.shape[1]):
            x = X[i, k]
            for j in range(S.shape[1]):
                S[i, j] += w[k] * abs(x - Bt[k, j])


@njit(nogil=True, cache=True, fastmath=FAST)
def manhattan_gradient(X, Bt, w, A, G):
    """Add ``sum_j A_ij w_k sign(X_ik - B_jk)`` to ``G_ik``."""
    zero = A.dtype.type(0)
    for i in range(X.shape[0]):
        for k in range(X.shape[1]):
            x = X[i, k]
            total = zero
            for j in range(A.shape[1]):
                above = A[i, j] if x > Bt[k, j] else zero
                below = A[i, j] if x < Bt[k, j] else zero
                total += above - below
            G[i, k] += w[k] * total


@njit(nogil=True, cache=True, fastmath=ORDERED, error_model="numpy")
def chi_square(X, Bt, w, S):
    """Fill ``S_ij = sum_k w_k (X_ik - B_jk)^2 / (X_ik + B_jk)``, with 0/0 = 0."""
    tiny = np.finfo(S.dtype).tiny
    for i in range(X.shape[0]):
        S[i, :] = 0
        for k in range(X.shape[1]):
            x = X[i, k]
            for j in range(S.shape[1]):
                t = x - Bt[k, j]
                S[i, j] += w[k] * (t * (t / (x + Bt[k, j] + tiny)))


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def chi_square_gradient(X, Bt, w, A, G):
    """Add ``sum_j A_ij w_k (x - b) (x + 3 b) / (x + b)^2`` to ``G_ik``; the ratio at 0 is 1."""
    real, tiny = A.dtype.type, np.finfo(A.dtype).tiny
    for i in range(X.shape[0]):
        for k in range(X.shape[1]):
            x = X[i, k] + tiny
            total = real(0)
            for j in range(A.shape[1]):
                r = (x - Bt[k, j]) / (x + Bt[k, j])
                total += A[i, j] * r * (real(2) - r)
            G[i, k] += w[k] * total


@njit(nogil=True, cache=True, fastmath=ORDERED, error_model="numpy")
def harmonic(X, Bt, w, S):
    """Fill ``S_ij = sum_k w_k 2 X_ik B_jk / (X_ik + B_jk)``, with 0/0 = 0."""
    real, tiny = S.dtype.type, np.finfo(S.dtype).tiny
    for i in range(X.shape[0]):
        S[i, :] = 0
        for k in range(X.shape[1]):
            x = X[i, k]
            for j in range(S.shape[1]):
                S[i, j] += real(2) * w[k] * (x * (Bt[k, j] / (x + Bt[k, j] + tiny)))


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def harmonic_gradient(X, Bt, w, A, G):
    """Add ``sum_j A_ij w_k 2 B_jk^2 / (X_ik + B_jk)^2`` to ``G_ik``, with 0/0 = 0."""
    real, tiny = A.dtype.type, np.finfo(A.dtype).tiny
    for i in range(X.shape[0]):
        for k in range(X.shape[1]):
            x = X[i, k] + tiny
            total = real(0)
            for j in range(A.shape[1]):
                share = Bt[k, j] / (x + Bt[k, j])
                total += A[i, j] * share * share
            G[i, k] += real(2) * w[k] * total
