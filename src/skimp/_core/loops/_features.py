"""Loops that turn projections of rows into random features, without the GIL."""

from numba import njit

from skimp._core.loops._math import FAST, cos_sin, tanh


@njit(nogil=True, cache=True, fastmath=FAST)
def cosine_pairs(T, offset, scale, Z):
    """Fill Z with ``scale cos(2 pi (T + offset))``, then with the sines.

    Z may have one column less: the last sine is then left out.
    """
    n_cos, n_sin = T.shape[1], Z.shape[1] - T.shape[1]
    for i in range(T.shape[0]):
        cos, sin = Z[i, :n_cos], Z[i, n_cos:]
        for j in range(n_sin):
            c, s = cos_sin(T[i, j] + offset[j])
            cos[j] = scale * c
            sin[j] = scale * s
        for j in range(n_sin, n_cos):
            Z[i, j] = scale * cos_sin(T[i, j] + offset[j])[0]


@njit(nogil=True, cache=True, fastmath=FAST)
def cosines(Z, offset, scale):
    """Replace Z by ``scale cos(2 pi (Z + offset))``."""
    for i in range(Z.shape[0]):
        for j in range(Z.shape[1]):
            Z[i, j] = scale * cos_sin(Z[i, j] + offset[j])[0]


@njit(nogil=True, cache=True, fastmath=FAST)
def ramps(Z, offset, scale):
    """Replace Z by ``scale max(0, Z + offset)``."""
    zero = 0 * scale
    for i in range(Z.shape[0]):
        for j in range(Z.shape[1]):
            Z[i, j] = scale * max(Z[i, j] + offset[j], zero)


@njit(nogil=True, cache=True, fastmath=FAST)
def sigmoids(Z, offset, steepness, scale, level):
    """Replace Z by ``level + scale tanh(steepness (Z + offset))``."""
    for i in range(Z.shape[0]):
        for j in range(Z.shape[1]):
            Z[i, j] = level + scale * tanh(steepness * (Z[i, j] + offset[j]))
