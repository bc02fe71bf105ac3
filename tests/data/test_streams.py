import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from skimp.data import FrameRows, StreamRows, open_rows

COLUMNS = {"a": [1.0, 2.0, 3.0], "kind": ["u", "v", "u"], "y": [0, 1, 0]}
FEATURES = [[1, 1, 0], [2, 0, 1], [3, 1, 0]]


def batches():
    table = pa.table(COLUMNS)
    yield table.slice(0, 1)
    yield table.slice(1).to_batches()[0]


class Relation:
    """An object with an Arrow stream, as a DuckDB relation is."""

    def __arrow_c_stream__(self, requested_schema=None):
        return pa.table(COLUMNS).__arrow_c_stream__(requested_schema)


SOURCES = [
    pd.DataFrame(COLUMNS),
    pd.DataFrame(COLUMNS, index=["p", "q", "r"]),
    pd.DataFrame(COLUMNS).astype({"kind": "category"}),
    pl.DataFrame(COLUMNS),
    pl.DataFrame(COLUMNS).with_columns(pl.col("kind").cast(pl.Categorical)),
    pa.table(COLUMNS),
    Relation(),
    batches,
    lambda: pa.table(COLUMNS),
    lambda: iter([pl.DataFrame(COLUMNS)]),
]


@pytest.mark.parametrize("source", SOURCES, ids=lambda s: type(s).__name__)
def test_every_kind_of_table(source):
    rows = open_rows(source, target="y", block_rows=2)
    assert isinstance(rows, StreamRows)
    assert rows.feature_names == ["a", "kind=u", "kind=v"]
    for _ in range(2):
        block = rows.collect()
        assert block.X.tolist() == FEATURES
        assert block.y.tolist() == [0, 1, 0]
    assert rows.n_rows == 3


def test_duckdb_relations():
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.sql("select range::float as x, range % 2 as y from range(5000)")
    rows = open_rows(relation, target="y")
    assert rows.dtype == np.float32
    assert rows.n_rows == 5000
    np.testing.assert_array_equal(rows.collect().X[:, 0], np.arange(5000))


def test_frames_of_numbers_need_no_arrow():
    rows = open_rows(pd.DataFrame({"a": [1.0]}), target=[1])
    assert isinstance(rows, FrameRows)


def test_readers_that_can_be_read_once():
    reader = pa.RecordBatchReader.from_batches(pa.table(COLUMNS).schema, batches())
    with pytest.raises(ValueError, match="readable more than once, found a RecordBatchReader"):
        open_rows(reader)


def test_rows_in_another_order():
    parts = iter(
        [pa.table({"a": [1.0, 2.0]}), pa.table({"a": [1.0, 2.0]}), pa.table({"a": [2.0, 1]})]
    )
    rows = open_rows(lambda: next(parts))
    rows.collect()
    with pytest.raises(ValueError, match="found other rows in another pass: fix their order"):
        rows.collect()


@pytest.mark.parametrize(
    ("source", "message"),
    [(batches(), "found a generator: pass a function"), (pl.LazyFrame(COLUMNS), "a LazyFrame")],
)
def test_sources_that_are_read_once_or_not_at_all(source, message):
    with pytest.raises(ValueError, match=message):
        open_rows(source, target="y")


def test_functions_that_return_other_rows():
    parts = iter([pa.table({"a": [1.0, 2.0]}), pa.table({"a": [1.0, 2.0]}), pa.table({"a": [1.0]})])
    rows = open_rows(lambda: next(parts))
    rows.collect()
    with pytest.raises(ValueError, match="must not change while they are read, found 1 rows"):
        rows.collect()


@pytest.mark.parametrize(
    ("parts", "error", "message"),
    [
        ([], ValueError, "at least one record batch"),
        ([3], TypeError, "must be Arrow data, such as a pyarrow.RecordBatch"),
        ([{"a": [1.0]}, {"a": ["x"]}], ValueError, "'a' must have one type, found string"),
        ([{"a": [1.0]}, {"b": [1.0]}], ValueError, "column 'a' is missing"),
    ],
)
def test_bad_batches(parts, error, message):
    def give():
        return [pa.table(part) if isinstance(part, dict) else part for part in parts]

    with pytest.raises(error, match=message):
        open_rows(give).collect()


def test_names_need_columns():
    with pytest.raises(ValueError, match="target must be None for an array without names"):
        open_rows(np.ones((3, 2)), target="y")


def test_parts_without_a_value():
    def give():
        return [pa.table({"c": ["u"], "x": [1]}), pa.table({"c": pa.nulls(1), "x": [2]})]

    assert open_rows(give).collect().X.tolist() == [[1, 1], [0, 2]]
