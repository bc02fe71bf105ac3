import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse

from skimp._core import _pairs
from skimp._core._squared_distances import SquaredDistances
from tests.pairs import in_turn, pairwise
from tests.reference import naive
from tests.strategies import FLOATS, pairs_of_matrices

SHARE = {np.float32: 2.0**-5, np.float64: 2.0**-16}
LAYOUTS = ["dense-dense", "dense-csr", "csr-dense", "csr-csr", "dense-large", "csr-large"]


def bound(dtype, d, growth=np.sqrt):
    """What a distance may be off by, relative to itself.

    Products and norms are right to (3 + sqrt d) roundings of the sum of the norms, or to d where
    the roundings of the columns are all the same, and a distance that counts is a share of it.
    """
    return (3 + growth(d)) * np.finfo(dtype).eps / 2 / SHARE[dtype]


def fill(X, B, dtype, weights=1.0):
    out = np.full((X.shape[0], B.shape[0]), np.nan, dtype)
    SquaredDistances(B, np.dtype(dtype), weights).fill(X, out)
    return out


def exact(X, B, weights=1.0):
    """The twin in extended precision, where there is one, for rows in float64."""
    X, B = (naive.as_float64(M).astype(np.longdouble) for M in (X, B))
    return np.array([[(np.longdouble(weights) * (x - b) ** 2).sum() for b in B] for x in X])


def assert_accurate(out, expected, rtol):
    assert (out >= 0).all()
    assert (np.abs(out - expected) <= rtol * expected).all()


def lay_out(X, B, layout, monkeypatch):
    first, second = layout.split("-")
    if second == "large":
        monkeypatch.setattr(_pairs, "LARGEST_DENSE", 0)
    X = X if first == "dense" else sparse.csr_matrix(X)
    return X, B if second == "dense" else sparse.csr_matrix(B)


def normal(rng, n, d):
    return rng.normal(size=(n, d))


def clusters(rng, n, d):
    return normal(rng, n, d) + 1e4 * rng.integers(-2, 3, (n, 1))


def one_huge_column(rng, n, d):
    return np.column_stack([normal(rng, n, d - 1), 1e3 * normal(rng, n, 1)])


def near_duplicates(rng, n, d):
    return rng.integers(1, 4, (n, 1)) * np.arange(1, d + 1) * (1 + 1e-6 * normal(rng, n, d))


DATA = {
    "normal": normal,
    "clusters": clusters,
    "offset": lambda *of: 1e6 + normal(*of),
    "one huge column": one_huge_column,
    "interval": lambda rng, n, d: rng.uniform(0, 1e4, (n, d)),
    "near duplicates": near_duplicates,
    "tiny": lambda *of: 1e-15 * normal(*of),
    "huge": lambda *of: 1e15 * normal(*of),
    "with zeros": lambda rng, n, d: normal(rng, n, d) * (rng.random((n, d)) < 0.3),
}


@pairwise(data=list(DATA), layout=LAYOUTS, dtype=FLOATS, d=[1, 4, 5, 33, 100])
def test_accurate_nonnegative_and_zero_for_equal_rows(data, layout, dtype, d, monkeypatch):
    rng = np.random.default_rng(d)
    X, B = DATA[data](rng, 40, d).astype(dtype), DATA[data](rng, 25, d).astype(dtype)
    B[:5] = X[5:10]
    given_X, given_B = lay_out(X, B, layout, monkeypatch)
    out = fill(given_X, given_B, dtype)
    assert_accurate(out, exact(X, B), bound(dtype, d))
    assert (out[np.arange(5, 10), np.arange(5)] == 0).all()


@pairwise(data=list(DATA), dtype=FLOATS, d=[1, 2, 3, 4])
def test_few_columns_are_right_to_rounding(data, dtype, d):
    rng = np.random.default_rng(d)
    X, B = DATA[data](rng, 40, d).astype(dtype), DATA[data](rng, 25, d).astype(dtype)
    assert_accurate(fill(X, B, dtype), exact(X, B), (d + 3) * np.finfo(dtype).eps)


