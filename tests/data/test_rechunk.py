from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from skimp.data import concatenate_rows, rechunk
from tests.pairs import in_turn


def cut(values, sizes):
    bounds = np.cumsum([0, *sizes])
    return [values[a:b] for a, b in pairwise(bounds)]


@in_turn(size=[1, 3, 7, 100], sizes=[[20], [1] * 20, [0, 5, 0, 0, 13, 1, 0, 1, 0], [7, 7, 6]])
def test_blocks_have_one_size_and_keep_the_order(size, sizes):
    values = np.arange(20)
    blocks = list(rechunk(iter(cut(values, sizes)), size, np.concatenate))
    lengths = [block.size for block in blocks]
    assert np.array_equal(np.concatenate(blocks), values)
    assert set(lengths[:-1]) <= {size}
    assert 0 < lengths[-1] <= size


@pytest.mark.parametrize("chunks", [[], [np.empty(0)], [np.empty(0)] * 3])
def test_nothing_gives_no_blocks(chunks):
    assert list(rechunk(iter(chunks), 4, np.concatenate)) == []


def test_a_chunk_that_is_a_block_passes_through():
    def refuse(parts):
        raise AssertionError("joined")

    chunks = [np.arange(4), np.arange(4, 8), np.arange(8, 10)]
    blocks = list(rechunk(iter(chunks), 4, refuse))
    assert all(block is chunk for block, chunk in zip(blocks, chunks, strict=True))


def test_chunks_are_read_no_further_than_needed():
    read = []

    def chunks():
        for number in range(10):
            read.append(number)
            yield np.full(3, number)

    next(rechunk(chunks(), 5, np.concatenate))
    assert read == [0, 1]


@pytest.mark.parametrize("sparse_parts", [(), (0,), (1,), (0, 1, 2)])
def test_rows_are_stacked_dense_or_sparse(sparse_parts):
    X = np.arange(18.0, dtype=np.float32).reshape(6, 3)
    parts = [X[:1], X[1:4], X[4:]]
    given = [sparse.csr_matrix(p) if i in sparse_parts else p for i, p in enumerate(parts)]
    stacked = concatenate_rows(given)
    assert sparse.issparse(stacked) == bool(sparse_parts)
    assert stacked.dtype == np.float32
    assert np.array_equal(stacked.toarray() if sparse_parts else stacked, X)
