import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse

from skimp._core import _pairs
from skimp._core._pairs import (
    ChiSquareDistances,
    InnerProducts,
    ManhattanDistances,
    SquaredDistances,
)
from tests.reference import naive
from tests.strategies import pairs_of_matrices

TWINS = [
    (InnerProducts, naive.inner_products, False),
    (SquaredDistances, naive.squared_distances, False),
    (ManhattanDistances, naive.manhattan_distances, False),
    (ChiSquareDistances, naive.chi_square_distances, True),
]
FLOATS = [np.float32, np.float64]


def fill(pairs, X, B, dtype):
    statistic = pairs(B, np.dtype(dtype))
    out = np.full((X.shape[0], B.shape[0]), np.nan, dtype)
    statistic.fill(X, out)
    assert statistic.size == B.shape[0]
    return out


def largest(X, B):
    """A bound on the size of the terms that are summed in a squared distance or product."""
    return max(np.abs(naive.as_float64(M)).max() for M in (X, B)) ** 2 * X.shape[1]


@pytest.mark.parametrize(("pairs", "twin", "nonnegative"), TWINS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_fill_is_its_naive_twin(pairs, twin, nonnegative, dtype):
    @settings(max_examples=40, deadline=None)
    @given(pairs_of_matrices(nonnegative=nonnegative))
    def check(pair):
        X, B = pair
        out, expected = fill(pairs, X, B, dtype), twin(X, B)
        eps = 20 * np.finfo(dtype).eps
        scale = largest(X, B)
        if pairs in (ManhattanDistances, ChiSquareDistances):
            scale = np.sqrt(scale * X.shape[1])
        np.testing.assert_allclose(out, expected, rtol=eps, atol=eps * scale)

    check()


@pytest.mark.parametrize("dtype", FLOATS)
def test_squared_distances_keep_their_digits_far_from_the_origin(dtype):
    rng = np.random.default_rng(0)
    X, B = rng.normal(size=(20, 4)).astype(dtype), rng.normal(size=(9, 4)).astype(dtype)
    offset = dtype(2**10)
    far = fill(SquaredDistances, X + offset, B + offset, dtype)
    expected = naive.squared_distances(X + offset, B + offset)
    assert np.abs(far - expected).max() <= 50 * np.finfo(dtype).eps * expected.max()


@pytest.mark.parametrize("dtype", FLOATS)
def test_squared_distances_of_equal_rows_are_small_and_not_negative(dtype):
    X = 100 * np.random.default_rng(0).normal(size=(50, 6)).astype(dtype)
    distances = np.diag(fill(SquaredDistances, X, X, dtype))
    assert (distances >= 0).all()
    assert distances.max() <= 20 * np.finfo(dtype).eps * largest(X, X)


@pytest.mark.parametrize("pairs", [InnerProducts, SquaredDistances])
@pytest.mark.parametrize("X_sparse", [False, True])
def test_a_large_sparse_second_argument_stays_sparse(monkeypatch, pairs, X_sparse):
    X = sparse.random(30, 40, density=0.2, format="csr", random_state=0)
    B = sparse.random(20, 40, density=0.2, format="csr", random_state=1)
    given_X = X if X_sparse else X.toarray()
    expected = fill(pairs, given_X, B, np.float64)
    monkeypatch.setattr(_pairs, "_LARGEST_DENSE", 10)
    np.testing.assert_allclose(fill(pairs, given_X, B, np.float64), expected, atol=1e-12)


@pytest.mark.parametrize(("pairs", "twin", "nonnegative"), TWINS)
def test_fill_leaves_its_arguments_alone(pairs, twin, nonnegative):
    rng = np.random.default_rng(0)
    X, B = rng.random((6, 3)), rng.random((5, 3))
    X_before, B_before = X.copy(), B.copy()
    fill(pairs, X, B, np.float64)
    assert np.array_equal(X, X_before)
    assert np.array_equal(B, B_before)
