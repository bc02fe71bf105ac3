from collections import Counter

import numpy as np
import pytest
from scipy import sparse, stats

from skimp._core._random import draw_seed
from skimp.budgets import RPCholesky, _rpcholesky
from skimp.budgets._rpcholesky import _accept, _extend, _pivots
from skimp.data import LOCAL, ArrayRows, Context
from skimp.kernels import Gaussian, Laplacian, Linear, Precomputed
from tests.pairs import in_turn, pairwise
from tests.problems import regression
from tests.reference import budgets, naive


def select(X, size, kernel=None, seed=0, **params):
    kernel = Gaussian(gamma=0.1) if kernel is None else kernel
    return RPCholesky(**params).select(X, size, kernel, np.random.default_rng(seed))


def uneven_matrix():
    """A kernel matrix of five rows, two of them alike, on diagonals from 0.3 to 2."""
    X = np.array([[0.0], [0.3], [1.0], [1.9], [3.0]])
    scale = np.sqrt([1.0, 0.8, 2.0, 0.3, 1.2])
    return naive.gaussian(X, X, 0.7) * np.outer(scale, scale)


def check_law(seen, law):
    """Compare counts with chances; sequences of less than five expected counts are one cell."""
    n = sum(seen.values())
    cells = [k for k in law if n * law[k] >= 5]
    rare = [k for k in law if n * law[k] < 5]
    counts = np.array([seen[k] for k in cells] + [sum(seen[k] for k in rare)] * bool(rare))
    expected = n * np.array([law[k] for k in cells] + [sum(law[k] for k in rare)] * bool(rare))
    assert counts.sum() == n
    assert expected.sum() == pytest.approx(n)
    statistic = ((counts - expected) ** 2 / expected).sum()
    assert statistic < stats.chi2.isf(1e-6, len(counts) - 1)


@pytest.mark.parametrize("length", [1, 2, 3])
def test_proposals_are_kept_with_the_law_of_drawing_one_by_one(length):
    K, rng = uneven_matrix(), np.random.default_rng(0)
    seen = Counter()
    for _ in range(4000):
        proposals = rng.choice(5, 60, p=K.diagonal() / np.trace(K))
        H = K[np.ix_(proposals, proposals)]
        kept, L = _accept(H, length, rng)
        assert len(kept) == length
        np.testing.assert_allclose(L @ L.T, H[np.ix_(kept, kept)], rtol=0, atol=1e-12)
        seen[tuple(proposals[kept].tolist())] += 1
    check_law(seen, budgets.rpcholesky_law(K, length))


@pytest.mark.parametrize("proposals", [1, 2, 64])
def test_the_first_pivots_of_a_budget_have_the_law_of_a_budget(monkeypatch, proposals):
    monkeypatch.setattr(_rpcholesky, "_MIN_PROPOSALS", proposals)
    K, rng = uneven_matrix(), np.random.default_rng(proposals)
    rows, kernel = ArrayRows(np.arange(5)[:, None]), Precomputed(K)
    found = [_pivots(rows, 3, kernel, 0.0, rng, Context(n_jobs=1)) for _ in range(300)]
    assert all(len(np.unique(pivots)) == 3 for pivots in found)
    check_law(Counter(tuple(p[:2].tolist()) for p in found), budgets.rpcholesky_law(K, 2))


@pairwise(
    dtype=[np.float32, np.float64], wrap=[np.asarray, sparse.csr_matrix], block_rows=[7, 1000]
)
def test_the_factor_and_the_residual_of_given_pivots(dtype, wrap, block_rows):
    X, kernel = regression(60, dtype=dtype)[0], Laplacian(gamma=0.3)
    K = kernel(X.astype(np.float64))
    rows = ArrayRows(wrap(X), block_rows=block_rows)
    F, residual = np.empty((60, 9), dtype), K.diagonal().copy()
    eps = np.finfo(dtype).eps
    for done, new in (
        (0, np.array([5, 3, 40])),
        (3, np.array([59])),
        (4, np.array([0, 8, 9, 20, 2])),
    ):
        before = F[new, :done].astype(np.float64)
        L = np.linalg.cholesky(K[np.ix_(new, new)] - before @ before.T)
        _extend(rows, F, residual, new, wrap(X[new]), L, kernel, done, LOCAL)
        chosen = [5, 3, 40, 59, 0, 8, 9, 20, 2][: done + len(new)]
        np.testing.assert_allclose(residual, budgets.residual(K, chosen), rtol=0, atol=200 * eps)
    explained = K[:, chosen] @ np.linalg.inv(K[np.ix_(chosen, chosen)]) @ K[chosen]
    np.testing.assert_allclose(F.astype(np.float64) @ F.T, explained, rtol=0, atol=200 * eps)


@in_turn(tol=[0.9, 0.5, 0.1, 1e-2, 1e-4], seed=range(3))
def test_tol_is_reached(tol, seed):
    X, kernel = regression(200)[0], Gaussian(gamma=0.1)
    budget = select(X, 200, kernel, seed, tol=tol)
    assert 1 <= len(budget.points) < 200
    assert budgets.residual(kernel(X), budget.indices).sum() <= tol * 200


