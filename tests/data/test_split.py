import numpy as np
import pytest
from scipy import sparse

from skimp.data import open_rows
from skimp.data._split import split_rows
from tests.problems import regression
from tests.reference import naive
from tests.sources import ChunkedRows


def numbered(n):
    """Rows that hold their numbers, with targets and weights that do."""
    numbers = np.arange(n, dtype=np.float64)
    return np.column_stack([numbers, -numbers]), numbers, numbers + 1


@pytest.mark.parametrize("fraction", [0.1, 0.5, 0.9])
def test_the_held_out_rows_are_those_of_small_keys(fraction):
    X, y, weight = numbered(300)
    kept, held_out = split_rows(ChunkedRows(X, y, weight), fraction, seed=7)
    small = [naive.row_key(7, i) < fraction * 2**64 for i in range(300)]
    for part, expected in (
        (held_out, np.flatnonzero(small)),
        (kept, np.flatnonzero(~np.array(small))),
    ):
        whole = part.collect()
        assert part.n_rows == len(expected)
        assert np.array_equal(whole.X, X[expected])
        assert np.array_equal(whole.y, y[expected])
        assert np.array_equal(whole.weight, weight[expected])


@pytest.mark.parametrize("block_rows", [1, 7, 1000])
def test_the_same_rows_in_any_chunking(block_rows):
    X, y, _ = numbered(300)
    expected = [part.collect() for part in split_rows(open_rows(X, target=y), 0.3, 1)]
    sources = (
        open_rows(X, target=y, block_rows=block_rows),
        open_rows(sparse.csr_matrix(X), target=y, block_rows=block_rows),
        ChunkedRows(X, y, block_rows=block_rows),
    )
    for source in sources:
        for part, whole in zip(split_rows(source, 0.3, 1), expected, strict=True):
            blocks = list(part.blocks())
            assert [b.start for b in blocks] == list(range(0, whole.size, part.block_rows))
            assert np.array_equal(np.concatenate([b.y for b in blocks]), whole.y)
            found = part.collect().X
            assert np.array_equal(found.toarray() if sparse.issparse(found) else found, whole.X)


def test_the_share_is_near_the_fraction():
    n, fraction = 20_000, 0.15
    for seed in range(5):
        _, held_out = split_rows(open_rows(np.zeros((n, 1))), fraction, seed)
        # Hoeffding: further away with a probability of at most 1e-6
        assert abs(held_out.n_rows / n - fraction) <= np.sqrt(np.log(2 / 1e-6) / (2 * n))


def test_seeds_differ():
    rows = open_rows(numbered(300)[0])
    first, second = (split_rows(rows, 0.5, seed)[1].collect().X for seed in (0, 1))
    assert len(first) != len(second) or not np.array_equal(first, second)


def test_parts_are_rows_like_their_source():
    X, y, _ = regression(100)
    source = open_rows(X.astype(np.float32), target=y, block_rows=16).copy_with(n_jobs=1)
    for part in split_rows(source, 0.3, 0):
        assert (part.n_features, part.dtype) == (3, np.float32)
        assert (part.block_rows, part.n_jobs) == (16, 1)
        assert part.sample(5, 0).X.shape == (5, 3)


@pytest.mark.parametrize("fraction", [1e-9, 1 - 1e-9])
def test_both_parts_have_a_row(fraction):
    for seed in range(20):
        kept, held_out = split_rows(open_rows(np.zeros((2, 1))), fraction, seed)
        assert (kept.n_rows, held_out.n_rows) == (1, 1)
