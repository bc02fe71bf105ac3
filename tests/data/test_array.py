import numpy as np
import pytest
from scipy import sparse

from skimp.data import ArrayRows
from skimp.data._rows import block_rows_for
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
