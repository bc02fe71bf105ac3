import numpy as np
import pytest
from scipy import sparse

from skimp._core._linalg import (
    as_compute_dtype,
    cholesky,
    dense,
    eigenpairs,
    inverse_lower,
    inverse_root,
    mirror_upper,
    pivoted_cholesky,
    product,
    reciprocal_condition,
    solve_positive,
    squared_norms,
    triangular_solve,
    upper_gram,
    well_conditioned_factor,
    whitened,
)
from tests.pairs import pairwise
from tests.reference import naive

EPS = np.finfo(np.float64).eps


def positive(m, *, rank=None, condition=100.0, seed=0):
    """A symmetric matrix with eigenvalues 1, ..., 1 / condition, the last ones zero."""
    Q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(m, m)))
    values = np.geomspace(1, 1 / condition, m)
    values[m if rank is None else rank :] = 0
    A = (Q * values) @ Q.T
    return (A + A.T) / 2


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("f2", "f4"),
        ("f4", "f4"),
        ("f8", "f8"),
        ("g", "f8"),
        ("i1", "f8"),
        ("u1", "f8"),
        ("i8", "f8"),
        ("?", "f8"),
    ],
)
def test_compute_dtype(dtype, expected):
    assert as_compute_dtype(dtype) == np.dtype(expected)


def test_dense_converts_and_passes_through():
    X = np.arange(6.0).reshape(2, 3)
    assert dense(X, X.dtype) is X
    for other in (sparse.csr_matrix(X), np.asfortranarray(X), X.astype(np.int8)):
        converted = dense(other, np.dtype(np.float32))
        assert converted.dtype == np.float32
        assert converted.flags.c_contiguous
        assert np.array_equal(converted, X)


@pairwise(X_sparse=[False, True], W_sparse=[False, True], dtype=[np.uint8, np.float32, np.float64])
def test_product_and_squared_norms(X_sparse, W_sparse, dtype):
    rng = np.random.default_rng(0)
    X, W = rng.integers(0, 9, (5, 4)).astype(dtype), rng.normal(size=(4, 3)).astype(np.float32)
    given = sparse.csr_matrix(X) if X_sparse else X
    out = np.full((5, 3), np.nan, np.float32)
    product(given, sparse.csr_matrix(W) if W_sparse else W, out)
    np.testing.assert_allclose(out, X.astype(np.float64) @ W, rtol=1e-5, atol=1e-5)
    norms = squared_norms(given)
    assert norms.dtype == np.float64
    np.testing.assert_allclose(norms, (X.astype(np.float64) ** 2).sum(axis=1), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8, np.int8])
@pytest.mark.parametrize("X_sparse", [False, True])
def test_weighted_squares_are_inner_products_of_rows_with_themselves(dtype, X_sparse):
    rng = np.random.default_rng(0)
    X = (rng.integers(0, 100, (5, 4)) * (rng.random((5, 4)) < 0.7)).astype(dtype)
    weights = np.array([0.5, 0.0, 3.0, 1e-3], np.float32)
    sums = squared_norms(sparse.csr_matrix(X) if X_sparse else X, weights)
    assert sums.dtype == np.float64
    expected = naive.inner_products(X, X, weights.astype(np.float64)).diagonal()
    np.testing.assert_allclose(sums, expected, rtol=(4 + 2) * EPS)


@pytest.mark.parametrize("X_sparse", [False, True])
def test_weighted_squares_of_large_single_precision_do_not_overflow(X_sparse):
    X = np.full((2, 3), 1e30, np.float32)
    sums = squared_norms(sparse.csr_matrix(X) if X_sparse else X, np.ones(3))
    np.testing.assert_allclose(sums, 3 * float(np.float32(1e30)) ** 2, rtol=8 * EPS)


def test_cholesky_factor_from_the_upper_triangle():
    A = positive(8)
    upper = np.triu(A) + np.tril(np.full((8, 8), np.nan), -1)
    R = cholesky(upper)
    assert np.array_equal(R, np.triu(R))
    np.testing.assert_allclose(R.T @ R, A, atol=1e-14)


def test_cholesky_jitter_is_relative_to_the_mean_of_the_diagonal():
    A = 1e6 * positive(5)
    R = cholesky(A, jitter=0.1)
    expected = A + 0.1 * A.diagonal().mean() * np.eye(5)
    np.testing.assert_allclose(R.T @ R, expected, rtol=1e-12)


