import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from skimp._core import _pairs
from skimp._core._pairs import (
    ChiSquareDistances,
    Distances,
    HarmonicMeans,
    InnerProducts,
    ManhattanDistances,
    private,
    scaled,
    stays_sparse,
)
from skimp._core._squared_distances import SquaredDistances
from tests.reference import naive
from tests.strategies import FLOATS, pairs_of_matrices

TWINS = [
    (InnerProducts, naive.inner_products, False),
    (ManhattanDistances, naive.manhattan_distances, False),
    (ChiSquareDistances, naive.chi_square_distances, True),
    (HarmonicMeans, naive.additive_chi2, True),
]
DERIVATIVES = [
    (InnerProducts, lambda x, b: b),
    (ManhattanDistances, lambda x, b: np.sign(x - b)),
    (ChiSquareDistances, naive.chi_square_derivative),
    (HarmonicMeans, naive.harmonic_derivative),
]
CLASSES = [pairs for pairs, _ in DERIVATIVES]
WEIGHTS = np.array([0.5, 0.0, 3.0, 1.0, 0.0, 7.0])


def fill(pairs, X, B, dtype, weights=1.0):
    statistic = pairs(B, np.dtype(dtype), weights)
    out = np.full((X.shape[0], B.shape[0]), np.nan, dtype)
    statistic.fill(X, out)
    assert statistic.size == B.shape[0]
    return out


def gradient(pairs, X, B, A, dtype, weights=1.0):
    G = np.ones(X.shape, dtype)
    pairs(B, np.dtype(dtype), weights).add_gradient(X, A, G)
    return G - 1


def positive_rows(dtype, seed=0):
    rng = np.random.default_rng(seed)
    X, B = rng.uniform(0.5, 1.5, (5, 6)), rng.uniform(0.5, 1.5, (9, 6))
    return X.astype(dtype), B.astype(dtype), rng.normal(size=(5, 9)).astype(dtype)


def as_csr(X, wanted):
    return sparse.csr_matrix(X) if wanted else X


