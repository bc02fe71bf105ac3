import os
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from skimp import KernelRegressor
from skimp.data import ParquetRows, open_rows
from tests.problems import regression

N = 120


@pytest.fixture
def table():
    X, y, weight = regression(n=N, d=3, dtype=np.float32)
    columns = {f"x{j}": X[:, j] for j in range(3)}
    return pa.table({**columns, "y": y, "w": weight, "city": ["Ulm", "Bonn", "Köln"] * (N // 3)})


@pytest.fixture
def path(table, tmp_path):
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=50)
    return tmp_path / "rows.parquet"


def test_columns_have_roles(path, table):
    rows = open_rows(path, target="y", weight="w", columns=["x2", "x0"])
    block = next(rows.blocks())
    assert isinstance(rows, ParquetRows)
    assert rows.feature_names == ["x2", "x0"]
    assert rows.dtype == np.float32
    assert rows.n_rows == N
    np.testing.assert_array_equal(block.X, np.column_stack([table["x2"], table["x0"]]))
    np.testing.assert_array_equal(block.y, table["y"])
    np.testing.assert_array_equal(block.weight, np.asarray(table["w"], np.float64))


@pytest.mark.parametrize("block_rows", [1, 7, 50, 64, 1000])
def test_blocks_cross_row_groups(path, table, block_rows):
    blocks = list(open_rows(path, columns=["x0"], block_rows=block_rows).blocks())
    assert [block.size for block in blocks[:-1]] == [block_rows] * (len(blocks) - 1)
    assert [block.start for block in blocks] == list(range(0, N, block_rows))
    np.testing.assert_array_equal(np.concatenate([b.X for b in blocks])[:, 0], table["x0"])


def test_a_source_can_be_read_again_and_in_part(path):
    rows = open_rows(path, target="y", columns=["x0"], block_rows=10)
    first = next(rows.blocks())
    np.testing.assert_array_equal(first.X, rows.collect().X[:10])
    np.testing.assert_array_equal(rows.collect().X, rows.collect().X)


def test_text_becomes_one_column_per_level(path):
    rows = open_rows(path, target="y", columns=["city", "x0"])
    assert rows.feature_names == ["city=Bonn", "city=Köln", "city=Ulm", "x0"]
    assert rows.categories == {"city": ["Bonn", "Köln", "Ulm"]}
    assert rows.collect().X[:3, :3].tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0]]


def test_given_levels_keep_their_order_and_others_are_zero(path):
    rows = open_rows(path, columns=["city"], categories={"city": ["Ulm", "Mainz", "Bonn"]})
    assert rows.feature_names == ["city=Ulm", "city=Mainz", "city=Bonn"]
    assert rows.collect().X[:3].tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 0]]


def test_missing_categories_are_zero(tmp_path):
    pq.write_table(pa.table({"c": ["a", None, "b"]}), tmp_path / "c.parquet")
    assert open_rows(tmp_path / "c.parquet").collect().X.tolist() == [[1, 0], [0, 0], [0, 1]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": ["x0", "x0"]}, "columns must name each column once, found 'x0' 2 times"),
        ({"target": ["y", "y"]}, "target must name each column once"),
        ({"target": "y", "weight": "y"}, "target and weight must be different columns"),
        ({"categories": {"city": "Ulm"}}, "categories must list different levels of column 'city'"),
        ({"categories": {"city": ["a", "a"]}}, "categories must list different levels"),
        ({"categories": ["city"]}, "categories must be a dict of lists"),
        ({"filters": ("x0", ">", 0)}, "filters must be a list of conditions"),
        ({"filters": "x0 > 0"}, "filters must be a list of conditions"),
        ({"filters": []}, "filters must be a list of conditions"),
        ({"filters": [("x0", ">", "a")]}, "filters must compare columns with values of their type"),
    ],
)
def test_options_of_the_wrong_form(path, options, message):
    with pytest.raises(ValueError, match=message):
        open_rows(path, **options).collect()


def test_levels_that_repeat_a_name(tmp_path):
    pq.write_table(pa.table({"c=a": [1.0], "c": ["a"]}), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="different names, found 'c=a' twice"):
        open_rows(tmp_path / "t.parquet")


def test_files_with_more_columns(table, tmp_path):
    pq.write_table(table.select(["x0", "y"]), tmp_path / "a.parquet")
    pq.write_table(table.select(["x0", "y", "x1"]), tmp_path / "b.parquet")
    (tmp_path / "readme.txt").write_text("not data")
    with pytest.raises(ValueError, match=r"found 'x1' in .*b.parquet', but not in the first file"):
        open_rows(tmp_path, target="y")
    assert open_rows(tmp_path, target="y", columns=["x0"]).n_rows == 2 * N


