import gzip

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from skimp.data import CSVRows, SVMLightRows, _csv, _svmlight, open_rows


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b,kind,y\n1,0.5,u,0\n2,,v,1\n3,-1e3,u,0\n")
    return path


def test_csv(csv):
    rows = open_rows(csv, target="y", columns=["a", "kind"])
    block = rows.collect()
    assert isinstance(rows, CSVRows)
    assert rows.dtype == np.float64
    assert rows.feature_names == ["a", "kind=u", "kind=v"]
    assert block.X.tolist() == [[1, 1, 0], [2, 0, 1], [3, 1, 0]]
    assert block.y.tolist() == [0, 1, 0]
    assert block.y.dtype == np.int64
    assert rows.n_rows == 3


def test_numbers_can_be_categories(csv):
    rows = open_rows(csv, columns=["a"], categories={"a": ["3", "1"]})
    assert rows.collect().X.tolist() == [[0, 1], [0, 0], [1, 0]]


def test_missing_numbers_in_csv(csv):
    with pytest.raises(ValueError, match=r"missing value in column 'b', in row 1 of .*rows.csv"):
        open_rows(csv, target="y").collect()


def test_compressed_csv(csv, tmp_path):
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(csv.read_bytes()))
    assert open_rows(path, columns=["a"]).collect().X.ravel().tolist() == [1, 2, 3]


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(_csv, "_BLOCK_BYTES", 2**12)
    monkeypatch.setattr(_svmlight, "_PART_BYTES", 2**10)


@pytest.mark.usefixtures("small_parts")
def test_parts_of_csv(tmp_path):
    X = np.random.default_rng(0).normal(size=(1000, 3))
    X[:500, 0] = np.arange(500)
    header = "a,b,c"
    np.savetxt(tmp_path / "rows.csv", X, "%.17g", ",", header=header, comments="")
    rows = open_rows(tmp_path / "rows.csv", block_rows=64)
    np.testing.assert_array_equal(rows.collect().X, X)


@pytest.mark.usefixtures("small_parts")
def test_a_number_that_becomes_text(tmp_path):
    lines = ["x,y"] + [f"{i},0" for i in range(2000)] + ["late,0"]
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    rows = open_rows(tmp_path / "rows.csv", target="y")
    with pytest.raises(ValueError, match=r"rows.csv.*Row #2002.*'late'"):
        rows.collect()


def test_lines_of_unequal_length(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n3\n")
    with pytest.raises(ValueError, match=r"rows.csv' could not be read as CSV.*Expected 2 columns"):
        open_rows(tmp_path / "rows.csv")


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.usefixtures("small_parts")
def test_svmlight(tmp_path, zero_based):
    X = sparse.random(500, 20, 0.2, format="lil", random_state=0)
    X[0, 0] = X[-1, 19] = 1
    X, y = X.tocsr(), np.arange(500.0)
    dump_svmlight_file(X, y, str(tmp_path / "rows.svm"), zero_based=zero_based)
    rows = open_rows(tmp_path / "rows.svm", block_rows=64)
    block = rows.collect()
    assert isinstance(rows, SVMLightRows)
    assert (rows.n_rows, rows.n_features) == X.shape
    assert rows.entries == X.nnz / 500
    np.testing.assert_allclose(block.X.toarray(), X.toarray(), rtol=1e-15)
    np.testing.assert_array_equal(block.y, y)
    wide = open_rows(tmp_path / "rows.svm", columns=30, weight=np.ones(500))
    assert wide.n_features == 30
    assert next(wide.blocks()).weight is not None
    with pytest.raises(ValueError, match="columns must be at least 20"):
        open_rows(tmp_path / "rows.svm", columns=19)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 1:2\n1 1:a\n", "could not be read as svmlight"),
        ("1 1:nan\n", "finite numbers, found NaN"),
    ],
)
def test_bad_svmlight(tmp_path, text, message):
    (tmp_path / "rows.svm").write_text(text)
    with pytest.raises(ValueError, match=message):
        open_rows(tmp_path / "rows.svm")


def test_other_separators_are_named(tmp_path):
    (tmp_path / "rows.csv").write_text("x;y\n1;0\n")
    with pytest.raises(ValueError, match="separated by commas, found the single column 'x;y'"):
        open_rows(tmp_path / "rows.csv", target="y")


def test_tabs(tmp_path):
    (tmp_path / "rows.tsv").write_text("x\ty\n1\t0\n2\t1\n")
    rows = open_rows(tmp_path / "rows.tsv", target="y")
    assert rows.feature_names == ["x"]


def test_compressed_svmlight_is_refused(tmp_path):
    (tmp_path / "rows.svm.gz").write_bytes(gzip.compress(b"1 1:2\n"))
    with pytest.raises(ValueError, match="must not be compressed svmlight text"):
        open_rows(tmp_path / "rows.svm.gz")


def test_svmlight_has_no_names(tmp_path):
    (tmp_path / "rows.svm").write_text("1 1:2\n")
    with pytest.raises(ValueError, match="target must be None or an array for svmlight text"):
        open_rows(tmp_path / "rows.svm", target="y")
    with pytest.raises(ValueError, match="columns must be a number of columns"):
        open_rows(tmp_path / "rows.svm", columns=["a"])


def test_npy_is_memory_mapped(tmp_path):
    X = np.arange(6.0).reshape(3, 2)
    np.save(tmp_path / "X.npy", X)
    rows = open_rows(tmp_path / "X.npy", target=[0, 1, 0])
    block = next(rows.blocks())
    np.testing.assert_array_equal(block.X, X)
    assert isinstance(block.X.base.base, np.memmap) or isinstance(block.X.base, np.memmap)
    (tmp_path / "X.npy").write_bytes(b"no array")
    with pytest.raises(ValueError, match="array in NumPy's format"):
        open_rows(tmp_path / "X.npy")