@pytest.mark.parametrize(("pairs", "twin", "nonnegative"), TWINS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_fill_is_its_naive_twin(pairs, twin, nonnegative, dtype):
    @settings(max_examples=40, deadline=None)
    @given(pairs_of_matrices(nonnegative=nonnegative), st.booleans())
    def check(pair, weighted):
        X, B = pair
        d = X.shape[1]
        weights = WEIGHTS[:d] if weighted else np.array(1.0)
        out = fill(pairs, X, B, dtype, weights)
        X, B = (naive.as_float64(M.astype(dtype)) for M in (X, B))
        expected = twin(X, B, weights)
        # the terms of inner products may cancel, those of the others have one sign
        size = twin(np.abs(X), np.abs(B), weights) if pairs is InnerProducts else expected
        assert (np.abs(out - expected) <= (d + 6) * np.finfo(dtype).eps * size).all()

    check()


@pytest.mark.parametrize(("pairs", "derivative"), DERIVATIVES)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("X_sparse", [False, True])
@pytest.mark.parametrize("B_sparse", [False, True])
def test_gradient_is_its_naive_sum(pairs, derivative, dtype, X_sparse, B_sparse):
    X, B, A = positive_rows(dtype)
    B[:, 2] = X[0, 2]
    X[:, 3], B[:4, 5] = 0, 0
    G = gradient(pairs, as_csr(X, X_sparse), as_csr(B, B_sparse), A, dtype, WEIGHTS)
    expected = naive.statistic_gradient(derivative, X, B, A, WEIGHTS)
    size = naive.statistic_gradient(lambda x, b: np.abs(derivative(x, b)), X, B, np.abs(A), WEIGHTS)
    assert (np.abs(G - expected) <= (9 + 6) * np.finfo(dtype).eps * (1 + size)).all()


@pytest.mark.parametrize(("pairs", "derivative"), DERIVATIVES)
@pytest.mark.parametrize("B_sparse", [False, True])
def test_sums_of_gradients_are_naive_sums_over_rows(pairs, derivative, B_sparse):
    X, B, A = positive_rows(np.float64)
    sums = np.ones(B.shape)
    pairs(as_csr(B, B_sparse), np.dtype(np.float64), WEIGHTS).add_gradient_sums(X, A, sums)
    expected = [
        sum(a * WEIGHTS * derivative(x, b) for a, x in zip(A[:, j], X, strict=True))
        for j, b in enumerate(B)
    ]
    assert np.abs(sums - 1 - expected).max() < 1e-12 * np.abs(expected).max()


@pytest.mark.parametrize("pairs", CLASSES)
@pytest.mark.parametrize("B_sparse", [False, True])
def test_gradient_is_a_central_difference_of_fill(pairs, B_sparse):
    X, B, A = positive_rows(np.float64)
    step = 2.0**-16
    assert np.abs(X[:, None] - B).min() > step
    B = as_csr(B, B_sparse)
    G = gradient(pairs, X, B, A, np.float64, WEIGHTS)
    # third derivatives of terms of entries in [0.5, 1.5] are at most 24 b^2 / (x + b)^4 <= 54
    bend = 54 * step**2 / 6 * np.abs(A).sum(axis=1)
    for k in range(6):
        shift = step * (np.arange(6) == k)
        up, down = (fill(pairs, X + s, B, np.float64, WEIGHTS) for s in (shift, -shift))
        slope = (A * (up - down)).sum(axis=1) / (2 * step)
        rounded = (6 + 6) * np.finfo(np.float64).eps * (np.abs(A) * up).sum(axis=1) / step
        assert (np.abs(G[:, k] - slope) <= WEIGHTS[k] * bend + rounded).all()


@pytest.mark.parametrize("X_sparse", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
def test_a_large_sparse_second_argument_stays_sparse(monkeypatch, X_sparse, dtype):
    X = sparse.random(30, 40, density=0.2, format="csr", random_state=0, dtype=dtype)
    B = sparse.random(20, 40, density=0.2, format="csr", random_state=1, dtype=dtype)
    A, weights = np.random.default_rng(2).normal(size=(30, 20)).astype(dtype), np.arange(40) % 3
    monkeypatch.setattr(_pairs, "LARGEST_DENSE", 20 * 40 - 1)
    assert sparse.issparse(InnerProducts(B, np.dtype(dtype))._Bt)
    given = X if X_sparse else X.toarray()
    bound = (40 + 6) * np.finfo(dtype).eps
    expected = naive.inner_products(X, B, weights)
    np.testing.assert_allclose(fill(InnerProducts, given, B, dtype, weights), expected, bound)
    G = gradient(InnerProducts, given, B, A, dtype, weights)
    expected = naive.statistic_gradient(lambda x, b: b, X, B, A, weights)
    size = naive.statistic_gradient(lambda x, b: b, X, B, np.abs(A), weights)
    assert (np.abs(G - expected) <= bound * (1 + size)).all()


@pytest.mark.parametrize("pairs", CLASSES)
@pytest.mark.parametrize("read_only", [False, True])
def test_arguments_are_left_alone(pairs, read_only):
    arguments = positive_rows(np.float64)
    before = [M.copy() for M in arguments]
    X, B, A = arguments
    for M in arguments:
        M.flags.writeable = not read_only
    fill(pairs, X, B, np.float64, WEIGHTS)
    gradient(pairs, X, B, A, np.float64, WEIGHTS)
    assert all(map(np.array_equal, arguments, before))


@pytest.mark.parametrize("pairs", [*CLASSES, SquaredDistances])
def test_a_statistic_grows_by_its_degree(pairs):
    X, B, _ = positive_rows(np.float64)
    doubled = fill(pairs, 2 * X, 2 * B, np.float64)
    np.testing.assert_allclose(doubled, 2**pairs.degree * fill(pairs, X, B, np.float64), 1e-13)


@pytest.mark.parametrize("pairs", [*CLASSES, SquaredDistances])
@pytest.mark.parametrize("dtype", FLOATS)
def test_distances_are_those_that_are_zero_for_equal_rows(pairs, dtype):
    X, _, _ = positive_rows(dtype)
    diagonal = fill(pairs, X, X, dtype).diagonal()
    assert (diagonal == 0).all() if issubclass(pairs, Distances) else (diagonal > 0).all()


@pytest.mark.parametrize("X_sparse", [False, True])
def test_private_rows_are_a_writable_copy(X_sparse):
    X = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    X.flags.writeable = False
    copy = private(as_csr(X, X_sparse), np.dtype(np.float32))
    assert copy.dtype == np.float32
    assert copy.flags.c_contiguous
    copy += 1
    assert np.array_equal(X, np.arange(6.0).reshape(2, 3))
    assert not np.shares_memory(private(copy, copy.dtype), copy)


@pytest.mark.parametrize("X_sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.float64])
def test_scaled_multiplies_columns_in_the_dtype_of_the_factors(X_sparse, dtype):
    X = np.array([[1, 0, 2], [0, 3, 4]], dtype)
    product = scaled(as_csr(X, X_sparse), np.array([2.0, 0.5, 0.0], np.float32))
    assert product.dtype == np.float32
    assert sparse.issparse(product) == X_sparse
    assert np.array_equal(naive.as_float64(product), [[2, 0, 0], [0, 1.5, 0]])


def test_few_entries_stay_sparse():
    full = sparse.csr_matrix(np.ones((10, 10)))
    thin = sparse.random(100, 100, density=0.01, format="csr", random_state=0)
    assert not stays_sparse(full)
    assert not stays_sparse(full.toarray())
    assert stays_sparse(thin)
    assert sparse.issparse(InnerProducts(thin, np.dtype(float))._Bt)
