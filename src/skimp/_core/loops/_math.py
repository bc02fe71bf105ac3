"""Vectorizable exp, tanh, cos/sin and angles: an argument reduction, a polynomial, no branches.

LLVM cannot vectorize calls of the C library. These functions agree with the C library to a few
units in the last place in both precisions, for the arguments that kernels and features use.
"""

import numpy as np
from numba import types
from numba.extending import overload

# without `nnan` and `ninf`, which would let the compiler remove checks for NaN and infinity
FAST = {"reassoc", "nsz", "arcp", "contract", "afn"}
# argument reductions rely on the order of their operations
ORDERED = FAST - {"reassoc"}


def exp(t):
    """Return e**t for t <= 0; results below the smallest normal number become 0."""
    raise NotImplementedError("compiled code only")


@overload(exp, jit_options={"fastmath": ORDERED})
def _exp(t):
    return _exp32 if t == types.float32 else _exp64


def _exp32(t):
    x = max(t, np.float32(-87.0))
    n = np.floor(x * np.float32(1.44269504) + np.float32(0.5))
    r = (x - n * np.float32(0.693359375)) + n * np.float32(2.12194440e-4)
    p = np.float32(1.9875691500e-4)
    p = p * r + np.float32(1.3981999507e-3)
    p = p * r + np.float32(8.3334519073e-3)
    p = p * r + np.float32(4.1665795894e-2)
    p = p * r + np.float32(1.6666665459e-1)
    p = p * r + np.float32(5.0000001201e-1)
    p = p * r * r + r + np.float32(1)
    p = p * np.int32((np.int32(n) + np.int32(127)) << np.int32(23)).view(np.float32)
    return p if t >= np.float32(-87.0) else np.float32(0)


def _exp64(t):
    x = max(t, -708.0)
    n = np.floor(x * 1.4426950408889634 + 0.5)
    r = (x - n * 6.93145751953125e-1) - n * 1.42860682030941723212e-6
    p = 1.0 / 6227020800
    p = p * r + 1.0 / 479001600
    p = p * r + 1.0 / 39916800
    p = p * r + 1.0 / 3628800
    p = p * r + 1.0 / 362880
    p = p * r + 1.0 / 40320
    p = p * r + 1.0 / 5040
    p = p * r + 1.0 / 720
    p = p * r + 1.0 / 120
    p = p * r + 1.0 / 24
    p = p * r + 1.0 / 6
    p = p * r + 0.5
    p = p * r * r + r + 1.0
    p = p * np.int64((np.int64(n) + np.int64(1023)) << np.int64(52)).view(np.float64)
    return p if t >= -708.0 else 0.0


def tanh(x):
    """Return tanh(x)."""
    raise NotImplementedError("compiled code only")


@overload(tanh, jit_options={"fastmath": ORDERED, "error_model": "numpy"})
def _tanh(x):
    return _tanh32 if x == types.float32 else _tanh64


def _tanh32(x):
    z = min(x * x, np.float32(0.4))
    p = np.float32(-5.70498872745e-3)
    p = p * z + np.float32(2.06390887954e-2)
    p = p * z + np.float32(-5.37397155531e-2)
    p = p * z + np.float32(1.33314422036e-1)
    p = p * z + np.float32(-3.33332819422e-1)
    e = exp(np.float32(-2) * abs(x))
    large = (np.float32(1) - e) / (np.float32(1) + e)
    large = large if x > np.float32(0) else -large
    return x + x * z * p if abs(x) < np.float32(0.625) else large


def _tanh64(x):
    z = min(x * x, 0.4)
    p = (-9.64399179425052238628e-1 * z - 9.92877231001918586564e1) * z - 1.61468768441708447952e3
    q = ((z + 1.12811678491632931402e2) * z + 2.23548839060100448583e3) * z
    q += 4.84406305325125486048e3
    e = exp(-2.0 * abs(x))
    large = (1.0 - e) / (1.0 + e)
    large = large if x > 0.0 else -large
    return x + x * z * (p / q) if abs(x) < 0.625 else large


def cos_sin(t):
    """Return cos(2 pi t) and sin(2 pi t); reducing t, in turns, is exact."""
    raise NotImplementedError("compiled code only")


@overload(cos_sin, jit_options={"fastmath": ORDERED})
def _cos_sin(t):
    return _cos_sin32 if t == types.float32 else _cos_sin64


