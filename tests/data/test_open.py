import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin

from skimp.data import ArrayRows, FrameRows, as_rows, open_rows
from tests.problems import regression
from tests.sources import ChunkedRows
from tests.strategies import bad_matrices, matrices

TARGETS = {"multi_output": True, "y_numeric": True}


class Model(RegressorMixin, BaseEstimator):
    n_jobs = 3


class ModelOfObjects(Model):
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        return tags


@settings(max_examples=40, deadline=None)
@given(matrices())
def test_open_rows_keeps_rows_and_dtype(X):
    rows = open_rows(X, block_rows=5)
    whole = rows.collect().X
    assert isinstance(rows, ArrayRows)
    assert rows.dtype == (X.dtype if X.dtype.kind == "f" else np.float64)
    assert whole.dtype == X.dtype
    assert not (whole != X).sum()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_open_rows_takes_frames(frame):
    rows = open_rows(frame({"a": [1.0, 2.0], "b": [3.0, 4.0]}), target=[1, 2], weight=[1, 0])
    assert isinstance(rows, FrameRows)
    assert rows.collect().X.tolist() == [[1, 3]]


def test_open_rows_takes_lists_and_other_sparse_formats():
    assert open_rows([[1, 2], [3, 4]]).collect().X.tolist() == [[1, 2], [3, 4]]
    block = next(open_rows(sparse.csc_matrix(np.eye(3))).blocks())
    assert block.X.format == "csr"


def test_open_rows_returns_rows_as_they_are():
    rows = ChunkedRows(np.ones((5, 2)))
    assert open_rows(rows) is rows
    assert open_rows(rows, block_rows=2).block_rows == 2
    assert rows.block_rows == 16


@pytest.mark.parametrize("given_too", [{"target": [1] * 5}, {"weight": [1] * 5}])
def test_arrays_replace_the_targets_and_weights_of_rows(given_too):
    rows = ChunkedRows(np.ones((5, 2)), np.zeros(5), np.full(5, 2.0))
    block = open_rows(rows, **given_too).collect()
    expected = {"target": [0] * 5, "weight": [2] * 5} | given_too
    assert block.y.tolist() == expected["target"]
    assert block.weight.tolist() == expected["weight"]


@pytest.mark.parametrize("given_too", [{"target": [1, 2]}, {"weight": [1, 2]}])
def test_lengths_must_agree(given_too):
    with pytest.raises(ValueError, match=re.escape("inconsistent numbers of samples: [5, 2]")):
        open_rows(np.ones((5, 2)), **given_too)


@pytest.mark.parametrize("block_rows", [-1, 0, 2.5])
@pytest.mark.parametrize("source", [np.ones((5, 2)), ChunkedRows(np.ones((5, 2)))])
def test_block_rows_must_be_a_positive_integer(source, block_rows):
    with pytest.raises(ValueError, match="block_rows must be an integer >= 1"):
        open_rows(source, block_rows=block_rows)


@settings(max_examples=60, deadline=None)
@given(bad_matrices())
def test_bad_rows_are_refused(bad):
    X, message = bad
    with pytest.raises((ValueError, TypeError), match=message):
        open_rows(X)
    with pytest.raises((ValueError, TypeError), match=message):
        as_rows(Model(), X, np.ones(X.shape[0]), **TARGETS)


def test_as_rows_sets_columns():
    X, y, weight = regression(20)
    model = Model()
    as_rows(model, pd.DataFrame(X, columns=list("abc")), y, weight, **TARGETS)
    assert model.n_features_in_ == 3
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    as_rows(model, X, y, **TARGETS)
    assert not hasattr(model, "feature_names_in_")
    as_rows(model, open_rows(pd.DataFrame(X, columns=list("xyz"))))
    assert model.feature_names_in_.tolist() == ["x", "y", "z"]


@pytest.mark.parametrize("wrap", [pd.DataFrame, open_rows, np.asarray])
def test_as_rows_compares_the_number_of_columns(wrap):
    model = Model()
    as_rows(model, np.ones((5, 3)))
    with pytest.raises(ValueError, match="X has 2 features, but Model is expecting 3 features"):
        as_rows(model, wrap(np.ones((5, 2))), reset=False)


