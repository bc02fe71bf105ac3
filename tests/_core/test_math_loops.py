import numpy as np
import pytest

from skimp._core._feature_loops import cosine_pairs
from skimp._core._math_loops import cos_sin, exp
from skimp._core._pair_loops import scaled_exp

FLOATS = [np.float32, np.float64]


def compiled_exp(x):
    K = x[None, :].copy()
    scaled_exp(K, K.dtype.type(1))
    return K[0]


def compiled_cos_sin(t):
    Z = np.empty((len(t), 2), t.dtype)
    cosine_pairs(t[:, None].copy(), np.zeros(1, t.dtype), t.dtype.type(1), Z)
    return Z.T


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


@pytest.mark.parametrize("function", [exp, cos_sin])
def test_the_functions_exist_in_compiled_code_only(function):
    with pytest.raises(NotImplementedError, match="compiled"):
        function(0.5)
