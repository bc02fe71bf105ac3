import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from skimp.data import FrameRows
from skimp.data._frame import is_frame
from tests.problems import regression

FRAMES = [pd.DataFrame, pl.DataFrame]


def columns(**others):
    return {"a": np.arange(5, dtype=np.float32), "b": np.ones(5, np.float32), **others}


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("block_rows", [1, 7, 100])
def test_blocks_are_the_rows_of_the_frame(frame, block_rows):
    X, y, weight = regression(30)
    data = frame({name: X[:, j] for j, name in enumerate("abc")})
    rows = FrameRows(data, y, weight, block_rows=block_rows)
    assert (rows.n_rows, rows.n_features) == X.shape
    assert rows.feature_names == ["a", "b", "c"]
    whole = rows.collect()
    kept = weight > 0
    assert np.array_equal(whole.X, X[kept])
    assert np.array_equal(whole.y, y[kept])
    assert np.array_equal(whole.weight, weight[kept])
    starts = [(block.start, block.size) for block in rows.blocks()]
    assert starts == [(i, min(block_rows, 30 - i)) for i in range(0, 30, block_rows)]


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ({}, np.float32),
        ({"c": np.ones(5)}, np.float64),
        ({"c": np.ones(5, np.int32)}, np.float64),
        ({"c": np.ones(5, np.int8)}, np.float32),
        ({"c": np.ones(5, bool)}, np.float32),
    ],
)
def test_dtypes_of_columns_are_promoted_as_numpy_does(frame, others, expected):
    rows = FrameRows(frame(columns(**others)))
    assert rows.dtype == expected
    assert next(rows.blocks()).X.dtype == expected


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize(
    ("bad", "message"),
    [([1.0, 2.0, 3.0, 4.0, np.nan], "X contains NaN"), ([1.0, 2.0, 3.0, 4.0, np.inf], "infinity")],
)
def test_missing_and_infinite_values_anywhere_are_refused(frame, bad, message):
    with pytest.raises(ValueError, match=message):
        FrameRows(frame(columns(c=bad)), block_rows=2)


@pytest.mark.parametrize("frame", FRAMES)
def test_strings_are_refused(frame):
    with pytest.raises(ValueError, match=r"X must hold numbers, found column 'c' of dtype"):
        FrameRows(frame(columns(c=list("vwxyz"))))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("unit", ["datetime64[ms]", "timedelta64[ms]"])
def test_times_are_refused(frame, unit):
    for given in (columns(c=np.arange(5).astype(unit)), {"c": np.arange(5).astype(unit)}):
        with pytest.raises(ValueError, match=r"X must hold numbers, found column 'c' of dtype"):
            FrameRows(frame(given))


def test_categories_are_refused():
    with pytest.raises(ValueError, match="found column 'c' of dtype category"):
        FrameRows(pd.DataFrame({"c": pd.Categorical([1, 2, 1])}))


def test_a_frame_without_columns_is_refused():
    with pytest.raises(ValueError, match="X must have at least one column"):
        FrameRows(pd.DataFrame(index=[0, 1]))


def test_sparse_columns_stay_sparse():
    frame = pd.DataFrame.sparse.from_spmatrix(sparse.eye_array(4, format="csr"))
    X = FrameRows(frame, block_rows=3).collect().X
    assert sparse.issparse(X)
    assert np.array_equal(X.toarray(), np.eye(4))


def test_nullable_columns_without_missing_values_are_numbers():
    frame = pd.DataFrame({"a": pd.array([1, 2, 3], dtype="Int64")})
    rows = FrameRows(frame, block_rows=2)
    assert rows.dtype == np.float64
    assert rows.collect().X.tolist() == [[1], [2], [3]]


def test_a_missing_value_in_a_nullable_column_is_refused():
    frame = pd.DataFrame({"a": pd.array([1, 2, None], dtype="Int64")})
    with pytest.raises(ValueError, match="NaN"):
        FrameRows(frame)


@pytest.mark.parametrize("frame", FRAMES)
def test_rows_targets_and_weights_of_a_frame(frame):
    X, y, weight = regression(30)
    data = frame({name: X[:, j] for j, name in enumerate("abc")})
    rows = FrameRows(data, y, weight, block_rows=7)
    assert np.array_equal(rows.targets(), y)
    assert np.array_equal(rows.weights(), weight)
    taken = rows.take([29, 3, 3, 10])
    assert np.array_equal(taken.X, X[[29, 3, 3, 10]])
    assert np.array_equal(taken.y, y[[29, 3, 3, 10]])
    assert np.array_equal(taken.weight, weight[[29, 3, 3, 10]])
    assert FrameRows(data).targets() is FrameRows(data).weights() is None


@pytest.mark.parametrize(
    ("X", "expected"),
    [
        (pd.DataFrame({"a": [1]}), True),
        (pl.DataFrame({"a": [1]}), True),
        (pd.Series([1]), False),
        (pl.Series([1]), False),
        (np.ones((2, 2)), False),
        ([[1]], False),
    ],
)
def test_what_is_a_frame(X, expected):
    assert is_frame(X) == expected
