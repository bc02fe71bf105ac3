import numpy as np
import pytest

from skimp._core._pair_loops import (
    chi_square,
    manhattan,
    scaled_exp,
    shifted_power,
    squared_distances,
)
from tests.reference import naive

FLOATS = [np.float32, np.float64]


def pair(dtype, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((7, 5)).astype(dtype), rng.random((6, 5)).astype(dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("loop", "twin"),
    [(manhattan, naive.manhattan_distances), (chi_square, naive.chi_square_distances)],
)
def test_distances_by_loops(dtype, loop, twin):
    X, B = pair(dtype)
    X[:, 0], B[:3, 0] = 0, 0
    K = np.full((7, 6), np.nan, dtype)
    loop(X, np.ascontiguousarray(B.T), K)
    np.testing.assert_allclose(K, twin(X, B), rtol=20 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", FLOATS)
def test_squared_distances_from_products(dtype):
    X, B = pair(dtype)
    K = X @ B.T
    squared_distances(K, (X**2).sum(axis=1), (B**2).sum(axis=1))
    np.testing.assert_allclose(K, naive.squared_distances(X, B), atol=20 * np.finfo(dtype).eps)


def test_squared_distances_are_never_negative():
    K = np.array([[1.0, 2.0]])
    squared_distances(K, np.ones(1), np.ones(2))
    assert K.tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("dtype", FLOATS)
def test_scaled_exp(dtype):
    K = pair(dtype)[0]
    expected = np.exp(-0.7 * K.astype(np.float64))
    scaled_exp(K, dtype(-0.7))
    np.testing.assert_allclose(K, expected, rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("degree", [1, 2, 3, 7])
def test_shifted_power(dtype, degree):
    K = pair(dtype)[0] - dtype(0.5)
    expected = (1.5 * K.astype(np.float64) + 0.25) ** degree
    shifted_power(K, dtype(1.5), dtype(0.25), degree)
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(K, expected, rtol=8 * degree * eps, atol=4 * eps)