def test_predictions_do_not_replace_the_source(path, tmp_path):
    rows = open_rows(path, target="y", columns=["x0", "x1"])
    model = KernelRegressor("rbf", approximation=10, alpha=1e-3, random_state=0).fit(rows)
    before = path.read_bytes()
    for source, target in ((rows, path), (open_rows(tmp_path, columns=["x0", "x1"]), "new")):
        with pytest.raises(ValueError, match="path must not be the file or in the folder"):
            model.predict_to(source, (tmp_path / target).with_suffix(".parquet"))
    with pytest.raises(ValueError, match=r"path must end in .parquet, got .*o.csv"):
        model.predict_to(rows, tmp_path / "o.csv")
    assert path.read_bytes() == before


def test_columns_of_other_data_are_compared_by_name(path):
    fitted = KernelRegressor("rbf", approximation=10, alpha=1e-3, random_state=0)
    fitted.fit(open_rows(path, target="y", columns=["x0", "x1"]))
    with pytest.raises(ValueError, match=r"missing \['x1'\] and unknown \['x2'\]: open the data"):
        fitted.predict(open_rows(path, columns=["x0", "x2"]))
    with pytest.raises(ValueError, match="found another order"):
        fitted.predict(open_rows(path, columns=["x1", "x0"]))


def test_a_repr_names_source_and_size(path):
    rows = open_rows(path, columns=["x0"])
    assert repr(rows) == "<ParquetRows: 120 rows of 1 columns, float32>"


def test_too_many_levels(tmp_path):
    pq.write_table(pa.table({"c": [str(i) for i in range(1001)]}), tmp_path / "c.parquet")
    with pytest.raises(ValueError, match="at most 1,000 levels, found more in column 'c'"):
        open_rows(tmp_path / "c.parquet")


def test_filters_choose_rows_and_row_groups(path, table):
    limit = float(np.median(table["x1"]))
    rows = open_rows(path, target="y", columns=["x0"], filters=[("x1", ">", limit)])
    chosen = np.asarray(table["x1"]) > limit
    np.testing.assert_array_equal(rows.collect().X[:, 0], np.asarray(table["x0"])[chosen])
    assert rows.n_rows == chosen.sum()
    either = [[("city", "==", "Ulm")], [("x1", "<=", limit)]]
    chosen = (np.asarray(table["city"]) == "Ulm") | ~chosen
    assert open_rows(path, columns=["x0"], filters=either).n_rows == chosen.sum()


def test_folders_are_read_in_the_order_of_their_paths(table, tmp_path):
    for year in (2021, 2020):
        (tmp_path / f"year={year}").mkdir()
        pq.write_table(table.slice(0, 60), tmp_path / f"year={year}" / "a.parquet")
        pq.write_table(table.slice(60), tmp_path / f"year={year}" / "b.parquet")
    rows = open_rows(tmp_path, target="y", columns=["x0", "year"])
    X = rows.collect().X
    assert rows.n_rows == 2 * N
    np.testing.assert_array_equal(X[:, 0], np.tile(table["x0"], 2))
    np.testing.assert_array_equal(X[:, 1], np.repeat([2020, 2021], N))
    assert open_rows(tmp_path, columns=["x0"], filters=[("year", "=", 2021)]).n_rows == N


