import numpy as np
import pytest
from scipy import sparse

from skimp.budgets._groups import _BATCH_ROWS, find_medoids
from skimp.data import Context
from skimp.kernels import FunctionKernel, Gaussian, Linear, Precomputed
from tests.pairs import pairwise
from tests.problems import regression
from tests.reference import budgets
from tests.words import shared_letters, words

DOUBLE = np.dtype(np.float64)


def in_groups(sizes):
    return np.repeat(np.arange(len(sizes)), sizes)


def naive_medoids(K, groups):
    return [budgets.medoid(K, np.flatnonzero(groups == g)) for g in np.unique(groups)]


@pairwise(
    kernel=[Gaussian(gamma=0.3), Linear()],
    wrap=[np.asarray, sparse.csr_matrix],
    sizes=[[1], [2], [5], [1, 7, 3, 1, 1, 20], [9] * 12],
)
def test_the_least_sum_of_squared_distances(kernel, wrap, sizes):
    groups = in_groups(sizes)
    X = regression(len(groups))[0]
    found = find_medoids(wrap(X), groups, kernel, DOUBLE)
    assert found.tolist() == naive_medoids(kernel(X), groups)


@pytest.mark.parametrize(
    "sizes",
    [
        [_BATCH_ROWS],
        [_BATCH_ROWS + 1],
        [1, _BATCH_ROWS, 1],
        [_BATCH_ROWS - 1, 2, _BATCH_ROWS + 30, 3],
        [10] * (_BATCH_ROWS // 5),
    ],
)
def test_groups_may_fill_or_cross_a_batch(sizes):
    groups = in_groups(sizes)
    X = regression(len(groups))[0]
    found = find_medoids(X, groups, Linear(), DOUBLE)
    assert found.tolist() == naive_medoids(X @ X.T, groups)


def test_many_batches_are_the_same_for_any_number_of_threads():
    groups = in_groups([100] * 20)
    X = regression(2000)[0]
    found = [find_medoids(X, groups, Gaussian(gamma=0.3), DOUBLE, Context(n)) for n in (1, 2, None)]
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])
    assert np.array_equal(groups[found[0]], np.arange(20))


def test_float32_is_as_good_to_rounding():
    groups = in_groups([30] * 10)
    X = regression(300)[0]
    K = X @ X.T
    found = find_medoids(X.astype(np.float32), groups, Linear(), np.dtype(np.float32))
    for i, best in zip(found, naive_medoids(K, groups), strict=True):
        members = np.flatnonzero(groups == groups[i])
        rounding = 8 * np.finfo(np.float32).eps * len(members) * K.diagonal()[members].max()
        assert budgets.scatter(K, i, members) <= budgets.scatter(K, best, members) + rounding


def test_the_medoid_of_a_linear_kernel_is_the_row_nearest_to_the_mean():
    X = regression(200)[0]
    nearest = np.argmin(((X - X.mean(axis=0)) ** 2).sum(axis=1))
    assert find_medoids(X, np.zeros(200, int), Linear(), DOUBLE).tolist() == [nearest]


def test_the_first_of_equal_rows():
    groups = in_groups([4, 4])
    assert find_medoids(np.ones((8, 2)), groups, Gaussian(gamma=1.0), DOUBLE).tolist() == [0, 4]


def test_rows_may_be_strings_or_row_numbers():
    W = np.array(words()[0][:30], dtype=object)[:, None]
    kernel = FunctionKernel(shared_letters)
    K, groups = kernel(W), in_groups([10, 20])
    expected = naive_medoids(K, groups)
    assert find_medoids(W, groups, kernel, DOUBLE).tolist() == expected
    numbers = np.arange(30)[:, None]
    assert find_medoids(numbers, groups, Precomputed(K), DOUBLE).tolist() == expected
