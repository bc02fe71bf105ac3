import numpy as np
import pytest
from scipy import sparse

from skimp.data import LOCAL, ArrayRows, Codes, Context, open_rows
from skimp.data._kept import keep_rows, kept_bytes
from tests.problems import regression
from tests.sources import ChunkedRows


class Doubled:
    """A feature map that counts the blocks it computes."""

    width, dtype = 3, np.dtype(np.float32)

    def __init__(self):
        self.n_blocks = 0

    def map_block(self, X, out):
        out[...] = 2 * X
        self.n_blocks += 1


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_same_blocks(weighted, n_jobs):
    X, y, weight = regression(50)
    doubled = Doubled()
    rows = ChunkedRows(X, y, weight if weighted else None).mapped(doubled)
    kept = keep_rows(rows, Context(n_jobs))
    assert (kept.n_rows, kept.n_features, kept.dtype) == (50, 3, np.float32)
    assert kept.block_rows == rows.block_rows
    assert doubled.n_blocks == 4
    for mine, original in zip(kept.blocks(), rows.blocks(), strict=True):
        assert mine.start == original.start
        assert np.array_equal(mine.X, original.X)
        assert np.array_equal(mine.y, original.y)
        assert (mine.weight is None) == (not weighted)
        assert not weighted or np.array_equal(mine.weight, original.weight)
    n_blocks = doubled.n_blocks
    assert LOCAL.map_reduce(kept, lambda block, _: block.size, lambda a, b: a + b, 0) == 50
    assert doubled.n_blocks == n_blocks


def test_rows_without_targets():
    X = regression(50)[0]
    assert keep_rows(ChunkedRows(X)).collect().y is None


def test_rows_in_memory_are_themselves():
    rows = open_rows(regression(50)[0])
    assert keep_rows(rows) is rows
    assert kept_bytes(rows) == 0


def test_bytes():
    rows = ChunkedRows(regression(50)[0]).mapped(Doubled())
    assert kept_bytes(rows) == keep_rows(rows).collect().X.nbytes == 50 * 3 * 4


class Coded:
    """A feature map of codes that counts the blocks it computes."""

    dtype = np.dtype(np.float32)
    coded = Codes(np.empty((0, 3), np.uint16), np.array([0, 2, 4]), np.float32(0.5), 6, first=1)
    width = 6

    def __init__(self):
        self.n_blocks = 0

    def map_codes(self, X, out):
        out[...] = X > 0
        self.n_blocks += 1


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_codes_are_kept_as_codes(n_jobs):
    X, y, weight = regression(50)
    coded = Coded()
    rows = ChunkedRows(X, y, weight).mapped(coded)
    kept = keep_rows(rows, Context(n_jobs))
    assert isinstance(kept, ArrayRows)
    assert (kept.n_rows, kept.n_features, kept.dtype) == (50, 6, np.float32)
    assert kept.coded.layout[1:] == coded.coded.layout[1:]
    assert coded.n_blocks == 4
    whole = next(kept.reblocked(50).blocks())
    assert np.array_equal(whole.X.codes, X > 0)
    assert whole.X.codes.dtype == np.uint16
    assert np.array_equal(whole.y, y)
    assert np.array_equal(whole.weight, weight)
    assert [block.size for block in kept.blocks()] == [16, 16, 16, 2]
    assert coded.n_blocks == 4


def test_codes_take_a_number_for_each_group():
    rows = ChunkedRows(regression(50)[0]).mapped(Coded())
    assert kept_bytes(rows) == keep_rows(rows).collect().X.codes.nbytes == 50 * 3 * 2


class Chessboard:
    """A feature map whose features are a CSR matrix with half of the entries."""

    width, dtype, entries = 6, np.dtype(np.float32), 3.0

    def map_sparse(self, X):
        return sparse.csr_matrix(np.tile(X, 2) * (np.arange(6) % 2), dtype=np.float32)


@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_features_stay_sparse(weighted):
    X, y, weight = regression(50)
    rows = ChunkedRows(X, y, weight if weighted else None).mapped(Chessboard())
    assert kept_bytes(rows) == 50 * 4 * (1 + 2 * 2 * 3)
    kept = keep_rows(rows, Context(2))
    assert (kept.n_rows, kept.n_features, kept.dtype, kept.entries) == (50, 6, np.float32, 3)
    assert kept_bytes(kept) == 0
    whole = kept.take(np.arange(50))
    assert sparse.issparse(whole.X)
    expected = np.tile(X, 2) * (np.arange(6) % 2)
    np.testing.assert_allclose(whole.X.toarray(), expected, rtol=1e-6)
    assert np.array_equal(whole.y, y)
    assert [block.size for block in kept.blocks()] == [block.size for block in rows.blocks()]
