"""Results that are written piece by piece."""

import logging
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from pyarrow import parquet
from scipy import sparse
from sklearn.base import BaseEstimator

from skimp import KernelRegressor
from skimp.data import _pieces, _write, open_rows, write_results
from skimp.features import RandomBinning, RandomFourier
from skimp.kernels import Laplacian
from tests.problems import regression
from tests.sources import ChunkedRows

X, Y, _ = regression(n=1000)


class Owner(BaseEstimator):
    n_features_in_ = 3
    verbose = 0


def first_column(piece):
    """Return the first column of any data."""
    if isinstance(piece, pd.DataFrame | pl.DataFrame):
        return piece.to_numpy()[:, 0]
    X = piece.collect().X if hasattr(piece, "collect") else piece
    return X[:, [0]].toarray().ravel() if sparse.issparse(X) else np.array(X)[:, 0]


@pytest.fixture
def small_pieces(monkeypatch):
    """Pieces of 128 rows, of blocks of 64."""
    monkeypatch.setattr(_pieces, "_LARGEST", 150)
    monkeypatch.setattr(_pieces, "block_rows_for", lambda *_: 64)


@pytest.mark.parametrize(
    ("given", "size"),
    [
        (X, 128),
        (X.tolist(), 128),
        (pd.DataFrame(X), 128),
        (pl.DataFrame(X), 128),
        (sparse.csr_matrix(X), 128),
        (sparse.coo_matrix(X), 128),
        # a piece has at least one block
        (open_rows(X), 1000),
        (ChunkedRows(X, block_rows=64), 128),
        (ChunkedRows(X, Y, block_rows=200), 200),
    ],
    ids=lambda given: type(given).__name__,
)
def test_pieces_are_in_order(given, size, tmp_path, small_pieces):
    path = tmp_path / "x.parquet"
    sizes = []

    def compute(piece):
        values = first_column(piece)
        sizes.append(len(values))
        return values

    assert write_results(Owner(), given, str(path), compute, lambda _: ["x"]) == path
    np.testing.assert_array_equal(parquet.read_table(path)["x"], X[:, 0])
    assert sizes[0] == size
    assert list(tmp_path.iterdir()) == [path]


def test_pieces_of_wide_rows_have_few():
    assert next(_pieces.pieces(np.empty((10**5, 1)), 1))[1] == 2**16
    assert next(_pieces.pieces(np.empty((10**5, 1)), 1000))[1] == 4 * 2**11
    assert next(_pieces.pieces(np.empty((10**5, 1)), 10**6))[1] == 2**8


def test_pieces_do_not_change_predictions(small_pieces, tmp_path):
    model = KernelRegressor("rbf", approximation=30, alpha=1e-3, random_state=0).fit(X, Y)
    for given in (X, ChunkedRows(X, block_rows=64)):
        written = model.predict_to(given, tmp_path / "y.parquet")
        found = parquet.read_table(written)["prediction"].to_numpy()
        np.testing.assert_array_equal(found, model.predict(open_rows(X, block_rows=64)))


def test_columns_have_their_names(small_pieces, tmp_path):
    path = tmp_path / "x.parquet"
    write_results(Owner(), X, path, lambda piece: piece, lambda _: ["a", "b", "c"])
    found = parquet.read_table(path)
    for name, column in zip(["a", "b", "c"], X.T, strict=True):
        np.testing.assert_array_equal(found[name], column)


def test_longer_strings_in_later_pieces(small_pieces, tmp_path):
    names = np.array(["a"] * 500 + ["long"] * 500)

    def compute(piece):
        return names[piece[:, 0].astype(int)].astype(object)

    path = tmp_path / "names.parquet"
    write_results(Owner(), np.arange(1000.0)[:, None], path, compute, lambda _: ["name"])
    assert parquet.read_table(path)["name"].to_pylist() == names.tolist()


@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize("failing", ["compute", "disk"])
def test_failure_leaves_nothing(failing, older, small_pieces, tmp_path, monkeypatch):
    path, done = tmp_path / "x.parquet", []
    if older:
        path.write_text("older")

    def fail(*_):
        raise OSError(28, "No space left on device")

    def compute(piece):
        done.append(len(piece))
        if len(done) == 3:
            if failing == "compute":
                fail()
            monkeypatch.setattr(parquet.ParquetWriter, "write_table", fail)
        return piece[:, 0]

    with pytest.raises(OSError, match="No space"):
        write_results(Owner(), X, path, compute, lambda _: ["x"])
    assert len(done) == 3
    assert [part.name for part in tmp_path.iterdir()] == ["x.parquet"] * older
    assert not older or path.read_text() == "older"


def test_objects_of_several_types_are_refused(tmp_path):
    values = np.array([1, "a"], object)
    with pytest.raises(ValueError, match="numbers or strings, of one type"):
        write_results(Owner(), X[:2], tmp_path / "x.parquet", lambda _: values, lambda _: ["x"])
    assert not list(tmp_path.iterdir())


def test_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'skimp\[data\]'"):
        write_results(Owner(), X, tmp_path / "x.parquet", first_column, lambda _: ["x"])
    assert not list(tmp_path.iterdir())


def test_no_rows(tmp_path):
    with pytest.raises(ValueError, match="at least one row, found none"):
        write_results(
            Owner(), ChunkedRows(X[:0]), tmp_path / "x.parquet", first_column, lambda _: ["x"]
        )


def test_wide_sparse_features_are_refused(tmp_path, monkeypatch):
    binning = RandomBinning(Laplacian(), n_grids=20, random_state=0).fit(X)
    monkeypatch.setattr(_write, "_MOST_COLUMNS", binning.width - 1)
    with pytest.raises(ValueError, match=r"at most .* columns .* lower max_bins"):
        binning.transform_to(X, tmp_path / "Z.parquet")
    assert not list(tmp_path.iterdir())


def test_frames_of_set_output(tmp_path):
    features = RandomFourier(n_components=10, random_state=0).fit(X)
    expected = features.transform(X)
    path = features.set_output(transform="pandas").transform_to(X, tmp_path / "Z.parquet")
    np.testing.assert_array_equal(pd.read_parquet(path), expected)


def test_progress(tmp_path, caplog, small_pieces):
    owner = Owner()
    owner.verbose = 1
    with caplog.at_level(logging.INFO, logger="skimp"):
        write_results(owner, X, tmp_path / "x.parquet", first_column, lambda _: ["x"])
    assert any("write" in line and "1,000 rows to x.parquet" in line for line in caplog.messages)
