import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from skimp._core.loops._pairs import (
    centre_rows,
    chi_square,
    chi_square_gradient,
    close_distances,
    close_sparse_distances,
    harmonic,
    harmonic_gradient,
    manhattan,
    manhattan_gradient,
    squared_differences,
    squared_distances,
)
from tests.pairs import pairwise
from tests.reference import naive
from tests.strategies import FLOATS, pairs_of_matrices

SUMS = [
    (squared_differences, naive.squared_distances),
    (manhattan, naive.manhattan_distances),
    (chi_square, naive.chi_square_distances),
    (harmonic, naive.additive_chi2),
]
GRADIENTS = [
    (manhattan_gradient, lambda x, y: np.sign(x - y)),
    (chi_square_gradient, naive.chi_square_derivative),
    (harmonic_gradient, naive.harmonic_derivative),
]
WEIGHTS = np.array([0.5, 0.0, 3.0, 1.0, 0.0, 7.0])


def transposed(B):
    return np.ascontiguousarray(B.T)


def filled(loop, X, B, w):
    S = np.full((len(X), len(B)), np.nan, X.dtype)
    loop(X, transposed(B), w.astype(X.dtype), S)
    return S


def rounding(dtype, n_terms):
    """What a sum of so many terms, each of a few operations, may be off by, relative to itself."""
    return (n_terms + 6) * np.finfo(dtype).eps


