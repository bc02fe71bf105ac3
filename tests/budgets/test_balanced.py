import numpy as np
import pytest
from scipy import sparse

from skimp.budgets import Balanced, KMeans, Uniform
from skimp.data import open_rows
from skimp.kernels import Linear, Precomputed
from tests.problems import regression
from tests.sources import ChunkedRows


def classes(*counts, seed=1):
    return np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))


def select(X, size, y=None, selector="uniform", seed=0):
    return Balanced(selector).select(X, size, Linear(), np.random.default_rng(seed), y)


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize(
    ("counts", "size", "expected"),
    [
        ([80, 15, 5], 9, [3, 3, 3]),
        ([80, 15, 5], 30, [13, 12, 5]),
        ([98, 1, 1], 50, [48, 1, 1]),
        ([80, 15, 5], 2, [1, 1, 0]),
        ([80, 15, 5], 99, [79, 15, 5]),
        ([100], 9, [9]),
    ],
)
def test_classes_get_as_many_points_as_far_as_they_have_rows(wrap, counts, size, expected):
    X, y = regression(100)[0], classes(*counts)
    budget = select(wrap(X), size, y)
    points = budget.points.toarray() if sparse.issparse(budget.points) else budget.points
    assert np.bincount(y[budget.indices], minlength=len(counts)).tolist() == expected
    assert len(np.unique(budget.indices)) == size
    assert np.array_equal(points, X[budget.indices])


def test_each_class_is_left_to_the_rule():
    X, y = regression(100)[0], classes(60, 30, 10)
    found = select(X, 12, y, KMeans()).points
    rng = np.random.default_rng(0)
    expected = [KMeans().select(X[y == c], 4, Linear(), rng).points for c in range(3)]
    np.testing.assert_allclose(found, np.concatenate(expected), rtol=1e-12)


def test_points_have_no_numbers_where_those_of_one_class_have_none():
    X, y = regression(100)[0], classes(97, 3)
    budget = select(X, 20, y, KMeans())
    assert budget.indices is None
    assert budget.points.shape == (20, 3)
    assert np.array_equal(budget.points[-3:], X[y == 1])


def test_sparse_rows_of_one_class_and_centres_of_another():
    X, y = regression(100)[0], classes(97, 3)
    points = select(sparse.csr_matrix(X), 20, y, KMeans()).points
    np.testing.assert_allclose(points.toarray(), select(X, 20, y, KMeans()).points, atol=1e-10)


def test_rows_that_do_not_count_belong_to_no_class():
    X, _, weight = regression(100)
    y = classes(60, 30, 10)
    weight[y == 2] = 0
    budget = select(ChunkedRows(X, y, weight), 10)
    assert np.bincount(y[budget.indices], minlength=3).tolist() == [5, 5, 0]
    assert weight[budget.indices].all()
    assert np.array_equal(budget.points, X[budget.indices])


@pytest.mark.parametrize("wrap", [np.asarray, lambda y: y.astype(str), lambda y: y[:, None] > 0])
def test_labels_may_be_anything_that_can_be_sorted(wrap):
    X, y = regression(100)[0], classes(90, 10)
    assert np.array_equal(select(X, 8, wrap(y)).indices, select(X, 8, y).indices)


def test_row_numbers_of_a_precomputed_kernel():
    y, kernel = classes(90, 10), Precomputed(np.eye(100))
    budget = Balanced().select(np.arange(100)[:, None], 8, kernel, np.random.default_rng(0), y)
    assert np.array_equal(budget.points[:, 0], budget.indices)
    assert np.bincount(y[budget.indices]).tolist() == [4, 4]


def test_rows_repeat_only_where_the_rule_repeats_them():
    assert not Balanced("kmeans").repeats
    assert Balanced(Uniform(replacement=True)).repeats


def test_a_rule_that_repeats_rows_gives_more_points_than_there_are_rows():
    y = classes(7, 3)
    budget = select(np.arange(10.0)[:, None], 30, y, Uniform(replacement=True))
    assert np.bincount(y[budget.indices]).tolist() == [15, 15]


def test_targets_are_needed():
    assert Balanced().needs_targets


@pytest.mark.parametrize("size", [5, 1000])
def test_classes_need_labels(size):
    X, y, _ = regression(20)
    with pytest.raises(ValueError, match=r"Balanced: y must .*found None"):
        select(open_rows(X), size)
    with pytest.raises(
        ValueError, match=r"Balanced: y must hold one class label.*found continuous"
    ):
        select(X, size, y)
