import numpy as np
import pytest
from scipy import sparse

from skimp._core._random import draw_seed
from skimp.budgets import ColumnSubset
from skimp.budgets._column_subset import _choose_columns, _gram
from skimp.data import LOCAL, ArrayRows
from skimp.kernels import Gaussian, Linear
from tests.pairs import in_turn, pairwise
from tests.problems import TOLERANCE, difference, regression
from tests.reference import budgets, naive

EPS = float(np.finfo(np.float64).eps)


def select(X, size, kernel=None, seed=0, **params):
    kernel = Gaussian(gamma=0.1) if kernel is None else kernel
    return ColumnSubset(**params).select(X, size, kernel, np.random.default_rng(seed))


def near_duplicates():
    """Columns in four groups of unequal size, which differ a little within a group."""
    rng = np.random.default_rng(0)
    centres = 10 * np.eye(4)[np.repeat(np.arange(4), [7, 3, 1, 1])]
    return rng.permutation(centres + 0.01 * rng.normal(size=centres.shape))


@pairwise(
    dtype=[np.float32, np.float64], wrap=[np.asarray, sparse.csr_matrix], block_rows=[1, 16, 1000]
)
def test_the_gram_matrix_of_kernel_columns(dtype, wrap, block_rows):
    X = regression(100, dtype=dtype)[0]
    rows = ArrayRows(wrap(X), block_rows=block_rows)
    G = _gram(rows, wrap(X[:9]), Gaussian(gamma=0.3), LOCAL)
    A = naive.gaussian(X, X[:9], 0.3)
    assert G.dtype == np.float64
    assert difference(G, A.T @ A) < 0.1 * TOLERANCE[np.dtype(dtype)]


@in_turn(size=[1, 2, 5, 9, 12], seed=range(5))
def test_both_stages_choose_what_a_slow_twin_does(size, seed):
    A = np.random.default_rng(9).normal(size=(40, 12)) * np.geomspace(1, 30, 12)
    V = np.linalg.svd(A)[2][:size]
    waiting = np.random.default_rng(seed).exponential(size=12) / (V**2).sum(axis=0)
    drawn = np.argsort(waiting)[: size + int(np.ceil(2 * (12 - size) / 3))]
    expected = drawn[budgets.pivoted_columns(V[:, drawn], size)]
    chosen = _choose_columns(A.T @ A, size, EPS, np.random.default_rng(seed))
    if size == 12:
        assert sorted(chosen) == list(range(12))
    else:
        assert chosen.tolist() == expected.tolist()


@in_turn(size=[1, 2, 3, 4], seed=range(20))
def test_the_error_is_within_a_proven_factor_of_the_best(size, seed):
    A = near_duplicates().T
    V = np.linalg.svd(A)[2][:size]
    chosen = _choose_columns(A.T @ A, size, EPS, np.random.default_rng(seed))
    # the first rows of pivoted QR have a least singular value of at least this much of all
    growth = np.sqrt(12 - size + 1) * np.sqrt(4**size + 6 * size - 1) / 3
    drawn = np.argsort(
        np.random.default_rng(seed).exponential(size=12) / (V**2).sum(axis=0), kind="stable"
    )[: size + int(np.ceil(2 * (12 - size) / 3))]
    least = np.linalg.svd(V[:, drawn], compute_uv=False)[-1]
    tail = np.linalg.norm(np.linalg.svd(A, compute_uv=False)[size:])
    error = budgets.projection_error(A, chosen)
    assert error <= growth / least * tail + 1e-12
    assert error >= budgets.least_projection_error(A, size) - 1e-12


def test_a_column_of_each_group_is_near_the_best_choice_and_most_others_are_far():
    A = near_duplicates().T
    best = budgets.least_projection_error(A, 4)
    rng = np.random.default_rng(0)
    chosen = [_choose_columns(A.T @ A, 4, EPS, np.random.default_rng(s)) for s in range(50)]
    uniform = [rng.choice(12, 4, replace=False) for _ in range(50)]
    assert best < 0.1
    errors, others = (
        np.array([budgets.projection_error(A, S) for S in sets]) for sets in (chosen, uniform)
    )
    assert np.median(errors) < 2 * best
    assert np.median(others) > 100 * best


@pytest.mark.parametrize("seed", range(5))
def test_rows_are_those_of_the_stages_on_the_sample(seed):
    X, kernel = regression(100)[0], Gaussian(gamma=0.3)
    rng = np.random.default_rng(seed)
    sample = naive.sampled_rows(100, 18, draw_seed(rng))
    A = naive.gaussian(X, X[sample], 0.3)
    expected = sample[_choose_columns(A.T @ A, 6, EPS, rng)]
    budget = select(X, 6, kernel, seed, candidates=3)
    assert budget.indices.tolist() == expected.tolist()
    assert np.array_equal(budget.points, X[expected])


def test_as_many_candidates_as_points_are_all_taken():
    X = regression(100)[0]
    sample = naive.sampled_rows(100, 10, draw_seed(np.random.default_rng(3)))
    assert sorted(select(X, 10, candidates=1, seed=3).indices) == sorted(sample)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [3, 4, 20])
def test_columns_of_a_low_rank_are_spanned_and_completed(dtype, size):
    X = regression(100, 3, dtype=dtype)[0]
    budget = select(X, size, Linear())
    assert len(np.unique(budget.indices)) == size
    assert np.linalg.matrix_rank(budget.points[:3]) == 3


def test_repeated_rows_give_one_column_of_each():
    X = np.repeat(np.eye(3), 10, axis=0)
    for seed in range(20):
        budget = select(X, 3, Linear(), seed, candidates=10)
        assert len(np.unique(budget.points, axis=0)) == 3