@pytest.mark.parametrize("wrap", [lambda frame: frame, open_rows])
def test_as_rows_compares_the_names_of_columns(wrap):
    model = Model()
    as_rows(model, pd.DataFrame(np.ones((5, 2)), columns=["a", "b"]))
    same = wrap(pd.DataFrame(np.ones((5, 2)), columns=["a", "b"]))
    swapped = wrap(pd.DataFrame(np.ones((5, 2)), columns=["b", "a"]))
    assert as_rows(model, same, reset=False).n_rows == 5
    with pytest.raises(ValueError, match=r"[Ff]eature names"):
        as_rows(model, swapped, reset=False)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, 2], "sample_weight must have shape (5,), found (2,)."),
        (np.ones((5, 1)), "sample_weight must have shape (5,), found (5, 1)."),
        ([1, 1, 1, 1, -1], "sample_weight must not be negative"),
        (np.zeros(5), "found values from 0 to 0"),
        ([1, 1, np.nan, 1, 1], "sample_weight contains NaN"),
        (["a"] * 5, "could not convert string to float"),
    ],
)
def test_as_rows_refuses_bad_weights(weight, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        as_rows(Model(), np.ones((5, 2)), np.ones(5), weight, **TARGETS)


def test_as_rows_takes_one_weight_for_all():
    rows = as_rows(Model(), np.ones((5, 2)), np.ones(5), 2, **TARGETS)
    assert next(rows.blocks()).weight.tolist() == [2] * 5


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, 2], "inconsistent"),
        ([1, 2, 3, 4, np.nan], "NaN"),
        (None, "requires y"),
    ],
)
@pytest.mark.parametrize("wrap", [np.asarray, pd.DataFrame])
def test_as_rows_refuses_bad_targets(wrap, y, message):
    with pytest.raises(ValueError, match=message):
        as_rows(Model(), wrap(np.ones((5, 2))), y, **TARGETS)


@pytest.mark.parametrize(
    ("given_too", "message"),
    [
        ({"target": [1, 2, 3, 4, np.nan]}, "target|y"),
        ({"weight": [1, 2, 3, 4, -1]}, "weight"),
        ({"weight": [1, 2, 3, 4, np.nan]}, "weight"),
    ],
)
def test_open_rows_refuses_bad_targets_and_weights(given_too, message):
    with pytest.raises(ValueError, match=message):
        open_rows(np.ones((5, 2)), **given_too)


@pytest.mark.parametrize(
    "X",
    [
        ["one", "two"],
        ("one", "two"),
        np.array(["one", "two"]),
        np.array(["one", "two"], dtype=object),
        np.array([["one"], ["two"]], dtype=object),
        pd.Series(["one", "two"]),
        pl.Series(["one", "two"]),
        pd.DataFrame({"word": ["one", "two"]}),
        pl.DataFrame({"word": ["one", "two"]}),
    ],
    ids=lambda X: type(X).__name__,
)
def test_rows_may_be_objects_where_the_tags_say_so(X):
    model = ModelOfObjects()
    rows = as_rows(model, X, [1, 2], **TARGETS)
    assert rows.collect().X.tolist() == [["one"], ["two"]]
    assert (rows.n_features, rows.dtype, model.n_features_in_) == (1, np.float64, 1)
    assert rows.feature_names == (["word"] if hasattr(X, "columns") else None)
    with pytest.raises((ValueError, TypeError)):
        as_rows(Model(), X, [1, 2], **TARGETS)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_of_numbers_stay_numbers_beside_objects(frame):
    model = ModelOfObjects()
    rows = as_rows(model, frame({"a": [1.5, 2.5], "s": ["x", "y"]}))
    assert rows.collect().X.tolist() == [[1.5, "x"], [2.5, "y"]]
    assert model.feature_names_in_.tolist() == rows.feature_names == ["a", "s"]
    with pytest.raises(ValueError, match="feature names should match"):
        as_rows(model, frame({"s": ["x"], "a": [1.5]}), reset=False)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
def test_numbers_stay_numbers_where_rows_may_be_objects(dtype):
    X = np.arange(6, dtype=dtype)
    for rows in (X.reshape(3, 2), sparse.csr_matrix(X.reshape(3, 2))):
        assert as_rows(ModelOfObjects(), rows).collect().X.dtype == dtype
    assert as_rows(ModelOfObjects(), X).collect().X.shape == (6, 1)
    with pytest.raises(ValueError, match="NaN"):
        as_rows(ModelOfObjects(), np.array([1.0, np.nan]))


@pytest.mark.parametrize("y", [[1], [1, 2, 3]])
def test_lengths_of_objects_and_targets_must_agree(y):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        as_rows(ModelOfObjects(), ["one", "two"], y, **TARGETS)