def _cos_sin32(t):
    r = t - np.floor(t + np.float32(0.5))
    quarter = np.floor(np.float32(4) * r + np.float32(0.5))
    u = (r - np.float32(0.25) * quarter) * np.float32(6.283185307)
    v = u * u
    c = np.float32(-1.38873162e-3) + v * np.float32(2.44331571e-5)
    c = np.float32(1) + v * (np.float32(-0.5) + v * (np.float32(4.16666418e-2) + v * c))
    s = np.float32(8.33216087e-3) + v * np.float32(-1.95152959e-4)
    s = u * (np.float32(1) + v * (np.float32(-1.66666546e-1) + v * s))
    k = np.int32(quarter)
    odd = (k & 1) != 0
    c_sign = np.float32(-1) if ((k + 1) & 2) != 0 else np.float32(1)
    s_sign = np.float32(-1) if (k & 2) != 0 else np.float32(1)
    return (s if odd else c) * c_sign, (c if odd else s) * s_sign


def _cos_sin64(t):
    r = t - np.floor(t + 0.5)
    quarter = np.floor(4.0 * r + 0.5)
    u = (r - 0.25 * quarter) * 6.283185307179586
    v = u * u
    c = -1.0 / 87178291200 + v * (1.0 / 20922789888000)
    c = -1.0 / 3628800 + v * (1.0 / 479001600 + v * c)
    c = -1.0 / 720 + v * (1.0 / 40320 + v * c)
    c = 1.0 + v * (-0.5 + v * (1.0 / 24 + v * c))
    s = 1.0 / 6227020800 + v * (-1.0 / 1307674368000 + v * (1.0 / 355687428096000))
    s = 1.0 / 362880 + v * (-1.0 / 39916800 + v * s)
    s = 1.0 / 120 + v * (-1.0 / 5040 + v * s)
    s = u * (1.0 + v * (-1.0 / 6 + v * s))
    k = np.int64(quarter)
    odd = (k & 1) != 0
    c_sign = -1.0 if ((k + 1) & 2) != 0 else 1.0
    s_sign = -1.0 if (k & 2) != 0 else 1.0
    return (s if odd else c) * c_sign, (c if odd else s) * s_sign


def supplement(s):
    """Return pi minus the angle between two unit vectors with squared distance s <= 4."""
    raise NotImplementedError("compiled code only")


@overload(supplement, jit_options={"fastmath": ORDERED})
def _supplement(s):
    return _supplement32 if s == types.float32 else _supplement64


def _supplement32(s):
    # theta = 2 asin(sqrt(s) / 2) and theta(4 - s) = pi - theta(s): compute the smaller one, which
    # is more accurate
    acute = s <= np.float32(2)
    t = s if acute else max(np.float32(4) - s, np.float32(0))
    x = np.float32(0.5) * np.sqrt(t)
    # 2 asin(x) = pi - 4 asin(sqrt((1 - x) / 2)) reduces x to below a half
    wide = x > np.float32(0.5)
    z = np.float32(0.5) - np.float32(0.5) * x if wide else np.float32(0.25) * t
    r = np.sqrt(z)
    p = np.float32(0.0380850236)
    p = p * z + np.float32(0.0265545422)
    p = p * z + np.float32(0.0450013801)
    p = p * z + np.float32(0.0749885507)
    p = p * z + np.float32(0.1666667241)
    p = r + r * z * p
    theta = np.float32(3.14159265) - np.float32(4) * p if wide else np.float32(2) * p
    return np.float32(3.14159265) - theta if acute else theta


def _supplement64(s):
    acute = s <= 2.0
    t = s if acute else max(4.0 - s, 0.0)
    x = 0.5 * np.sqrt(t)
    wide = x > 0.5
    z = 0.5 - 0.5 * x if wide else 0.25 * t
    r = np.sqrt(z)
    p = 0.028169218060881412899
    p = p * z - 0.010749050339697807562
    p = p * z + 0.016035514349148823079
    p = p * z + 0.0078029494773533171436
    p = p * z + 0.0118754943826369232
    p = p * z + 0.013929652902326633248
    p = p * z + 0.017355259955786321748
    p = p * z + 0.022372047631744510379
    p = p * z + 0.030381947367098481126
    p = p * z + 0.044642857103423643363
    p = p * z + 0.075000000000207643609
    p = p * z + 0.16666666666666648628
    p = r + r * z * p
    theta = 3.141592653589793 - 4.0 * p if wide else 2.0 * p
    return 3.141592653589793 - theta if acute else theta
