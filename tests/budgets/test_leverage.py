from collections import Counter

import numpy as np
import pytest
from scipy import sparse, stats

from skimp.budgets import Leverage
from skimp.budgets._leverage import _draw, _scores
from skimp.data import LOCAL, ArrayRows
from skimp.kernels import Gaussian, Laplacian, Linear
from tests.pairs import pairwise
from tests.problems import regression
from tests.reference import budgets


def select(X, size, kernel=None, seed=0):
    kernel = Gaussian(gamma=0.1) if kernel is None else kernel
    return Leverage().select(X, size, kernel, np.random.default_rng(seed))


@pairwise(
    kernel=[Gaussian(gamma=0.1), Laplacian(gamma=0.3)],
    wrap=[np.asarray, sparse.csr_matrix],
    rank=[1, 3, 10],
)
def test_all_rows_as_points_give_the_scores_themselves(kernel, wrap, rank):
    X = regression(80)[0]
    K = kernel(X)
    expected = budgets.leverage_scores(K, budgets.leverage_penalty(K, rank))
    scores = _scores(ArrayRows(wrap(X), block_rows=32), wrap(X), np.ones(80), rank, kernel, LOCAL)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-9)
    # of the largest eigenvalues each adds one at most, the others their share of the penalty
    assert rank / 2 < scores.sum() <= 2 * rank


@pytest.mark.parametrize("rank", [1, 3])
def test_a_linear_kernel_of_more_columns(rank):
    X = regression(80, 6)[0]
    K = X @ X.T
    expected = budgets.leverage_scores(K, budgets.leverage_penalty(K, rank))
    scores = _scores(ArrayRows(X), X, np.ones(80), rank, Linear(), LOCAL)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_estimates_from_weighted_points(dtype):
    X = regression(80, dtype=dtype)[0]
    kernel, weight = Laplacian(gamma=0.3), np.random.default_rng(0).uniform(1, 3, 20)
    K, points = kernel(X.astype(np.float64)), np.arange(20) * 3
    penalty = budgets.leverage_penalty(K[np.ix_(points, points)] * np.outer(weight, weight), 4)
    expected = budgets.leverage_estimates(K, points, weight, penalty)
    scores = _scores(ArrayRows(X), X[points], weight, 4, kernel, LOCAL)
    rounding = 1e3 * np.finfo(dtype).eps / penalty
    np.testing.assert_allclose(scores, np.clip(expected, 0, 1), rtol=0, atol=rounding)


def test_estimates_from_a_sample_are_upper_bounds():
    X, kernel = regression(80)[0], Gaussian(gamma=0.1)
    K = kernel(X)
    points = np.arange(30)
    penalty = budgets.leverage_penalty(K[:30, :30], 3)
    scores = _scores(ArrayRows(X), X[points], np.ones(30), 3, kernel, LOCAL)
    assert np.all(scores >= np.minimum(1, budgets.leverage_scores(K, penalty)) - 1e-9)


@pytest.mark.parametrize("length", [1, 2, 3])
def test_draws_have_the_law_of_drawing_one_by_one(length):
    scores = np.array([0.9, 0.05, 0.0, 0.3, 0.6, 0.15])
    rng = np.random.default_rng(0)
    n = 20_000
    seen = Counter(tuple(_draw(scores, length, rng).tolist()) for _ in range(n))
    law = {k: p for k, p in budgets.law_without_replacement(scores, length).items() if p > 0}
    assert set(seen) <= set(law)
    statistic = sum((seen[k] - n * p) ** 2 / (n * p) for k, p in law.items())
    assert statistic < stats.chi2.isf(1e-6, len(law) - 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_that_others_do_not_explain_is_chosen_more_often_than_at_random(dtype):
    X = np.append(np.linspace(0, 0.1, 2000), 5.0).astype(dtype)[:, None]
    chosen = [select(X, 40, Gaussian(gamma=1.0), seed) for seed in range(20)]
    assert all(budget.points.dtype == dtype for budget in chosen)
    often = stats.binom.isf(1e-9, 20, 40 / 2001)
    assert sum(2000 in budget.indices for budget in chosen) > often


def test_the_residual_is_less_than_that_of_uniform_rows():
    rng = np.random.default_rng(0)
    X = np.append(0.1 * rng.normal(size=(950, 2)), 3 * rng.normal(size=(50, 2)), axis=0)
    kernel = Gaussian(gamma=1.0)
    K = kernel(X)
    ours = [budgets.residual(K, select(X, 40, kernel, s).indices).sum() for s in range(5)]
    uniform = [budgets.residual(K, rng.choice(1000, 40, replace=False)).sum() for _ in range(5)]
    assert max(ours) < min(uniform)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [3, 10, 99])
def test_a_low_rank_is_completed(dtype, size):
    X = regression(100, 2, dtype=dtype)[0]
    budget = select(X, size, Linear())
    assert len(np.unique(budget.indices)) == size
