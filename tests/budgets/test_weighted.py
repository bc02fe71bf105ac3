from itertools import product

import numpy as np
import pytest
from scipy import sparse

from skimp.budgets import Uniform, Weighted
from skimp.data import open_rows
from skimp.features import Nystroem
from skimp.kernels import Gaussian, Linear, Precomputed
from tests.problems import regression
from tests.reference import naive
from tests.sources import ChunkedRows

P = np.array([0.1, 0.2, 0.3, 0.4])


class Scripted(np.random.Generator):
    """A generator whose draw is known beforehand, and that tells how likely it is."""

    def __init__(self, draw):
        super().__init__(np.random.PCG64(0))
        self.draw = np.array(draw)

    def choice(self, n, size, p):
        assert (n, size) == (len(P), len(self.draw))
        self.likelihood = p[self.draw].prod()
        return self.draw


def factors(seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(2, len(P))), rng.normal(size=(len(P), 3))


def sampled_product(A, B, budget):
    """A S S^T B, with the weight of each draw in its own column of S."""
    S = np.zeros((A.shape[1], len(budget.indices)))
    S[budget.indices, np.arange(S.shape[1])] = budget.weights
    return A @ S @ S.T @ B


def all_draws(A, B, m):
    """How likely each sequence of m rows is, and the product that it gives."""
    found = []
    for draw in product(range(len(P)), repeat=m):
        rng = Scripted(draw)
        budget = Weighted(7 * P).select(np.eye(4), m, Linear(), rng)
        found.append((rng.likelihood, sampled_product(A, B, budget)))
    likelihood, products = (np.array(part) for part in zip(*found, strict=True))
    return likelihood[:, None, None], products


def variance(A, B, m):
    """Straight from the lemma."""
    AB = A @ B
    return np.array(
        [
            [
                sum(A[i, k] ** 2 * B[k, j] ** 2 / (m * P[k]) for k in range(4)) - AB[i, j] ** 2 / m
                for j in range(B.shape[1])
            ]
            for i in range(len(A))
        ]
    )


@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_mean_and_variance_of_the_product_over_all_draws(m):
    A, B = factors()
    likelihood, products = all_draws(A, B, m)
    assert likelihood.sum() == pytest.approx(1, rel=1e-12)
    np.testing.assert_allclose((likelihood * products).sum(axis=0), A @ B, atol=1e-12)
    spread = (likelihood * (products - A @ B) ** 2).sum(axis=0)
    np.testing.assert_allclose(spread, variance(A, B, m), rtol=1e-12)


def test_the_mean_of_many_draws():
    A, B = factors()
    m = 200_000
    budget = Weighted(P).select(np.eye(4), m, Linear(), np.random.default_rng(0))
    terms = np.einsum("ik,kj,k->kij", A, B, 1 / P)
    # Hoeffding: the product is a mean of m such terms
    bound = np.ptp(terms, axis=0) * np.sqrt(np.log(2 * 6 / 1e-9) / (2 * m))
    assert np.all(np.abs(sampled_product(A, B, budget) - A @ B) <= bound)


def test_the_variance_of_few_draws():
    A, B = factors()
    m, trials, rng = 3, 2000, np.random.default_rng(0)
    budgets = (Weighted(P).select(np.eye(4), m, Linear(), rng) for _ in range(trials))
    squares = [(sampled_product(A, B, budget) - A @ B) ** 2 for budget in budgets]
    likelihood, products = all_draws(A, B, m)
    every = (products - A @ B) ** 2
    expected = variance(A, B, m)
    spread = (likelihood * (every - expected) ** 2).sum(axis=0)
    # Bernstein: a mean of independent squares of known variance and largest value
    rate = np.log(2 * 6 / 1e-9) / trials
    bound = np.sqrt(2 * spread * rate) + every.max(axis=0) * rate / 3
    assert np.all(np.abs(np.mean(squares, axis=0) - expected) <= bound)
    assert np.all(bound < expected)


@pytest.mark.parametrize("wrap", [np.asarray, list, lambda p: p.astype(np.float32)])
def test_weights_follow_from_probabilities_of_any_sum(wrap):
    X, _, weight = regression(100)
    budget = Weighted(wrap(weight)).select(X, 40, Linear(), np.random.default_rng(0))
    assert np.array_equal(budget.points, X[budget.indices])
    assert weight[budget.indices].all()
    p = weight / weight.sum()
    np.testing.assert_allclose(budget.weights, 1 / np.sqrt(40 * p[budget.indices]), rtol=1e-12)


def test_given_probabilities_are_those_of_rows_that_count():
    X, _, weight = regression(100)
    given = np.random.default_rng(1).random(100)
    rows = open_rows(X, weight=weight)
    budget = Weighted(given).select(rows, 50, Linear(), np.random.default_rng(0))
    p = given * (weight > 0) / given[weight > 0].sum()
    assert weight[budget.indices].all()
    np.testing.assert_allclose(budget.weights, 1 / np.sqrt(50 * p[budget.indices]), rtol=1e-12)


