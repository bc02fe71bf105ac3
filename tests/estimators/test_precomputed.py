"""Models of row numbers with a matrix of kernel values."""

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from skimp import KernelRegressor
from skimp.budgets import Fixed
from skimp.features import Nystroem
from skimp.kernels import Gaussian, Precomputed
from tests.models import regressor
from tests.problems import difference, regression

KERNEL = Gaussian(0.5)
N = 120
MODES = [None, 30, 1000, Nystroem(budget=30, rank=8)]
WRAPPERS = {
    "vector": np.asarray,
    "column": lambda i: i[:, None],
    "list": np.ndarray.tolist,
    "bytes": lambda i: i.astype(np.uint8),
    "floats": lambda i: i.astype(np.float64),
    "sparse": lambda i: sparse.csr_matrix(i[:, None]),
    "pandas": lambda i: pd.DataFrame({"row": i}),
    "polars": lambda i: pl.DataFrame({"row": i}),
}

every_mode = pytest.mark.parametrize("approximation", MODES)
rows = np.arange(N)


def problem():
    X, y, weight = regression(N)
    return X, KERNEL(X), y, weight


@pytest.mark.parametrize(
    ("approximation", "wrap"),
    [*((30, wrap) for wrap in WRAPPERS), *((mode, "vector") for mode in MODES)],
)
def test_row_numbers_stand_for_rows(approximation, wrap):
    wrap = WRAPPERS[wrap]
    X, K, y, weight = problem()
    expected = regressor(approximation, KERNEL).fit(X, y, weight).predict(X)
    model = regressor(approximation, Precomputed(K)).fit(wrap(rows), y, weight)
    assert difference(model.predict(wrap(rows)), expected) <= 1e-8


@every_mode
def test_numbers_of_a_part_in_any_order(approximation):
    X, K, y, _ = problem()
    chosen = np.random.default_rng(0).permutation(N)[:80]
    expected = regressor(approximation, KERNEL).fit(X[chosen], y[chosen])
    model = regressor(approximation, Precomputed(K)).fit(chosen, y[chosen])
    assert difference(model.predict(rows[::-1]), expected.predict(X[::-1])) <= 1e-8


@pytest.mark.parametrize("approximation", [None, 30])
def test_cross_validation_splits_numbers_as_rows(approximation):
    X, K, y, _ = problem()
    expected = cross_val_score(regressor(approximation, KERNEL), X, y, cv=3)
    found = cross_val_score(regressor(approximation, Precomputed(K)), rows, y, cv=3)
    np.testing.assert_allclose(found, expected, rtol=1e-7)


def test_fixed_landmarks_need_their_columns_only():
    X, K, y, _ = problem()
    expected = regressor(Nystroem(selector=Fixed(X[:25])), KERNEL).fit(X, y).predict(X)
    model = regressor(Nystroem(selector=Fixed(np.arange(25))), Precomputed(K[:, :25].copy()))
    assert difference(model.fit(rows, y).predict(rows), expected) <= 1e-8
    missing = regressor(None, Precomputed(K[:, :25]))
    with pytest.raises(ValueError, match="integers from 0 to 24"):
        missing.fit(rows, y)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_memory_map_stays_one(tmp_path, n_jobs):
    _, K, y, _ = problem()
    np.save(tmp_path / "K.npy", K)
    mapped = np.load(tmp_path / "K.npy", mmap_mode="r")
    expected = regressor(30, Precomputed(K), n_jobs=1).fit(rows, y)
    model = regressor(30, Precomputed(mapped), n_jobs=n_jobs).fit(rows, y)
    assert isinstance(model.kernel_.matrix, np.memmap)
    assert np.array_equal(model.predict(rows), expected.predict(rows))


def test_clones_share_the_matrix_and_pickles_hold_it():
    _, K, y, _ = problem()
    model = regressor(30, Precomputed(K)).fit(rows, y)
    assert clone(model).kernel.matrix is model.kernel_.matrix is K
    loaded = pickle.loads(pickle.dumps(model))
    assert np.array_equal(loaded.predict(rows), model.predict(rows))


def test_a_matrix_beside_columns():
    X, _, y, _ = problem()
    kernel = Precomputed(KERNEL(X[:, :1])).on([0]) * KERNEL.on([1, 2])
    mixed = np.column_stack([rows, X[:, 1:]])
    model = regressor(30, kernel).fit(mixed, y)
    expected = regressor(30, KERNEL).fit(X, y)
    assert difference(model.predict(mixed), expected.predict(X)) <= 1e-8


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([N], f"from 0 to {N - 1}"),
        ([3, -1], f"from 0 to {N - 1}"),
        ([0.5], "integers"),
        (np.array([np.nan]), "contains NaN"),
        (np.eye(N), "X has 120 features, but"),
    ],
)
def test_numbers_that_are_no_rows_are_refused(given, message):
    _, K, y, _ = problem()
    model = regressor(30, Precomputed(K)).fit(rows, y)
    with pytest.raises(ValueError, match=re.escape(message)):
        model.predict(given)


def test_the_matrix_is_no_x():
    _, K, y, _ = problem()
    with pytest.raises(ValueError, match=r"X must have one column.*120"):
        regressor(30, Precomputed(K)).fit(K, y)


@pytest.mark.parametrize("approximation", [None, 1000])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda K: K + np.triu(np.full((N, N), 1e-3), 1), "kernel must be symmetric"),
        (lambda K: K - 0.9 * np.eye(N), "kernel must be positive definite"),
    ],
)
def test_matrices_that_are_no_kernels_are_refused(approximation, change, message):
    _, K, y, _ = problem()
    model = KernelRegressor(Precomputed(change(K)), approximation=approximation)
    with pytest.raises(ValueError, match=message):
        model.fit(rows, y)
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("approximation", [None, 1000])
def test_rounding_of_float32_is_no_reason_to_refuse_a_matrix(approximation):
    X, _, y, _ = problem()
    expected = regressor(approximation, KERNEL, alpha=1e-3).fit(X, y).predict(X)
    single = KERNEL(X.astype(np.float32))
    model = regressor(approximation, Precomputed(single), alpha=1e-3).fit(rows, y)
    assert difference(model.predict(rows), expected) <= 1e-4


def test_a_missing_value_is_found_where_it_is_read():
    K = np.eye(20)
    K[15] = K[:, 15] = np.nan
    model = regressor(5, Precomputed(K)).fit(np.arange(10), np.arange(10))
    with pytest.raises(ValueError, match="Precomputed: matrix must be finite"):
        model.predict([15])
    with pytest.raises(ValueError, match="Precomputed: matrix must be finite"):
        model.fit(np.arange(20), np.arange(20))
