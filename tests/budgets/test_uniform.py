import numpy as np
import pytest
from scipy import sparse

from skimp._core._random import draw_seed
from skimp.budgets import Uniform
from skimp.data import ArrayRows, open_rows
from skimp.kernels import FunctionKernel, Linear, Precomputed
from tests.pairs import in_turn
from tests.problems import labelled, regression
from tests.reference import naive
from tests.sources import ChunkedRows
from tests.words import shared_letters, words


def select(X, size, seed=0, y=None, **options):
    return Uniform(**options).select(X, size, Linear(), np.random.default_rng(seed), y)


def test_the_rows_of_the_smallest_keys():
    X = regression(100)[0]
    budget = select(X, 10, seed=5)
    expected = naive.sampled_rows(100, 10, draw_seed(np.random.default_rng(5)))
    assert np.array_equal(budget.indices, expected)
    assert np.array_equal(budget.points, X[expected])
    assert budget.weights is None


@pytest.mark.parametrize(
    ("counts", "size", "expected"),
    [
        ([60, 30, 10], 10, [6, 3, 1]),
        ([97, 2, 1], 10, [8, 1, 1]),
        ([97, 2, 1], 3, [1, 1, 1]),
        ([97, 2, 1], 2, [2, 0, 0]),
        ([97, 2, 1], 99, [96, 2, 1]),
        ([100], 7, [7]),
    ],
)
def test_classes_get_points_in_proportion_and_one_at_least(counts, size, expected):
    y = np.random.default_rng(1).permutation(np.repeat(np.arange(len(counts)), counts))
    X = regression(100)[0]
    budget = select(X, size, y=y, stratify="class")
    assert np.bincount(y[budget.indices], minlength=len(counts)).tolist() == expected
    assert len(np.unique(budget.indices)) == size
    assert np.array_equal(budget.points, X[budget.indices])
    assert budget.weights is None


def test_each_row_of_a_class_is_as_likely():
    X, y, draws = np.arange(12.0)[:, None], np.repeat([0, 1], [8, 4]), 600
    counts = np.zeros(12)
    for seed in range(draws):
        counts[select(X, 6, seed, y, stratify="class").indices] += 1
    # Hoeffding: no frequency is off by more, with probability 1 - 1e-9
    bound = np.sqrt(np.log(2 * 12 / 1e-9) / (2 * draws))
    assert np.abs(counts / draws - 1 / 2).max() <= bound


def test_rows_of_different_classes_are_in_no_order():
    y = np.repeat([0, 1], 50)
    indices = select(regression(100)[0], 40, y=y, stratify="class").indices
    assert 0 < np.count_nonzero(np.diff(y[indices])) < 39
    assert len(set(y[indices[:20]])) == 2


def test_classes_of_rows_that_do_not_count_are_absent():
    X, y, weight = labelled(100)
    weight[y == 2] = 0
    rows = open_rows(X, target=y, weight=weight)
    budget = select(rows, 10, stratify="class")
    assert set(y[budget.indices]) == {0, 1}
    assert weight[budget.indices].all()


@in_turn(stratify=[None, "class", "cluster"], size=[1, 30, 31, 100])
def test_with_replacement_any_number_of_points(stratify, size):
    X, y, _ = labelled(30)
    budget = select(X, size, y=y, stratify=stratify, replacement=True)
    assert len(budget.indices) == size
    assert set(budget.indices) <= set(range(30))
    assert np.array_equal(budget.points, X[budget.indices])


def test_with_replacement_classes_still_get_points_in_proportion():
    y = np.repeat([0, 1, 2], [6, 3, 1])
    budget = select(np.arange(10.0)[:, None], 200, y=y, stratify="class", replacement=True)
    assert np.bincount(y[budget.indices]).tolist() == [120, 60, 20]


def test_draws_with_replacement_are_independent_and_uniform():
    size = 20_000
    indices = select(np.arange(5.0)[:, None], size, replacement=True).indices
    pairs = np.bincount(5 * indices[::2] + indices[1::2], minlength=25) / (size // 2)
    # Hoeffding: 25 frequencies of size / 2 independent pairs
    assert np.abs(pairs - 1 / 25).max() <= np.sqrt(np.log(2 * 25 / 1e-9) / size)


def test_only_replacement_repeats_and_only_classes_need_targets():
    assert Uniform(replacement=True).repeats
    assert not Uniform(stratify="class").repeats
    assert Uniform(stratify="class").needs_targets
    assert not Uniform(stratify="cluster").needs_targets


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_matrix, ChunkedRows])
def test_clusters_get_points_in_proportion(wrap):
    sizes = np.array([50, 25, 15, 10])
    place = np.random.default_rng(0).permutation(np.repeat(np.arange(4), sizes))
    X = 100.0 * np.eye(4, 5)[place] + np.random.default_rng(1).normal(size=(100, 5))
    budget = select(wrap(X), 20, stratify="cluster")
    assert np.bincount(place[budget.indices]).tolist() == [10, 5, 3, 2]
    assert len(np.unique(budget.indices)) == 20


@pytest.mark.parametrize("size", [1, 5, 29])
def test_equal_rows_are_one_cluster(size):
    indices = select(np.ones((30, 2)), size, stratify="cluster").indices
    assert len(np.unique(indices)) == size


def test_row_numbers_and_strings_may_be_drawn_by_class():
    y, rng = np.repeat([0, 1], [30, 30]), np.random.default_rng(0)
    W = np.array(words()[0], dtype=object)[:, None]
    cases = [
        (open_rows(np.arange(60)[:, None], target=y), Precomputed(np.eye(60))),
        (ArrayRows(W, y), FunctionKernel(shared_letters)),
    ]
    for rows, kernel in cases:
        budget = Uniform(stratify="class").select(rows, 6, kernel, rng)
        assert np.bincount(y[budget.indices]).tolist() == [3, 3]
        assert np.array_equal(budget.points, rows.take(budget.indices).X)


@pytest.mark.parametrize("size", [5, 1000])
def test_classes_need_labels(size):
    X, y, _ = regression(20)
    with pytest.raises(ValueError, match=r"Uniform: y must .*found None"):
        select(X, size, stratify="class")
    with pytest.raises(ValueError, match=r"Uniform: y must hold one class label.*found continuous"):
        select(X, size, y=y, stratify="class")
