"""Frames whose columns have kernels of their own, by name, with numbers and strings."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

from skimp import KernelRegressor
from skimp.data import open_rows
from skimp.features import Nystroem, RandomFourier
from skimp.kernels import Chi2, FunctionKernel, Gaussian, Laplacian, Linear
from tests.models import regressor
from tests.problems import difference, regression
from tests.words import letter_indicators, shared_letters, words

LETTERS = FunctionKernel(shared_letters)
KERNEL = Gaussian().on(["a", "b"]) + LETTERS.on("s")
SAME = Gaussian().on([0, 1]) + Linear().on([2, 3, 4, 5, 6, 7])

every_frame = pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
every_mode = pytest.mark.parametrize("approximation", [None, 20])


def mixed(n=60):
    """Return columns a, s, b with a string in the middle, the same as vectors, and a target."""
    X, y, _ = regression(n, 2)
    W, has = words(n)
    columns = {"a": X[:, 0], "s": W, "b": X[:, 1]}
    return columns, np.column_stack([X, letter_indicators(W)]), y + has


@every_frame
@every_mode
def test_numbers_and_strings_side_by_side(frame, approximation):
    columns, X, y = mixed()
    expected = regressor(approximation, SAME, alpha=1e-3).fit(X, y)
    model = regressor(approximation, KERNEL, alpha=1e-3).fit(frame(columns), y)
    assert difference(model.predict(frame(columns)), expected.predict(X)) <= 1e-8
    gamma = expected.kernel_.k1.kernel.gamma
    assert model.kernel_ == Gaussian(gamma).on([0, 2]) + LETTERS.on([1])
    assert model.kernel == KERNEL
    assert model.feature_names_in_.tolist() == ["a", "s", "b"]


@every_mode
def test_an_array_of_objects_has_numbers_for_names(approximation):
    columns, X, y = mixed()
    rows = np.array(pd.DataFrame(columns), dtype=object)
    kernel = Gaussian().on([0, 2]) + LETTERS.on([1])
    model = regressor(approximation, kernel, alpha=1e-3).fit(rows, y)
    expected = regressor(approximation, SAME, alpha=1e-3).fit(X, y)
    assert difference(model.predict(rows), expected.predict(X)) <= 1e-8


@pytest.mark.parametrize(
    ("frame", "dtype", "approximation"),
    [
        (pd.DataFrame, np.float64, None),
        (pl.DataFrame, np.float32, 20),
        (pd.DataFrame, np.float32, RandomFourier(n_components=20)),
    ],
)
def test_names_of_columns_of_numbers(frame, dtype, approximation):
    X, y, weight = regression(80, dtype=dtype)
    table = frame({name: X[:, j] for j, name in enumerate("cab")})
    kernel = Gaussian("median").on(["a", "b"]) + 0.5 * Laplacian().on("c")
    model = regressor(approximation, kernel).fit(table, y, weight)
    numbered = Gaussian("median").on([1, 2]) + 0.5 * Laplacian().on([0])
    expected = regressor(approximation, numbered).fit(X, y, weight)
    assert model.kernel_ == expected.kernel_
    assert model.predict(table).dtype == dtype
    assert np.array_equal(model.predict(table), expected.predict(X))
    rows = open_rows(table, target=y, weight=weight)
    assert np.array_equal(
        regressor(approximation, kernel).fit(rows).predict(rows), model.predict(table)
    )


def test_names_within_names():
    X, y, _ = regression(80)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    nested = (Gaussian(0.5).on("a") + Linear().on("c")).on(["c", "a"])
    model = regressor(20, nested).fit(table, y)
    plain = regressor(20, Gaussian(0.5).on([0]) + Linear().on([2])).fit(X, y)
    assert model.kernel_ == (Gaussian(0.5).on([1]) + Linear().on([0])).on([2, 0])
    assert difference(model.predict(table), plain.predict(X)) <= 1e-10


@pytest.mark.parametrize(
    ("kernel", "approximation", "found"),
    [
        (Gaussian().on(["a", "zip"]), None, "['zip']"),
        (Linear() + Gaussian().on("zip"), 5, "['zip']"),
        (Gaussian().on("c").on(["a", "b"]), RandomFourier(), "['c']"),
        (Gaussian().on([1, 3]), Nystroem(budget=5), "3"),
        (Gaussian().on([]), None, "[]"),
        (Gaussian().on([0, 0]), RandomFourier(), "[0, 0]"),
        (Gaussian().on([0, "a"]), 5, "[0, 'a']"),
    ],
)
def test_wrong_columns_are_refused_and_nothing_is_fitted(kernel, approximation, found):
    X, y, _ = regression(30)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    model = KernelRegressor(kernel, approximation=approximation)
    before = set(vars(model))
    with pytest.raises(ValueError, match=f"Restricted: columns must be .*{re.escape(found)}"):
        model.fit(table, y)
    assert set(vars(model)) == before
    with pytest.raises(NotFittedError):
        model.predict(table)


def test_names_without_a_frame_are_refused():
    X, y, _ = regression(30)
    message = "got ['a', 'b']"
    for source in (X, open_rows(X, target=y)):
        with pytest.raises(ValueError, match=re.escape(message)):
            regressor(5, Gaussian().on(["a", "b"])).fit(source, y if source is X else None)


@pytest.mark.parametrize("estimator", [KernelRegressor, Nystroem, RandomFourier])
def test_the_name_precomputed_asks_for_the_object(estimator):
    message = rf"{estimator.__name__}: kernel .*Precomputed\(matrix\).*got 'precomputed'"
    with pytest.raises(ValueError, match=message):
        estimator("precomputed").fit(np.eye(4), [0, 1, 0, 1])


@pytest.mark.parametrize("approximation", [None, 20])
def test_only_the_columns_of_a_restriction_must_not_be_negative(approximation):
    X, y, _ = regression(60)
    X[:, 1] = np.abs(X[:, 1])
    kernel = Chi2().on([1]) + Gaussian()
    model = regressor(approximation, kernel).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    X[7, 1] = -2.5
    for use in (model.predict, lambda X: KernelRegressor(kernel).fit(X, y)):
        with pytest.raises(ValueError, match=r"negative.*Chi2.*-2\.5"):
            use(X)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_missing_numbers_beside_strings_are_refused(value):
    columns, _, y = mixed()
    frame = pd.DataFrame(columns)
    model = KernelRegressor(KERNEL, approximation=20).fit(frame, y)
    frame.loc[3, "a"] = value
    with pytest.raises(ValueError, match="X must be finite"):
        model.predict(frame)
    with pytest.raises(ValueError, match="X must be finite"):
        model.fit(frame, y)