def test_types_of_columns(tmp_path):
    table = pa.table(
        {
            "int": pa.array([1, 2], pa.int16()),
            "bool": [True, False],
            "decimal": pa.array([1, 2], pa.decimal128(5, 2)),
            "half": np.array([0.5, 1], np.float16),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array([1.0, 2, 3, 4]), 2),
            "kind": pa.array(["a", "b"]).dictionary_encode(),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    rows = open_rows(tmp_path / "t.parquet")
    assert rows.feature_names[-4:] == ["vector[0]", "vector[1]", "kind=a", "kind=b"]
    expected = [[1, 1, 1, 0.5, 1, 2, 1, 0], [2, 0, 2, 1, 3, 4, 0, 1]]
    assert rows.collect().X.tolist() == expected
    narrow = open_rows(tmp_path / "t.parquet", columns=["half", "bool"])
    assert narrow.dtype == np.float32
    assert open_rows(tmp_path / "t.parquet", columns=["bool", "kind"]).dtype == np.float64


def test_labels_keep_their_type(path):
    assert open_rows(path, target="city", columns=["x0"]).collect().y[:2].tolist() == [
        "Ulm",
        "Bonn",
    ]
    two = open_rows(path, target=["y", "x1"], columns=["x0"])
    assert two.collect().y.shape == (N, 2)


def test_targets_and_weights_from_arrays(path):
    y, weight = np.arange(N), np.arange(1.0, N + 1)
    rows = open_rows(path, target=y, weight=weight, columns=["x0"])
    block = rows.take(np.array([70, 3]))
    assert block.y.tolist() == [70, 3]
    assert block.weight.tolist() == [71, 4]
    with pytest.raises(ValueError, match="one entry for each of the 120 rows, found 5"):
        open_rows(path, target=np.arange(5))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "z"}, "target must name columns of the data, found 'z': the columns are 'x0'"),
        ({"weight": "city"}, "weight must hold numbers, found column 'city' of type string"),
        ({"columns": ["y"], "target": "y"}, "columns must not have the target or the weight"),
        ({"columns": []}, "must have at least one column of features"),
        ({"filters": [("z", ">", 1)]}, "filters must name columns of the data, found 'z'"),
        ({"categories": {"z": ["a"]}}, "categories must name columns of features, found 'z'"),
    ],
)
def test_bad_choices_of_columns(path, options, message):
    with pytest.raises(ValueError, match=message):
        open_rows(path, **options)


def test_types_without_numbers(tmp_path):
    pq.write_table(pa.table({"day": pd.to_datetime(["2020-01-01"])}), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"numbers or text, found column 'day' of type timestamp"):
        open_rows(tmp_path / "t.parquet")


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("x1", np.nan, "X contains NaN in column 'x1', in row 20 of row group 1"),
        ("x1", np.inf, "X contains infinity in column 'x1', in row 20 of row group 1"),
        ("x1", None, "X contains a missing value in column 'x1', in row 20 of row group 1"),
        ("y", None, "y contains a missing value in column 'y', in row 20 of row group 1"),
        (
            "w",
            -1.0,
            "weight contains the value -1 in column 'w', in row 20 of row group 1",
        ),
    ],
)
def test_bad_values_say_where_they_are(table, tmp_path, column, value, message):
    values = table[column].to_pylist()
    values[70] = value
    kind = table.schema.field(column).type
    table = table.set_column(table.schema.get_field_index(column), column, pa.array(values, kind))
    pq.write_table(table, tmp_path / "bad.parquet", row_group_size=50)
    # batches of 16 rows: a row group has several
    rows = open_rows(tmp_path / "bad.parquet", target="y", weight="w", block_rows=1)
    with pytest.raises(ValueError, match=message):
        rows.collect()


def test_a_column_that_changes_its_type(table, tmp_path):
    pq.write_table(table, tmp_path / "a.parquet")
    other = table.set_column(0, "x0", table["x0"].cast(pa.float64()))
    pq.write_table(other, tmp_path / "b.parquet")
    with pytest.raises(
        ValueError, match=r"column 'x0' must have one type, found double in .*b\.par"
    ):
        open_rows(tmp_path)


@pytest.mark.parametrize("kept", [0.3, 0.9, 0.999])
def test_truncated_files(path, kept):
    whole = path.read_bytes()
    path.write_bytes(whole[: int(kept * len(whole))])
    with pytest.raises(OSError, match=r"rows.parquet.*damaged or truncated"):
        open_rows(path)


def test_a_damaged_row_group(path):
    whole = bytearray(path.read_bytes())
    start = pq.ParquetFile(path).metadata.row_group(1).column(0).data_page_offset
    whole[start : start + 40] = os.urandom(40)
    path.write_bytes(whole)
    rows = open_rows(path, columns=["x0"])
    with pytest.raises(OSError, match=r"row group 1 of .*rows.parquet.* could not be read"):
        rows.collect()


def test_paths_that_do_not_exist(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file or folder"):
        open_rows(tmp_path / "no.parquet")
    with pytest.raises(FileNotFoundError, match="source must have Parquet files, found none"):
        open_rows(tmp_path)
    with pytest.raises(FileNotFoundError, match="existing file or folder"):
        open_rows(tmp_path / "no.txt")
    (tmp_path / "rows.txt").touch()
    with pytest.raises(ValueError, match=re.escape("ends in .parquet, .csv")):
        open_rows(tmp_path / "rows.txt")


def test_a_file_that_grows_while_it_is_read(path, table):
    rows = open_rows(path, columns=["x0"])
    rows.collect()
    pq.write_table(pa.concat_tables([table, table]), path, row_group_size=50)
    with pytest.raises(ValueError, match="must not change while they are read"):
        rows.collect()