@pytest.mark.parametrize("wrap", [sparse.csr_matrix, ChunkedRows])
def test_weights_of_rows_are_the_default(wrap):
    X, _, weight = regression(100)
    given, own = (
        selector.select(source, 30, Linear(), np.random.default_rng(0))
        for selector, source in (
            (Weighted(weight), wrap(X)),
            (Weighted(), ChunkedRows(X, weight=weight)),
        )
    )
    assert np.array_equal(given.indices, own.indices)
    assert np.array_equal(given.weights, own.weights)


def test_equal_probabilities_give_equal_weights():
    budget = Weighted().select(np.ones((50, 2)), 200, Linear(), np.random.default_rng(0))
    np.testing.assert_allclose(budget.weights, np.sqrt(50 / 200))


def nystroem(rank, selector, X, kernel):
    fitted = Nystroem(kernel, budget=20, selector=selector, rank=rank, random_state=0).fit(X)
    Z = fitted.transform(X)
    return Z @ Z.T, fitted.budget_


@pytest.mark.parametrize("rank", [1, 3, 8])
def test_weights_matter_where_the_rank_is_truncated(rank):
    X, kernel = regression(60)[0], Gaussian(gamma=0.3)
    p = np.random.default_rng(1).random(60) ** 4
    found, budget = nystroem(rank, Weighted(p), X, kernel)
    blocks = kernel(X, budget.points), kernel(budget.points), kernel(budget.points, X)
    expected = naive.nystroem(*blocks, rank=rank, weights=budget.weights)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert np.abs(found - naive.nystroem(*blocks, rank=rank)).max() > 1e-3


def test_weights_cancel_where_it_is_not():
    X, kernel = regression(60)[0], Gaussian(gamma=0.3)
    p = np.random.default_rng(1).random(60) ** 4
    found, budget = nystroem(None, Weighted(p), X, kernel)
    points = X[np.unique(budget.indices)]
    expected = kernel(X, points) @ np.linalg.solve(kernel(points), kernel(points, X))
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_equal_weights_change_nothing():
    X, kernel = regression(60)[0], Gaussian(gamma=0.3)
    found, budget = nystroem(5, Weighted(), X, kernel)
    B = budget.points
    expected = naive.nystroem(kernel(X, B), kernel(B), kernel(B, X), rank=5)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_row_numbers_may_be_draw():
    kernel, numbers = Precomputed(np.eye(9)), np.arange(9)[:, None]
    budget = Weighted().select(numbers, 20, kernel, np.random.default_rng(0))
    assert np.array_equal(budget.points[:, 0], budget.indices)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300, 1e307])
def test_the_scale_of_probabilities_does_not_matter(scale):
    X = regression(100)[0]
    p = np.random.default_rng(1).random(100) + 0.5
    budgets = [Weighted(q).select(X, 9, Linear(), np.random.default_rng(0)) for q in (p, p * scale)]
    assert np.array_equal(budgets[0].indices, budgets[1].indices)
    np.testing.assert_allclose(budgets[0].weights, budgets[1].weights, rtol=1e-12)


def test_the_users_probabilities_do_not_change():
    p = np.array([1.0, 2.0, 3.0])
    Weighted(p).select(np.ones((3, 1)), 2, Linear(), np.random.default_rng(0))
    assert p.tolist() == [1, 2, 3]


def test_rows_may_repeat_and_no_targets_are_needed():
    assert Weighted().repeats
    assert not Weighted().needs_targets
    assert not Uniform().repeats


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1, 2], r"Weighted: probabilities must be 5 nonnegative numbers.*found shape \(2,\)"),
        (np.ones((5, 1)), "Weighted: probabilities must be None or one number per row, got"),
        (0.5, r"Weighted: probabilities must be None or one number per row, got 0.5\."),
        ([1, 1, -2, 1, 1], "Weighted: probabilities must be .*minimum -2"),
        (np.zeros(5), "Weighted: probabilities must be positive"),
        ([0, 0, 0, 0, 1], "Weighted: probabilities must be positive"),
        ([1, 1, np.nan, 1, 1], "probabilities contains NaN"),
        ([1, 1, np.inf, 1, 1], "probabilities contains infinity"),
        (["a"] * 5, "could not convert string to float"),
        (np.ones(5, complex), "Complex data not supported"),
        ([], "0 sample"),
    ],
)
def test_bad_probabilities_are_refused(given, message):
    rows = open_rows(np.ones((5, 2)), weight=[1, 1, 1, 1, 0])
    with pytest.raises(ValueError, match=message):
        Weighted(given).select(rows, 3, Linear(), np.random.default_rng(0))


@pytest.mark.parametrize("n_rows", [0, 5])
def test_there_must_be_a_row_that_counts(n_rows):
    rows = ChunkedRows(np.ones((n_rows, 2)), weight=np.zeros(n_rows))
    with pytest.raises(ValueError, match=r"row of positive weight|probabilities must be positive"):
        Weighted().select(rows, 3, Linear(), np.random.default_rng(0))