@pytest.mark.parametrize(("loop", "twin"), SUMS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_sums_are_their_naive_twins(loop, twin, dtype):
    @settings(max_examples=40, deadline=None)
    @given(pairs_of_matrices(dtypes=(dtype,), layouts=("C",), nonnegative=True), st.booleans())
    def check(pair, weighted):
        X, B = map(np.ascontiguousarray, pair)
        w = WEIGHTS[: X.shape[1]] if weighted else np.ones(X.shape[1])
        expected = twin(X, B, w)
        np.testing.assert_allclose(filled(loop, X, B, w), expected, rounding(dtype, len(w)))

    check()


@pytest.mark.parametrize(("loop", "twin"), SUMS[:2])
@pytest.mark.parametrize("dtype", FLOATS)
def test_differences_of_entries_of_any_sign(loop, twin, dtype):
    rng = np.random.default_rng(0)
    X, B = rng.normal(size=(7, 6)).astype(dtype), rng.normal(size=(37, 6)).astype(dtype)
    np.testing.assert_allclose(filled(loop, X, B, WEIGHTS), twin(X, B, WEIGHTS), rounding(dtype, 6))


@pytest.mark.parametrize(("loop", "derivative"), GRADIENTS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_gradients_are_their_naive_twins(loop, derivative, dtype):
    rng = np.random.default_rng(1)
    X, B = rng.random((9, 6)).astype(dtype), rng.random((37, 6)).astype(dtype)
    X[:, ::2][rng.random((9, 3)) < 0.3] = 0
    B[:, 1::2][rng.random((37, 3)) < 0.3] = 0
    B[:3, ::2] = np.maximum(X[:3, ::2], dtype(0.1))
    A = rng.normal(size=(9, 37)).astype(dtype)
    before = rng.normal(size=X.shape).astype(dtype)
    G = before.copy()
    loop(X, transposed(B), WEIGHTS.astype(dtype), A, G)
    expected = before + naive.statistic_gradient(derivative, X, B, A, WEIGHTS)
    size = np.abs(before) + naive.statistic_gradient(
        lambda x, y: np.abs(derivative(x, y)), X, B, np.abs(A), WEIGHTS
    )
    assert (np.abs(G - expected) <= rounding(dtype, 37) * size).all()


@pairwise(dtype=FLOATS, loop=[chi_square, harmonic], m=[1, 3, 64])
def test_terms_of_zeros_are_zero(dtype, loop, m):
    S = filled(loop, np.zeros((2, 5), dtype), np.zeros((m, 5), dtype), np.ones(5))
    assert np.array_equal(S, np.zeros((2, m)))


@pytest.mark.parametrize(("loop", "derivative"), GRADIENTS)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n_rows", [1, 3, 64])
def test_gradients_of_zeros_and_of_any_scale_are_finite(loop, derivative, dtype, n_rows):
    values = np.array([0, 1e-20, 1e-6, 1, 1e6, 1e18], dtype)
    for b in values:
        X, B = values[:, None], np.full((n_rows, 1), b)
        A, G = np.ones((6, n_rows), dtype), np.zeros((6, 1), dtype)
        loop(X, transposed(B), np.ones(1, dtype), A, G)
        expected = naive.statistic_gradient(derivative, X, B, A)
        underflow = np.finfo(dtype).tiny
        np.testing.assert_allclose(G, expected, rounding(dtype, n_rows), atol=underflow)


@pytest.mark.parametrize("dtype", FLOATS)
def test_squared_distances_from_products(dtype):
    rng = np.random.default_rng(0)
    X, B = rng.random((7, 5)).astype(dtype), rng.random((6, 5)).astype(dtype)
    S, n_close = X @ B.T, np.full(7, -1, np.int32)
    norms = (X**2).sum(axis=1), (B**2).sum(axis=1)
    squared_distances(S, *norms, dtype(0.1), n_close)
    atol = rounding(dtype, 5) * (norms[0].max() + norms[1].max())
    np.testing.assert_allclose(S, naive.squared_distances(X, B), rtol=0, atol=atol)
    both = np.add.outer(*norms)
    # far from the boundary, so that rounding changes no count
    assert np.abs(S - dtype(0.1) * both).min() > atol
    assert n_close.tolist() == (dtype(0.1) * both > S).sum(axis=1).tolist()
    assert 0 < n_close.sum() < S.size


def test_squared_distances_are_never_negative():
    S, n_close = np.array([[1.0, 2.0, 0.0]]), np.zeros(1, np.int32)
    squared_distances(S, np.ones(1), np.ones(3), 0.01, n_close)
    assert S.tolist() == [[0.0, 0.0, 2.0]]
    assert n_close.tolist() == [2]


def close_pair(dtype):
    """Rows, and marks in the place of their distances: those below 0.1 count as lost."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(5, 6)) * (rng.random((5, 6)) < 0.5)
    B = rng.normal(size=(4, 6)) * (rng.random((4, 6)) < 0.5)
    X[1], B[2], B[0] = B[3], 0, X[4]
    S = np.where(rng.random((5, 4)) < 0.5, 9, 0.05)
    S[4, 0] = S[1, 3] = 0.05
    return X.astype(dtype), B.astype(dtype), S.astype(dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("sparse_parts", [False, True])
def test_close_distances_are_computed_again_and_no_others(dtype, sparse_parts):
    X, B, S = close_pair(dtype)
    w, rows = WEIGHTS.astype(dtype), np.array([1, 2, 4])
    rest = (w, np.ones(5, dtype), np.ones(4, dtype), dtype(0.05))
    again = np.isin(np.arange(5), rows)[:, None] & (S < 0.1)
    expected = np.where(again, naive.squared_distances(X, B, WEIGHTS), S)
    if sparse_parts:
        csr = sparse.csr_matrix(X[rows]), sparse.csr_matrix(B)
        parts = [M for A in csr for M in (A.data, A.indices.astype(int), A.indptr.astype(int))]
        close_sparse_distances(S, rows, *parts, *rest)
    else:
        close_distances(S, rows, X[rows], B, *rest)
    np.testing.assert_allclose(S, expected, rtol=rounding(dtype, 6))
    assert S[1, 3] == 0
    assert S[4, 0] == 0


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", [1e-30, 1e-6, 1, 1e20])
@pytest.mark.parametrize(("loop", "twin"), [SUMS[2], SUMS[3]])
def test_ratios_of_any_scale_neither_overflow_nor_vanish(dtype, size, loop, twin):
    X, B = np.array([[1, 2, 0]], dtype) * dtype(size), np.array([[1, 3, 2]], dtype) * dtype(size)
    found = filled(loop, X, np.repeat(B, 19, axis=0), np.ones(3))
    np.testing.assert_allclose(found, np.repeat(twin(X, B), 19, axis=1), rounding(dtype, 3))


@pytest.mark.parametrize("dtype", FLOATS)
def test_centred_rows_and_their_norms(dtype):
    rng = np.random.default_rng(0)
    X, centre = rng.normal(size=(9, 37)).astype(dtype), rng.normal(size=37).astype(dtype)
    rows, norms = X.copy(), np.empty(9, dtype)
    centre_rows(rows, centre, np.arange(37).astype(dtype), norms)
    assert np.array_equal(rows, (X - centre) * np.arange(37).astype(dtype))
    np.testing.assert_allclose(
        norms, (rows.astype(np.float64) ** 2).sum(axis=1), rounding(dtype, 1)
    )