@pytest.mark.parametrize("A", [-np.eye(3), np.diag([1.0, 0.0]), np.diag([1.0, np.nan])])
def test_cholesky_is_none_where_there_is_no_factor(A):
    assert cholesky(A) is None


@pytest.mark.parametrize("condition", [1e2, 1e8])
def test_reciprocal_condition_estimates_the_one_norm(condition):
    A = positive(10, condition=condition)
    true = 1 / np.linalg.cond(A, 1)
    assert true * (1 - 1e-6) <= reciprocal_condition(cholesky(A), A) <= 3 * true


def test_eigenpairs_rise_and_rebuild_the_matrix():
    A = positive(7)
    values, vectors = eigenpairs(np.triu(A))
    assert (np.diff(values) >= 0).all()
    np.testing.assert_allclose((vectors * values) @ vectors.T, A, atol=1e-14)


@pytest.mark.parametrize(
    ("A", "regular"),
    [
        (positive(20), True),
        (1e-30 * positive(20, condition=1e12), True),
        (positive(20, rank=7), False),
        (1e-30 * positive(20, rank=7), False),
        (np.ones((20, 20)), False),
    ],
)
def test_solve_positive_solves_consistent_systems(A, regular):
    b = A @ np.random.default_rng(1).normal(size=(20, 2))
    x, how = solve_positive(A, b)
    assert (how == "Cholesky") == regular
    assert np.abs(A @ x - b).max() <= 1e-10 * np.abs(b).max()


def test_solve_positive_cuts_off_where_even_jitter_fails():
    A = positive(20) - 1e-3 * np.outer(*[positive(20)[0]] * 2) - 1e-2 * np.eye(20)
    b = np.random.default_rng(1).normal(size=(20, 2))
    x, how = solve_positive(A, b)
    assert how == "eigenvalues"
    np.testing.assert_allclose(x, naive.pseudo_inverse(A) @ b, rtol=1e-8)


def test_solve_positive_of_zeros_is_zero():
    x, how = solve_positive(np.zeros((4, 4)), np.ones((4, 1)))
    assert np.array_equal(x, np.zeros((4, 1)))
    assert how == "eigenvalues"


@pytest.mark.parametrize(
    ("A", "well"),
    [
        (positive(9), True),
        (1e-30 * positive(9), True),
        (positive(9, condition=1e12), False),
        (positive(9, rank=4), False),
    ],
)
def test_well_conditioned_factor(A, well):
    R = well_conditioned_factor(A)
    assert (R is not None) == well
    if well:
        np.testing.assert_allclose(R.T @ R, A, atol=1e-12 * np.abs(A).max())


def greedy_pivots(A, count):
    left, pivots = A.copy(), []
    for _ in range(count):
        i = int(left.diagonal().argmax())
        pivots.append(i)
        left = left - np.outer(left[:, i], left[i]) / left[i, i]
    return pivots


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_pivots_are_what_others_leave_most_of(scale):
    A = scale * positive(9, condition=1e4)
    pivots, R = pivoted_cholesky(A, tol=EPS)
    assert pivots.tolist() == greedy_pivots(A, 9)
    assert np.array_equal(R, np.triu(R))
    assert (np.diff(R.diagonal()) <= 0).all()
    np.testing.assert_allclose(R.T @ R, A[np.ix_(pivots, pivots)], atol=1e-14 * scale)


def test_pivots_leave_out_what_the_others_determine():
    A = positive(4)
    repeated = [0, 1, 1, 2, 0, 3, 3]
    pivots, R = pivoted_cholesky(A[np.ix_(repeated, repeated)], tol=EPS)
    assert sorted(repeated[i] for i in pivots) == [0, 1, 2, 3]
    assert R.shape == (4, 4)
    pivots, R = pivoted_cholesky(np.zeros((5, 5)), tol=EPS)
    assert (len(pivots), R.tolist()) == (1, [[0.0]])


def test_pivots_of_a_singular_matrix_determine_the_rest():
    A = positive(9, rank=4)
    pivots, R = pivoted_cholesky(A, tol=EPS)
    assert len(pivots) == 4
    columns = np.linalg.solve(R.T, A[pivots])
    np.testing.assert_allclose(columns.T @ columns, A, atol=1e-12)


@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-8])
def test_pivots_end_where_the_rest_is_below_the_tolerance(tol):
    A = np.diag(10.0 ** -np.arange(12))
    pivots, R = pivoted_cholesky(A, tol=tol)
    assert pivots.tolist() == list(range(int(np.count_nonzero(A.diagonal() > 12 * tol))))
    np.testing.assert_allclose(R.diagonal() ** 2, A.diagonal()[pivots])


