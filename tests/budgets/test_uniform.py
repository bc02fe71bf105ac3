import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from skimp._core._random import draw_seed
from skimp.budgets import Uniform
from skimp.data import open_rows
from skimp.kernels import Linear
from tests.problems import regression
from tests.reference import naive
from tests.sources import ChunkedRows


def select(X, size, seed=0):
    return Uniform().select(X, size, Linear(), np.random.default_rng(seed))


def test_the_rows_of_the_smallest_keys():
    X = regression(100)[0]
    budget = select(X, 10, seed=5)
    expected = naive.sampled_rows(100, 10, draw_seed(np.random.default_rng(5)))
    assert np.array_equal(budget.indices, expected)
    assert np.array_equal(budget.points, X[expected])
    assert budget.weights is None


@pytest.mark.parametrize(
    "wrap", [sparse.csr_matrix, pd.DataFrame, pl.DataFrame, ChunkedRows, np.asfortranarray]
)
def test_the_same_rows_from_any_source(wrap):
    X = regression(100)[0]
    budget = select(wrap(X), 10)
    points = budget.points.toarray() if sparse.issparse(budget.points) else budget.points
    assert np.array_equal(points, select(X, 10).points)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
def test_points_keep_their_dtype(dtype):
    assert select(np.ones((9, 2), dtype), 3).points.dtype == dtype


@pytest.mark.parametrize("size", [30, 31, 1000])
def test_all_rows_where_there_are_no_more(size):
    X = regression(30)[0]
    assert sorted(select(X, size).indices) == list(range(30))


def test_rows_of_weight_zero_are_never_drawn():
    X, y, weight = regression(100)
    budget = select(open_rows(X, target=y, weight=weight), 1000)
    assert np.array_equal(np.sort(budget.indices), np.flatnonzero(weight))


def test_a_seed_decides():
    X = regression(100)[0]
    assert np.array_equal(select(X, 10, 1).indices, select(X, 10, 1).indices)
    assert not np.array_equal(select(X, 10, 1).indices, select(X, 10, 2).indices)


def test_points_do_not_change_with_the_data():
    X = regression(100)[0]
    budget = select(X, 1000)
    before = budget.points.copy()
    X[:] = 0
    assert np.array_equal(budget.points, before)
