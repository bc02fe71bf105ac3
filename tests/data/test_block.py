import numpy as np
import pytest
from scipy import sparse

from skimp.data import Block
from skimp.data._block import join
from tests.problems import regression


@pytest.fixture(params=[False, True], ids=["dense", "csr"])
def block(request):
    X, y, weight = regression(10)
    return Block(sparse.csr_matrix(X) if request.param else X, y, weight, 100)


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


@pytest.mark.parametrize(
    ("part", "start"),
    [(slice(2, 5), 102), (slice(None), 100), (slice(-3, None), 107), (slice(4, 4), 104)],
)
def test_a_slice_moves_the_start(block, part, start):
    sliced = block[part]
    assert sliced.start == start
    assert sliced.size == len(block.y[part])
    assert np.array_equal(dense(sliced.X), dense(block.X)[part])
    assert np.array_equal(sliced.y, block.y[part])
    assert np.array_equal(sliced.weight, block.weight[part])


def test_a_mask_keeps_the_rows_it_marks(block):
    mask = block.weight > 1
    assert np.array_equal(dense(block[mask].X), dense(block.X)[mask])
    assert np.array_equal(block[mask].y, block.y[mask])


def test_join_undoes_slicing(block):
    joined = join([block[:3], block[3:3], block[3:4], block[4:]])
    assert joined.start == 100
    assert np.array_equal(dense(joined.X), dense(block.X))
    assert np.array_equal(joined.y, block.y)
    assert np.array_equal(joined.weight, block.weight)


def test_targets_and_weights_may_be_absent(block):
    bare = Block(block.X, None, None, 0)
    joined = join([bare[:4], bare[4:]])
    assert joined.y is None
    assert joined.weight is None
    assert joined.size == bare[:].size == 10