@pairwise(data=list(DATA), layout=LAYOUTS, dtype=FLOATS, d=[3, 20])
def test_symmetric_with_a_diagonal_of_zeros(data, layout, dtype, d, monkeypatch):
    X = DATA[data](np.random.default_rng(d), 30, d).astype(dtype)
    S = fill(*lay_out(X, X, layout, monkeypatch), dtype)
    assert (S.diagonal() == 0).all()
    assert (np.abs(S - S.T) <= 2 * bound(dtype, d) * S).all()


@pairwise(layout=LAYOUTS, dtype=FLOATS, d=[3, 20])
def test_weights_of_columns_zeros_included(layout, dtype, d, monkeypatch):
    rng = np.random.default_rng(d)
    X, B = clusters(rng, 30, d).astype(dtype), clusters(rng, 20, d).astype(dtype)
    weights = 10.0 ** rng.uniform(-4, 4, d)
    weights[::3] = 0
    weights = weights.astype(dtype)
    B[:5] = X[:5]
    B[:5, ::3] += 7
    out = fill(*lay_out(X, B, layout, monkeypatch), dtype, weights)
    assert_accurate(out, exact(X, B, weights), bound(dtype, d))
    assert (out.diagonal()[:5] == 0).all()


@pairwise(layout=LAYOUTS, dtype=FLOATS, d=[5, 30, 100])
def test_equal_columns_whose_roundings_add_up(layout, dtype, d, monkeypatch):
    rng = np.random.default_rng(d)
    X, B = (np.repeat(normal(rng, n, 1), d, axis=1).astype(dtype) for n in (40, 25))
    out = fill(*lay_out(X, B, layout, monkeypatch), dtype)
    assert_accurate(out, exact(X, B), bound(dtype, d, growth=float))


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_gaussian_kernel_of_points_on_a_long_interval(dtype):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1e4, (300, 1)) * np.ones(8) / np.sqrt(8)
    X = X.astype(dtype)
    expected = exact(X, X)
    close = expected < 80
    assert close.sum() > len(X)
    # a distance s off by r s puts exp(-s) off by r s exp(-s) <= r / e
    K, twin = np.exp(-fill(X, X, dtype)), np.exp(-expected)
    assert np.abs(K - twin)[close].max() <= bound(dtype, 8, growth=float) / np.e


def split_and_reversed(X):
    """The rows of X in CSR, with each entry in two halves, from the last column to the first."""
    X = sparse.csr_matrix(X[:, ::-1])
    columns = X.shape[1] - 1 - X.indices
    halves = np.repeat(X.data / 2, 2), np.repeat(columns, 2), 2 * X.indptr
    return sparse.csr_matrix(halves, X.shape)


@pairwise(layout=LAYOUTS, dtype=FLOATS, d=[3, 20])
def test_sparse_entries_out_of_order_or_twice(layout, dtype, d, monkeypatch):
    rng = np.random.default_rng(d)
    X, B = (DATA["with zeros"](rng, n, d).astype(dtype) for n in (30, 20))
    B[:5] = X[:5]
    given = lay_out(X, B, layout, monkeypatch)
    given = [split_and_reversed(M.toarray()) if sparse.issparse(M) else M for M in given]
    before = [M.copy() for M in given]
    weights = np.arange(1, d + 1, dtype=dtype)
    out = fill(*given, dtype, weights)
    assert_accurate(out, exact(X, B, weights), bound(dtype, d))
    assert (out.diagonal()[:5] == 0).all()
    for M, copy in zip(given, before, strict=True):
        for part in ("data", "indices", "indptr") if sparse.issparse(M) else ("T",):
            assert np.array_equal(getattr(M, part), getattr(copy, part))


@pytest.mark.parametrize("dtype", FLOATS)
@settings(max_examples=80, deadline=None)
@given(pair=pairs_of_matrices(max_columns=12))
def test_fill_is_its_naive_twin(dtype, pair):
    X, B = pair
    expected = exact(X.astype(dtype), B.astype(dtype))
    assert_accurate(fill(X, B, dtype), expected, bound(dtype, X.shape[1]))


def gradient(X, B, A, dtype, weights):
    G = np.ones(X.shape, dtype)
    SquaredDistances(B, np.dtype(dtype), weights).add_gradient(X, A, G)
    return G - 1


