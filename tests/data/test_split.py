import numpy as np
import pytest
from scipy import sparse

from skimp.data import ArrayRows, open_rows
from skimp.data._split import masked_rows, split_rows
from tests.pairs import pairwise
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
    source = open_rows(X.astype(np.float32), target=y, block_rows=16)
    for part in split_rows(source, 0.3, 0):
        assert (part.n_features, part.dtype) == (3, np.float32)
        assert part.block_rows == 16
        assert part.sample(5, 0).X.shape == (5, 3)


@pytest.mark.parametrize("fraction", [1e-9, 1 - 1e-9])
def test_both_parts_have_a_row(fraction):
    for seed in range(20):
        kept, held_out = split_rows(open_rows(np.zeros((2, 1))), fraction, seed)
        assert (kept.n_rows, held_out.n_rows) == (1, 1)


def masks(n):
    rng = np.random.default_rng(0)
    return [np.ones(n, bool), np.arange(n) == n - 1, np.arange(n) >= n // 2, rng.random(n) < 0.3]


@pairwise(mask=masks(100), as_csr=[False, True], block_rows=[1, 7, 1000])
def test_masked_rows_are_those_of_the_mask(mask, as_csr, block_rows):
    X, y, weight = numbered(100)
    data = sparse.csr_matrix(X) if as_csr else X
    for source in (
        ChunkedRows(data, y, weight, block_rows=block_rows),
        open_rows(data, target=y, weight=weight, block_rows=block_rows),
    ):
        part = masked_rows(source, mask)
        whole = part.collect()
        assert part.n_rows == whole.size == mask.sum()
        assert np.array_equal(whole.X.toarray() if as_csr else whole.X, X[mask])
        assert np.array_equal(part.targets(), y[mask])
        assert np.array_equal(part.weights(), weight[mask])
        last = part.n_rows - 1
        taken = part.take([last, 0])
        assert np.array_equal(taken.y, y[mask][[last, 0]])
        blocks = list(part.blocks())
        assert [b.start for b in blocks] == list(range(0, whole.size, part.block_rows))


def test_a_sample_of_masked_rows_is_that_of_the_rows_alone():
    X, y, _ = numbered(100)
    mask = masks(100)[3]
    sample = masked_rows(ChunkedRows(X, y), mask).sample(9, 5)
    alone = open_rows(X[mask], target=y[mask]).sample(9, 5)
    assert np.array_equal(sample.indices, alone.indices)
    assert np.array_equal(sample.X, alone.X)


def test_a_mask_of_masked_rows():
    X, y, _ = numbered(40)
    part = masked_rows(masked_rows(ChunkedRows(X, y), y % 2 == 0), np.arange(20) % 2 == 0)
    assert np.array_equal(part.targets(), np.arange(0, 40, 4))


def test_a_mask_of_no_rows():
    part = masked_rows(ChunkedRows(*numbered(40)), np.zeros(40, bool))
    assert part.n_rows == 0
    assert not any(block.size for block in part.blocks())


@pytest.mark.parametrize("entries", [[{1}, {2, 3}, {4}], [None, 1.0, np.nan], [np.ones(2)] * 3])
def test_masked_rows_may_be_any_objects(entries):
    X = np.empty((3, 1), dtype=object)
    X[:, 0] = entries
    mask = np.array([True, False, True])
    taken = masked_rows(ArrayRows(X), mask).take([1, 0]).X
    assert taken[0, 0] is entries[2]
    assert taken[1, 0] is entries[0]
