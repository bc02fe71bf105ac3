import numpy as np
import pytest

from skimp._core.loops._features import cosine_pairs, cosines, ramps, sigmoids
from tests.reference import naive


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_components", [1, 2, 5, 8])
def test_cosine_pairs_are_cosines_then_sines(dtype, n_components):
    rng = np.random.default_rng(0)
    size = (n_components + 1) // 2
    T, offset = rng.normal(size=(7, size)).astype(dtype), np.zeros(size, dtype)
    offset[size - n_components % 2 :] = 0.3
    Z = np.full((7, n_components), np.nan, dtype)
    cosine_pairs(T, offset, dtype(np.sqrt(1 / size)), Z)
    if n_components % 2:
        Z[:, size - 1] *= np.sqrt(2)
    turns = 2 * np.pi
    expected = naive.fourier_pairs(T, turns * np.eye(size), turns * offset, n_components)
    np.testing.assert_allclose(Z, expected, atol=20 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cosines_replace_turns(dtype):
    rng = np.random.default_rng(0)
    T, offset = rng.normal(size=(7, 5)).astype(dtype), rng.random(5).astype(dtype)
    Z = T.copy()
    cosines(Z, offset, dtype(np.sqrt(2 / 5)))
    expected = naive.fourier_phases(T, 2 * np.pi * np.eye(5), 2 * np.pi * offset)
    np.testing.assert_allclose(Z, expected, atol=20 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ramps_are_zero_or_the_sum(dtype):
    rng = np.random.default_rng(0)
    T, offset = rng.normal(size=(7, 5)).astype(dtype), rng.normal(size=5).astype(dtype)
    T[0], T[1] = -offset, np.finfo(dtype).max / 4
    Z = T.copy()
    ramps(Z, offset, dtype(0.3))
    expected = dtype(0.3) * np.maximum(T.astype(np.float64) + offset, 0)
    assert Z.dtype == dtype
    assert (Z >= 0).all()
    assert not Z[0].any()
    np.testing.assert_allclose(Z, expected, rtol=4 * np.finfo(dtype).eps, atol=np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("steepness", "scale", "level"), [(1, 0.3, 0), (0.5, 0.25, 0.25)])
def test_sigmoids_are_hyperbolic_tangents(dtype, steepness, scale, level):
    rng = np.random.default_rng(0)
    T, offset = (5 * rng.normal(size=(50, 5))).astype(dtype), rng.normal(size=5).astype(dtype)
    T[0] = -offset
    Z = T.copy()
    sigmoids(Z, offset, dtype(steepness), dtype(scale), dtype(level))
    inner = steepness * (T.astype(np.float64) + offset)
    expected = level + dtype(scale).astype(float) * np.tanh(inner)
    assert Z.dtype == dtype
    assert (Z[0] == dtype(level)).all()
    np.testing.assert_allclose(Z, expected, atol=20 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sigmoids_of_huge_numbers_are_their_limits(dtype):
    huge = np.finfo(dtype).max / 4
    Z = np.array([[huge, -huge, 1e4, -1e4, np.inf, -np.inf]], dtype)
    sigmoids(Z, np.ones(6, dtype), dtype(0.5), dtype(0.5), dtype(0.5))
    np.testing.assert_allclose(Z, [[1, 0, 1, 0, 1, 0]], atol=2 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_half_a_tangent_is_the_logistic_function(dtype):
    Z = np.linspace(-20, 20, 81, dtype=dtype)[None]
    expected = 1 / (1 + np.exp(-Z.astype(np.float64)))
    sigmoids(Z, np.zeros(81, dtype), dtype(0.5), dtype(0.5), dtype(0.5))
    np.testing.assert_allclose(Z, expected, atol=4 * np.finfo(dtype).eps)
