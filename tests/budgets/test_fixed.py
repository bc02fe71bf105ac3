import re

import numpy as np
import pytest
from scipy import sparse

from skimp.budgets import Fixed, Uniform
from skimp.data import ArrayRows
from skimp.kernels import FunctionKernel, Linear, Precomputed
from tests.problems import regression
from tests.sources import ChunkedRows
from tests.strategies import BAD
from tests.words import shared_letters, words


def select(points, size=1000, X=None):
    X = np.ones((5, 3)) if X is None else X
    return Fixed(points).select(X, size, Linear(), np.random.default_rng(0))


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_matrix, np.ndarray.tolist])
@pytest.mark.parametrize("size", [1, 4, 1000])
def test_the_first_points(wrap, size):
    points = regression(4)[0]
    budget = select(wrap(points), size)
    chosen = budget.points.toarray() if sparse.issparse(budget.points) else budget.points
    assert np.array_equal(chosen, points[:size])
    assert budget.indices is None


def test_rows_may_come_from_any_source():
    points = regression(4)[0]
    assert np.array_equal(select(points, X=ChunkedRows(np.ones((7, 3)))).points, points)


def test_columns_must_agree():
    message = "Fixed: points must have as many columns as X (3), found 2."
    with pytest.raises(ValueError, match=re.escape(message)):
        select(np.ones((4, 2)))


@pytest.mark.parametrize("bad", BAD)
def test_bad_points_are_refused(bad):
    points, message = BAD[bad]
    with pytest.raises((ValueError, TypeError), match=message):
        select(points)


def test_chosen_points_do_not_change_with_the_users_array():
    points = regression(4)[0]
    budget = select(points)
    points[:] = 0
    assert budget.points.any()


@pytest.mark.parametrize("wrap", [list, np.array, lambda p: np.array(p, object)[:, None]])
def test_points_may_be_strings_where_the_kernel_takes_them(wrap):
    W = np.array(words()[0], dtype=object)[:, None]
    kernel, rng = FunctionKernel(shared_letters), np.random.default_rng(0)
    budget = Fixed(wrap(["abc", "zz", "f"])).select(ArrayRows(W), 2, kernel, rng)
    assert budget.points.tolist() == [["abc"], ["zz"]]
    assert budget.points.dtype == object
    with pytest.raises(ValueError, match=r"convert|numeric|2D array"):
        Fixed(wrap(["abc", "zz", "f"])).select(np.ones((5, 1)), 2, Linear(), rng)


def test_points_may_be_row_numbers():
    kernel, rng = Precomputed(np.eye(5)), np.random.default_rng(0)
    budget = Fixed([3, 1]).select(np.arange(5)[:, None], 1000, kernel, rng)
    assert budget.points.tolist() == [[3], [1]]
    with pytest.raises(ValueError, match=r"points must have as many columns as X .*found 2"):
        Fixed(np.ones((2, 2))).select(np.arange(5)[:, None], 1000, kernel, rng)


def test_uniform_rows_may_be_strings():
    W = np.array(words()[0], dtype=object)[:, None]
    kernel = FunctionKernel(shared_letters)
    budget = Uniform().select(ArrayRows(W), 7, kernel, np.random.default_rng(0))
    assert np.array_equal(budget.points, W[budget.indices])
    assert len(np.unique(budget.indices)) == 7
