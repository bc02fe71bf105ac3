import numpy as np
import pytest

from skimp._core.loops._profiles import (
    arc_cosine,
    decaying_polynomial,
    negative_exp,
    neural_tangent,
    reciprocal,
    shifted_power,
    shifted_tanh,
)
from tests.reference import naive
from tests.strategies import FLOATS

LARGEST = {np.float32: 1e30, np.float64: 1e300}


def strip(dtype, seed=0):
    """Statistics that are not negative, of all sizes, with zeros; odd widths have a scalar tail."""
    S = np.random.default_rng(seed).exponential(size=(7, 37)).astype(dtype)
    S[0], S[1], S[2] = 0, S[1] * 20, S[2] * 1e-6
    return S


def lines(dtype):
    """Squared chords of the direction (1, 0) with others, and those, in float64."""
    ends = np.geomspace(1e-3, 1, 20)
    t = np.concatenate([np.linspace(0, np.pi, 40), ends, np.pi - ends])
    S = (4 * np.sin(t / 2) ** 2)[None].astype(dtype)
    s = S[0].astype(np.float64)
    small = 2 * np.arcsin(np.sqrt(np.clip(np.minimum(s, 4 - s), 0, 2)) / 2)
    t = np.where(s <= 2, small, np.pi - small)
    return S, np.column_stack([np.cos(t), np.sin(t)])


@pytest.mark.parametrize("dtype", FLOATS)
def test_negative_exp(dtype):
    S = strip(dtype)
    expected = np.exp(-S.astype(np.float64))
    negative_exp(S)
    np.testing.assert_allclose(S, expected, rtol=4 * np.finfo(dtype).eps)
    assert (S[0] == 1).all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_reciprocal(dtype):
    S = strip(dtype)
    S[3] = LARGEST[dtype]
    expected = 1 / (1 + S.astype(np.float64))
    reciprocal(S)
    np.testing.assert_allclose(S, expected, rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("degree", [1, 2, 3, 7])
def test_shifted_power(dtype, degree):
    S = strip(dtype) - dtype(0.5)
    base = S.astype(np.float64) + 0.25
    rounded = np.finfo(dtype).eps * (np.abs(S) + 0.25)
    shifted_power(S, dtype(0.25), degree)
    bound = degree * 2 * (np.abs(base) + rounded) ** (degree - 1) * rounded
    assert (np.abs(S - base**degree) <= bound).all()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("sign", [-1, 1])
def test_shifted_tanh(dtype, sign):
    S = dtype(sign) * strip(dtype)
    expected = np.tanh(S.astype(np.float64) + 0.25)
    size = np.abs(S) + 0.25
    shifted_tanh(S, dtype(0.25))
    # the sum of argument and shift is rounded once; the slope of tanh is at most 1
    assert (np.abs(S - expected) <= np.finfo(dtype).eps * (4 + np.minimum(size, 1))).all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_tanh_of_zero_and_of_large_arguments(dtype):
    largest = LARGEST[dtype]
    S = np.array([[0, -0.0, 50, -50, largest, -largest, np.inf, -np.inf]], dtype)
    shifted_tanh(S, dtype(0))
    assert S.tolist() == [[0, 0, 1, -1, 1, -1, 1, -1]]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("nu", "a", "b"), [(0.5, 0, 0), (1.5, 1, 0), (2.5, 1, 1 / 3)])
def test_decaying_polynomial_is_the_matern_kernel_of_half_a_whole_number(dtype, nu, a, b):
    S = strip(dtype)
    roots = np.sqrt(S.astype(np.float64).ravel())[:, None]
    expected = naive.matern(roots, np.zeros((1, 1)), nu, 0.7).reshape(S.shape)
    rate = 4 * nu * 0.7
    decaying_polynomial(S, dtype(rate), dtype(a), dtype(b))
    # rounding of t changes exp(-t) by t eps of itself
    eps = np.finfo(dtype).eps * (8 + 2 * np.sqrt(rate) * roots.reshape(S.shape))
    assert (np.abs(S - expected) <= eps * expected + 1e-15).all()
    assert (S[0] == 1).all()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("order", [0, 1, 2])
def test_arc_cosine(dtype, order):
    S, directions = lines(dtype)
    expected = naive.arc_cosine([[1.0, 0.0]], directions, order)
    arc_cosine(S, order)
    assert np.abs(S - expected).max() <= 8 * np.finfo(dtype).eps


@pytest.mark.parametrize("dtype", FLOATS)
def test_neural_tangent(dtype):
    S, directions = lines(dtype)
    expected = naive.neural_tangent([[1.0, 0.0]], directions)
    neural_tangent(S)
    assert np.abs(S - expected).max() <= 8 * np.finfo(dtype).eps


@pytest.mark.parametrize("dtype", FLOATS)
def test_profiles_of_equal_and_of_opposite_directions(dtype):
    beyond = 4 * (1 + 8 * np.finfo(dtype).eps)
    equal = {0: 1, 1: 1, 2: 3}
    for order, value in equal.items():
        S = np.array([[0, 4, beyond]], dtype)
        arc_cosine(S, order)
        np.testing.assert_allclose(S, [[value, 0, 0]], atol=4 * np.finfo(dtype).eps)
    S = np.array([[0, 4, beyond]], dtype)
    neural_tangent(S)
    np.testing.assert_allclose(S, [[2, 0, 0]], atol=4 * np.finfo(dtype).eps)
