import re

import numpy as np
import pytest
from scipy import sparse

from skimp.budgets import Fixed
from skimp.kernels import Linear
from tests.problems import regression
from tests.sources import ChunkedRows
from tests.strategies import BAD


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
    message = "Fixed: points must have 3 columns as X has, found 2."
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