@pairwise(layout=LAYOUTS, dtype=FLOATS, d=[2, 9])
def test_gradient_is_its_naive_sum(layout, dtype, d, monkeypatch):
    rng = np.random.default_rng(d)
    X, B = (DATA["with zeros"](rng, n, d).astype(dtype) for n in (8, 20))
    A, weights = rng.normal(size=(8, 20)).astype(dtype), np.arange(d, dtype=dtype)
    G = gradient(*lay_out(X, B, layout, monkeypatch), A, dtype, weights)
    expected = naive.statistic_gradient(lambda x, b: 2 * (x - b), X, B, A, weights)
    size = naive.statistic_gradient(
        lambda x, b: 2 * (abs(x) + abs(b) + abs(B).max(axis=0)), X, B, np.abs(A), weights
    )
    assert (np.abs(G - expected) <= (20 + 6) * np.finfo(dtype).eps * (1 + size)).all()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_sums_of_gradients_are_naive_sums_over_rows(layout, monkeypatch):
    rng = np.random.default_rng(0)
    X, B = (DATA["with zeros"](rng, n, 9) for n in (8, 20))
    A, weights = rng.normal(size=(8, 20)), np.arange(9, dtype=float)
    given, points = lay_out(X, B, layout, monkeypatch)
    sums = np.ones(B.shape)
    SquaredDistances(points, np.dtype(np.float64), weights).add_gradient_sums(given, A, sums)
    expected = 2 * weights * np.einsum("ij,ijk->jk", A, X[:, None] - B)
    assert np.abs(sums - 1 - expected).max() < 1e-12 * np.abs(expected).max()


@in_turn(layout=LAYOUTS, d=[2, 9])
def test_gradient_is_a_central_difference_of_fill(layout, d, monkeypatch):
    rng = np.random.default_rng(d)
    X, B = normal(rng, 4, d), normal(rng, 6, d)
    A, weights = rng.normal(size=(4, 6)), np.arange(d, dtype=float)
    X, B = lay_out(X, B, layout, monkeypatch)
    G, step = gradient(X, B, A, np.float64, weights), 2.0**-10
    for k in range(d):
        shift = np.zeros((4, d))
        shift[:, k] = step
        up, down = (fill(naive.as_float64(X) + s, B, np.float64, weights) for s in (shift, -shift))
        slope = (A * (up - down)).sum(axis=1) / (2 * step)
        # central differences of squares have the error of their rounding alone
        rounded = (np.abs(A) * (up + down)).sum(axis=1) * bound(np.float64, d) / step
        assert (np.abs(G[:, k] - slope) <= rounded).all()


def test_gradient_keeps_its_digits_far_from_the_origin():
    rng = np.random.default_rng(0)
    X, B = (rng.integers(-8, 9, (n, 6)).astype(np.float32) / 8 for n in (5, 20))
    A, far = rng.normal(size=(5, 20)).astype(np.float32), np.float32(2**20)
    G = gradient(X + far, B + far, A, np.float32, 1.0)
    expected = naive.statistic_gradient(lambda x, b: 2 * (x - b), X, B, A)
    size = 1 + 2 * 3 * np.abs(A).sum(axis=1, keepdims=True)
    assert (np.abs(G - expected) <= (20 + 6) * np.finfo(np.float32).eps * size).all()


@pytest.mark.parametrize("d", [3, 30])
@pytest.mark.parametrize(("dtype", "size"), [(np.float32, 1e20), (np.float64, 1e160)])
def test_rows_whose_squares_overflow_are_equal_or_infinitely_far(d, dtype, size):
    X = (size * np.random.default_rng(0).normal(size=(20, d))).astype(dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        S = fill(X, X, dtype)
    assert np.array_equal(S, np.where(np.eye(20) > 0, 0, np.inf))


@in_turn(layout=LAYOUTS, offset=[1e3, 1e5])
def test_gradients_keep_their_digits_in_clusters_far_apart(layout, offset, monkeypatch):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(60, 6)) + offset * rng.integers(0, 3, (60, 1))).astype(np.float32)
    # pairs of other clusters do not count
    A = np.exp(-naive.squared_distances(X, X)).astype(np.float32)
    expected = 2 * np.einsum("ij,ijk->ik", A.astype(float), X.astype(float)[:, None] - X)
    given, points = lay_out(X, X, layout, monkeypatch)
    G = np.zeros_like(X)
    SquaredDistances(points, np.dtype(np.float32)).add_gradient(given, A, G)
    assert np.abs(G - expected).max() <= 1e-6 * np.abs(expected).max()
