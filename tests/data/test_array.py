import numpy as np
import pytest
from scipy import sparse

from skimp._core._blocks import block_rows_for
from skimp.data import ArrayRows
from tests.problems import regression


@pytest.mark.parametrize("block_rows", [1, 7, 50, 200, 1000])
@pytest.mark.parametrize("as_csr", [False, True])
def test_blocks_are_consecutive_rows_with_targets_and_weights(block_rows, as_csr):
    X, y, weight = regression(200)
    rows = ArrayRows(sparse.csr_matrix(X) if as_csr else X, y, weight, block_rows=block_rows)
    assert (rows.n_rows, rows.n_features) == X.shape
    count = 0
    for block in rows.blocks():
        part = slice(block.start, block.start + block.size)
        assert block.start == count
        assert block.size == min(block_rows, 200 - count)
        assert np.array_equal(block.X.toarray() if as_csr else block.X, X[part])
        assert np.array_equal(block.y, y[part])
        assert np.array_equal(block.weight, weight[part])
        count += block.size
    assert count == 200


def test_blocks_are_views():
    X, y, _ = regression(20)
    for block in ArrayRows(X, y, block_rows=6).blocks():
        assert np.shares_memory(block.X, X)
        assert np.shares_memory(block.y, y)
        assert block.weight is None


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (np.float32, np.float32),
        (np.float64, np.float64),
        (np.uint8, np.float64),
        (bool, np.float64),
    ],
)
def test_dtype_is_what_rows_are_computed_in(dtype, expected):
    rows = ArrayRows(np.ones((3, 2), dtype))
    assert rows.dtype == expected
    assert next(rows.blocks()).X.dtype == dtype


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 100, 1000, 5000, 10**7])
def test_default_blocks_are_those_of_the_width(width, dtype):
    rows = ArrayRows(np.broadcast_to(dtype(0), (3, width)))
    assert rows.block_rows == block_rows_for(width, np.dtype(dtype))


def test_rows_can_be_read_again():
    rows = ArrayRows(regression(20)[0], block_rows=6)
    assert [b.size for b in rows.blocks()] == [b.size for b in rows.blocks()] == [6, 6, 6, 2]


def test_arrays_in_memory_are_returned_as_they_are():
    X, y, weight = regression(20)
    rows = ArrayRows(X, y, weight, block_rows=6)
    assert rows.targets() is y
    assert rows.weights() is weight
    assert ArrayRows(X).targets() is ArrayRows(X).weights() is None


@pytest.mark.parametrize("as_csr", [False, True])
def test_rows_are_taken_without_reading_others(as_csr, monkeypatch):
    X, y, weight = regression(20)
    rows = ArrayRows(sparse.csr_matrix(X) if as_csr else X, y, weight, block_rows=6)
    monkeypatch.setattr(ArrayRows, "read", None)
    taken = rows.take(np.array([19, 0, 0, 7]))
    assert np.array_equal(taken.X.toarray() if as_csr else taken.X, X[[19, 0, 0, 7]])
    assert np.array_equal(taken.y, y[[19, 0, 0, 7]])
    assert np.array_equal(taken.weight, weight[[19, 0, 0, 7]])
    assert not np.shares_memory(taken.y, y)


def test_taken_rows_keep_their_dtype():
    for dtype in (np.uint8, np.float16, bool, object):
        assert ArrayRows(np.ones((5, 2), dtype)).take([3, 1]).X.dtype == dtype