@pytest.mark.parametrize("tol", [0.9, 0.5, 0.1, 1e-2, 1e-4])
@pytest.mark.parametrize("seed", range(2))
def test_tol_is_not_reached_without_the_last_point(tol, seed):
    X, kernel = regression(200)[0], Gaussian(gamma=0.1)
    chosen = select(X, 200, kernel, seed, tol=tol).indices
    assert len(chosen) == 1 or budgets.residual(kernel(X), chosen[:-1]).sum() > tol * 200


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("tol", [1e-5, 1e-2])
def test_tol_finds_the_rank_of_a_linear_kernel(dtype, tol):
    X = regression(500, 4, dtype=dtype)[0]
    assert np.linalg.matrix_rank(select(X, 400, Linear(), tol=tol).points) == 4
    assert len(select(X, 400, Linear(), tol=1e-5).points) == 4
    assert len(select(X, 3, Linear(), tol=1e-5).points) == 3


@pytest.mark.parametrize("tol", [1e-3, 0.999])
@pytest.mark.parametrize("X", [np.zeros((30, 2)), np.ones((30, 2)), np.eye(30)])
def test_a_budget_with_a_tol_has_a_point_at_least(X, tol):
    assert len(select(X, 5, Linear(), tol=tol).points) >= 1


def test_a_tol_counts_where_all_rows_could_be_taken():
    X = np.repeat(np.eye(3), 10, axis=0)
    for size in (30, 31, 1000):
        assert len(select(X, size, Gaussian(gamma=1.0), tol=1e-6).points) == 3
    assert len(select(X, 1000, Gaussian(gamma=1.0)).points) == 30


@pairwise(dtype=[np.float32, np.float64], d=[1, 2, 5], size=[10, 99])
def test_a_low_rank_is_spanned_first_and_completed(dtype, d, size):
    X = regression(100, 5, dtype=dtype)[0][:, :d]
    for seed in range(5):
        budget = select(X, size, Linear(), seed)
        assert len(np.unique(budget.indices)) == size
        assert np.array_equal(budget.points, X[budget.indices])
        left = budgets.residual(Linear()(X.astype(np.float64)), budget.indices[:d]).sum()
        assert left < 1e-9 * (X.astype(np.float64) ** 2).sum()


def test_what_completes_a_budget_is_random():
    X = np.repeat(np.eye(3), 100, axis=0)
    seen = {int(i) for seed in range(20) for i in select(X, 30, Linear(), seed).indices[3:]}
    assert len(seen) > 200


@pairwise(
    size=[1, 5, 29],
    X=[np.ones((30, 2)), np.repeat(np.eye(3), 10, axis=0), np.zeros((30, 1))],
    kernel=[Gaussian(gamma=1.0), Linear()],
)
def test_equal_rows_come_last(X, size, kernel):
    budget = select(X, size, kernel)
    assert len(np.unique(budget.indices)) == size
    distinct = min(size, len(np.unique(X, axis=0)))
    assert len(np.unique(budget.points[:distinct], axis=0)) == distinct


@pytest.mark.parametrize("gamma", [0.01, 0.1, 1.0])
def test_float32_pivots_leave_no_more_than_float64_ones(gamma):
    X, kernel = regression(400, 2)[0], Gaussian(gamma=gamma)
    K, left = kernel(X), {}
    for dtype in (np.float32, np.float64):
        chosen = [select(X.astype(dtype), 60, kernel, seed) for seed in range(8)]
        assert all(b.points.dtype == dtype and len(np.unique(b.indices)) == 60 for b in chosen)
        left[dtype] = np.median([budgets.residual(K, b.indices).sum() for b in chosen])
    resolution = 400 * np.finfo(np.float32).eps
    assert left[np.float32] < 2 * left[np.float64] + resolution


def test_the_residual_is_near_the_best_possible_one():
    X, kernel = regression(300)[0], Gaussian(gamma=0.1)
    K = kernel(X)
    values = np.sort(np.linalg.eigvalsh(K))[::-1]
    rank, share = 10, 0.5
    # so many pivots are within 1 + share of the best error of this rank in expectation
    size = int(rank / share + rank * np.log(values.sum() / (share * values[rank:].sum()))) + 1
    left = [budgets.residual(K, select(X, size, kernel, s).indices).sum() for s in range(10)]
    assert np.mean(left) <= (1 + share) * values[rank:].sum()


def test_rows_come_from_a_sample():
    X = regression(200)[0]
    budget = select(X, 10, presample=50, seed=4)
    sample = naive.sampled_rows(200, 50, draw_seed(np.random.default_rng(4)))
    assert set(budget.indices) <= set(sample)
    assert len(np.unique(budget.indices)) == 10
    assert np.array_equal(budget.points, X[budget.indices])


@pytest.mark.parametrize("params", [{"presample": 1}, {}])
def test_a_sample_has_two_rows_a_point_at_least(monkeypatch, params):
    monkeypatch.setattr(_rpcholesky, "_FACTOR_BYTES", 1000)
    X = regression(200)[0]
    budget = select(X, 30, seed=4, **params)
    sample = naive.sampled_rows(200, 60, draw_seed(np.random.default_rng(4)))
    assert set(budget.indices) <= set(sample)
    assert len(np.unique(budget.indices)) == 30


def test_a_sample_as_large_as_the_data_is_the_data():
    X = regression(200)[0]
    expected = select(X, 20).indices
    assert np.array_equal(select(X, 20, presample=200).indices, expected)
    assert np.array_equal(select(X, 20, presample=10**20).indices, expected)
