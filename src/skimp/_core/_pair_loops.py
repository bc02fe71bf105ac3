"""Loops over a strip of kernel values: what GEMM cannot do, and what is fused after it.

Every function works in place on C-contiguous arrays of one dtype, without the GIL.
"""

from numba import njit

from skimp._core._math_loops import FAST, exp


@njit(nogil=True, cache=True, fastmath=FAST)
def squared_distances(K, xx, yy):
    """Turn inner products into ``xx_i + yy_j - 2 K_ij``, never negative."""
    zero = K.dtype.type(0)
    two = K.dtype.type(2)
    for i in range(K.shape[0]):
        x = xx[i]
        for j in range(K.shape[1]):
            K[i, j] = max(x + yy[j] - two * K[i, j], zero)


@njit(nogil=True, cache=True, fastmath=FAST)
def manhattan(X, Bt, K):
    """Fill ``K_ij = sum_k |X_ik - B_jk|``; ``Bt`` is B transposed."""
    for i in range(X.shape[0]):
        K[i, :] = 0
        for k in range(X.shape[1]):
            x = X[i, k]
            for j in range(K.shape[1]):
                K[i, j] += abs(x - Bt[k, j])


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def chi_square(X, Bt, K):
    """Fill ``K_ij = sum_k (X_ik - B_jk)^2 / (X_ik + B_jk)``, terms 0/0 being 0."""
    # a tiny shift makes 0/0 a 0 without a branch, and changes no sum of two normal numbers
    tiny = X.dtype.type(1e-37)
    for i in range(X.shape[0]):
        K[i, :] = 0
        for k in range(X.shape[1]):
            x = X[i, k]
            for j in range(K.shape[1]):
                b = Bt[k, j]
                K[i, j] += (x - b) * (x - b) / (x + b + tiny)


@njit(nogil=True, cache=True, fastmath=FAST)
def scaled_exp(K, scale):
    """Replace K by ``exp(scale K)``, for a scale and K whose product is not positive."""
    for i in range(K.shape[0]):
        for j in range(K.shape[1]):
            K[i, j] = exp(scale * K[i, j])


@njit(nogil=True, cache=True, fastmath=FAST)
def shifted_power(K, scale, shift, degree):
    """Replace K by ``(scale K + shift) ** degree`` for a whole degree >= 1."""
    for i in range(K.shape[0]):
        base = K[i] * scale + shift
        K[i] = base
        for _ in range(degree - 1):
            for j in range(K.shape[1]):
                K[i, j] *= base[j]
