import numpy as np
import pytest
from scipy import sparse

from skimp.features import _grids
from skimp.features._grids import Grids
from tests.pairs import in_turn, pairwise


def rows(n=40, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)).round(1)


def drawn(X, P=6, *, seed=0):
    rng = np.random.default_rng(seed)
    return Grids.draw(rng.gamma(2.0, size=(X.shape[1], P)), X, rng)


def tuples(grids, X):
    """Return the bins of each row in each grid, column by column."""
    bins = []
    for x in np.asarray(X, np.float64):
        of_row = []
        for p in range(grids.shifts.shape[1]):
            t = x * grids.resolutions[:, p] + grids.shifts[:, p]
            of_row.append(tuple(np.floor(t).tolist()))
        bins.append(of_row)
    return bins


def majorities(X):
    """Return what more than half of the rows have in each column, else zero."""
    found = []
    for column in np.asarray(X, np.float64).T.tolist():
        most = max(column, key=column.count)
        found.append(most if 2 * column.count(most) > len(column) else 0.0)
    return found


def with_majorities(n=41):
    X = rows(n, 7, seed=1)
    X[:, 1] = 3.5
    X[: n // 2 + 1, 2] = -2.0
    X[: n // 2, 3] = 7.0
    X[: n // 2 + 1, 4] = 0.0
    X[:, 5] = 0.0
    X[: n // 2, 6] = 1.0
    X[n // 2 :, 6] = 2.0
    return X


@pairwise(
    n=[1, 2, 40, 41], dtype=[np.float32, np.float64, np.int16], wrap=[np.asarray, sparse.csr_matrix]
)
def test_the_origin_is_what_most_rows_have(n, dtype, wrap):
    X = with_majorities(n).astype(dtype)
    grids = drawn(wrap(X))
    assert grids.origin.tolist() == majorities(X)
    assert grids.origin.any()


def test_the_origin_of_many_columns():
    X = np.arange(1.0, 201) * np.ones((3, 1))
    X[0, ::2] += 1
    X[:, ::5] = rows(3, 40)
    assert drawn(X).origin.tolist() == drawn(sparse.csr_matrix(X)).origin.tolist() == majorities(X)


@in_turn(
    wrap=[np.asarray, np.asfortranarray, sparse.csr_matrix, np.float32],
    X=[rows(), with_majorities(), rows(1), rows(30, 1)],
)
def test_prints_are_equal_exactly_where_bins_are(X, wrap):
    X = wrap(X)
    grids = drawn(X)
    prints, bins = grids.prints(X), tuples(grids, X.toarray() if sparse.issparse(X) else X)
    assert prints.dtype == np.uint32
    for p in range(6):
        found = [row[p] for row in bins]
        pairs = {(a, b) for a, b in zip(prints[:, p].tolist(), found, strict=True)}
        assert len(pairs) == len(set(found)) == len({a for a, _ in pairs})


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float32, bool])
def test_sparse_rows_have_the_prints_of_dense_ones(dtype):
    X = np.abs(10 * with_majorities()).astype(dtype)
    grids = drawn(X)
    assert np.array_equal(grids.prints(sparse.csr_matrix(X)), grids.prints(X))


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_matrix])
def test_strips_change_nothing(monkeypatch, wrap):
    X = wrap(rows(100))
    expected = drawn(X).prints(X)
    for size in (1, 7, 100):
        monkeypatch.setattr(_grids, "_STRIP", size)
        assert np.array_equal(drawn(X).prints(X), expected)


def test_draws_are_those_of_the_seed_and_not_of_the_rows():
    first, second, other = drawn(rows()), drawn(with_majorities()[:, :3]), drawn(rows(), seed=1)
    for name in ("resolutions", "shifts", "factors"):
        assert np.array_equal(getattr(first, name), getattr(second, name))
        assert not np.array_equal(getattr(first, name), getattr(other, name))
    assert (first.factors % 2 == 1).all()
    assert ((first.shifts >= 0) & (first.shifts < 1)).all()


def test_columns_that_a_grid_does_not_look_at():
    X, rng = rows(), np.random.default_rng(0)
    pitches = rng.gamma(2.0, size=(3, 6))
    pitches[1] = np.inf
    grids = Grids.draw(pitches, X, rng)
    expected = grids.prints(X)
    X[:, 1] = rng.normal(size=40)
    assert np.array_equal(grids.prints(X), expected)