@pytest.mark.parametrize("m", [1, 5, 256, 257, 600])
def test_inverse_of_a_lower_triangle(m):
    L = np.tril(np.random.default_rng(0).normal(size=(m, m))) / np.sqrt(m) + 2 * np.eye(m)
    inverse = inverse_lower(L)
    assert np.array_equal(inverse, np.tril(inverse))
    assert np.linalg.norm(inverse @ L - np.eye(m)) <= m * EPS * np.linalg.cond(L) * np.sqrt(m)


@pytest.mark.parametrize("m", [1, 5, 260])
@pytest.mark.parametrize("order", ["C", "F"])
def test_whitened_by_an_upper_triangle(m, order):
    A, P = positive(m), positive(m, seed=1)
    R = np.linalg.cholesky(P).T
    found = whitened(np.array(np.triu(A), order=order), np.array(R, order=order))
    inverse = np.linalg.inv(R)
    np.testing.assert_allclose(found, inverse.T @ A @ inverse, atol=1e-9)
    assert np.array_equal(found, found.T)


def test_inverse_root_of_a_well_conditioned_matrix_is_triangular():
    A = positive(9)
    W, kept = inverse_root(A, rank=None, eps=EPS)
    assert kept is None
    assert np.array_equal(W, np.triu(W))
    np.testing.assert_allclose(W @ W.T, np.linalg.inv(A), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("A", "rank"), [(positive(9, rank=4), 4), (np.ones((5, 5)), 1)])
def test_inverse_root_of_a_singular_matrix_is_its_pseudo_inverse(A, rank):
    W, kept = inverse_root(A, rank=None, eps=EPS)
    assert kept.shape == (rank,)
    np.testing.assert_allclose(kept, np.linalg.eigvalsh(A)[::-1][:rank], rtol=1e-9)
    np.testing.assert_allclose(W @ W.T, naive.pseudo_inverse(A), atol=1e-9)


def test_inverse_root_keeps_the_largest_eigenvalues():
    A = positive(9)
    W, kept = inverse_root(A, rank=3, eps=EPS)
    assert kept.shape == (3,)
    np.testing.assert_allclose(W @ W.T, naive.pseudo_inverse(A, rank=3), atol=1e-10)


def test_inverse_root_cuts_off_relative_to_eps():
    A = 1e-12 * positive(9, condition=1e12)
    W, kept = inverse_root(A, rank=None, eps=1e-4)
    assert kept.shape == (3,)
    np.testing.assert_allclose(
        1e-12 * W @ W.T, 1e-12 * naive.pseudo_inverse(A, cut=1e-4), rtol=1e-8
    )


def test_inverse_root_of_zeros_is_finite_in_single_precision():
    W, _ = inverse_root(np.zeros((4, 4)), rank=None, eps=float(np.finfo(np.float32).eps))
    assert np.isfinite(W.astype(np.float32)).all()


@pytest.mark.parametrize("d", [1, 5, 128, 300])
@pytest.mark.parametrize("order", ["C", "F"])
def test_upper_gram(d, order):
    X, G = np.random.default_rng(0).normal(size=(7, d)), np.full((d, d), np.nan)
    upper_gram(np.array(X, order=order), G)
    np.testing.assert_allclose(np.triu(G), np.triu(X.T @ X), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("m", [1, 5, 256, 600])
@pytest.mark.parametrize("order", ["C", "F"])
def test_mirror_upper(m, order):
    A = np.random.default_rng(0).normal(size=(m, m))
    mirrored = np.array(A, order=order)
    mirror_upper(mirrored)
    assert np.array_equal(mirrored, np.triu(A) + np.triu(A, 1).T)


@pairwise(lower=[False, True], transposed=[False, True], dtype=[np.float32, np.float64])
def test_triangular_solve_looks_at_one_triangle(lower, transposed, dtype):
    rng = np.random.default_rng(0)
    one_side = np.tril if lower else np.triu
    A, B = one_side(rng.normal(size=(7, 7))) + 4 * np.eye(7), rng.normal(size=(7, 3))
    other = np.where(one_side(np.ones((7, 7))), A, np.nan)
    X = triangular_solve(np.asfortranarray(other, dtype), B, lower=lower, transposed=transposed)
    assert X.dtype == dtype
    expected = np.linalg.solve(A.T if transposed else A, B)
    np.testing.assert_allclose(X, expected, atol=100 * np.finfo(dtype).eps)
