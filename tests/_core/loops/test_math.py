import numpy as np
import pytest
from numba import njit

from skimp._core.loops._features import cosine_pairs
from skimp._core.loops._math import supplement
from skimp._core.loops._profiles import negative_exp

FLOATS = [np.float32, np.float64]


def compiled_exp(x):
    S = -x[None, :]
    negative_exp(S)
    return S[0]


def compiled_cos_sin(t):
    Z = np.empty((len(t), 2), t.dtype)
    cosine_pairs(t[:, None].copy(), np.zeros(1, t.dtype), t.dtype.type(1), Z)
    return Z.T


@njit
def compiled_supplement(s):
    t = np.empty_like(s)
    for i in range(len(s)):
        t[i] = supplement(s[i])
    return t


def true_angle(s):
    return 2 * np.arcsin(np.sqrt(s.astype(np.longdouble)) / 2)


@pytest.mark.parametrize("dtype", FLOATS)
def test_exp_agrees_to_a_few_units_in_the_last_place(dtype):
    smallest = np.log(np.finfo(dtype).tiny) + 1
    x = np.concatenate([np.linspace(smallest, 0, 100_001), -np.logspace(-12, 0, 1000)])
    x = x.astype(dtype)
    true = np.exp(x.astype(np.longdouble))
    assert (np.abs(compiled_exp(x) - true) <= 4 * np.finfo(dtype).eps * true).all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_exp_of_zero_is_exactly_one(dtype):
    assert compiled_exp(np.zeros(3, dtype)).tolist() == [1, 1, 1]


@pytest.mark.parametrize("dtype", FLOATS)
def test_exp_underflows_to_a_tiny_number(dtype):
    x = np.array([-1e3, -1e5, -1e30, -np.inf], dtype)
    values = compiled_exp(x)
    assert ((values >= 0) & (values <= 2 * np.finfo(dtype).tiny)).all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_cos_and_sin_of_turns(dtype):
    t = np.concatenate([np.linspace(-3, 3, 100_001), np.arange(-16, 17) / 8]).astype(dtype)
    angle = 2 * np.pi * (t - np.round(t)).astype(np.float64)
    cos, sin = compiled_cos_sin(t)
    bound = 4 * np.finfo(dtype).eps
    assert np.abs(cos - np.cos(angle)).max() <= bound
    assert np.abs(sin - np.sin(angle)).max() <= bound


@pytest.mark.parametrize("dtype", FLOATS)
def test_whole_turns_lose_no_digits(dtype):
    t = np.array([0.125, 0.25, 0.375, 0.8125], dtype)
    far = t + dtype(2**15)
    assert np.array_equal(compiled_cos_sin(t), compiled_cos_sin(far))
    assert np.array_equal(compiled_cos_sin(t), compiled_cos_sin(far - 2**16))


@pytest.mark.parametrize("dtype", FLOATS)
def test_supplements_of_acute_angles(dtype):
    s = np.concatenate([np.linspace(0, 2, 100_001), np.logspace(-30, 0, 1000)]).astype(dtype)
    true = np.pi - true_angle(s)
    assert np.abs(compiled_supplement(s) - true).max() <= 4 * np.finfo(dtype).eps


@pytest.mark.parametrize("dtype", FLOATS)
def test_supplements_of_obtuse_angles_agree_to_a_few_units_in_the_last_place(dtype):
    s = np.concatenate([np.linspace(2, 4, 100_001)[1:], 4 - np.logspace(-15, 0, 1000)])
    s = s.astype(dtype)
    true = true_angle(4 - s)
    assert (np.abs(compiled_supplement(s) - true) <= 4 * np.finfo(dtype).eps * true).all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_supplement_of_a_chord_that_rounding_made_too_long_is_zero(dtype):
    s = np.array([4, 4 * (1 + 4 * np.finfo(dtype).eps), 4.5], dtype)
    assert compiled_supplement(s).tolist() == [0, 0, 0]
