"""Loops that replace a statistic of pairs by kernel values or their derivatives, in place.

All functions take C-contiguous arrays of float32 or float64 and release the GIL.
"""

import math

import numpy as np
from numba import njit

from skimp._core.loops._math import FAST, exp, supplement, tanh

_PI = math.pi


@njit(nogil=True, cache=True, fastmath=FAST)
def negative_exp(S):
    """Replace s >= 0 by ``exp(-s)``."""
    for i in range(S.shape[0]):
        for j in range(S.shape[1]):
            S[i, j] = exp(-S[i, j])


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def reciprocal(S):
    """Replace s >= 0 by ``1 / (1 + s)``."""
    one = S.dtype.type(1)
    for i in range(S.shape[0]):
        for j in range(S.shape[1]):
            S[i, j] = one / (one + S[i, j])


@njit(nogil=True, cache=True, fastmath=FAST)
def shifted_power(S, shift, degree):
    """Replace s by ``(s + shift) ** degree`` for an integer degree >= 1."""
    for i in range(S.shape[0]):
        base = S[i] + shift
        S[i] = base
        for _ in range(degree - 1):
            for j in range(S.shape[1]):
                S[i, j] *= base[j]


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def shifted_tanh(S, shift):
    """Replace s by ``tanh(s + shift)``."""
    for i in range(S.shape[0]):
        for j in range(S.shape[1]):
            S[i, j] = tanh(S[i, j] + shift)


@njit(nogil=True, cache=True, fastmath=FAST)
def decaying_polynomial(S, rate, a, b):
    """Replace s >= 0 by ``(1 + a t + b t^2) exp(-t)`` with ``t = sqrt(rate s)``."""
    one = S.dtype.type(1)
    # t^2 may overflow for larger t, at which exp(-t) is zero
    last = S.dtype.type(1e3)
    for i in range(S.shape[0]):
        for j in range(S.shape[1]):
            t = min(np.sqrt(rate * S[i, j]), last)
            S[i, j] = (one + t * (a + b * t)) * exp(-t)


@njit(nogil=True, cache=True, fastmath=FAST)
def arc_cosine(S, order):
    """Replace squared chords by J_order(theta) / pi (Cho and Saul 2009, eq. 4 to 7)."""
    real = S.dtype.type
    for i in range(S.shape[0]):
        for j in range(S.shape[1]):
            s = S[i, j]
            rest = supplement(s)
            if order == 0:
                value = rest
            else:
                cos = real(1) - real(0.5) * s
                sin = real(0.5) * np.sqrt(max(s * (real(4) - s), real(0)))
                if order == 1:
                    value = sin + rest * cos
                else:
                    value = real(3) * sin * cos + rest * (real(1) + real(2) * cos * cos)
            S[i, j] = value * real(1 / _PI)


@njit(nogil=True, cache=True, fastmath=FAST)
def neural_tangent(S):
    """Replace squared chords by ``(sin theta + 2 (pi - theta) cos theta) / pi``."""
    real = S.dtype.type
    for i in range(S.shape[0]):
        for j in range(S.shape[1]):
            s = S[i, j]
            cos = real(1) - real(0.5) * s
            sin = real(0.5) * np.sqrt(max(s * (real(4) - s), real(0)))
            rest = supplement(s)
            S[i, j] = (sin + real(2) * rest * cos) * real(1 / _PI)
