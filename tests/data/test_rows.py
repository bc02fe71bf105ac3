import gc
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from skimp._core._blocks import block_rows_for
from skimp.data import LOCAL, Codes, Context, open_rows
from skimp.features import Nystroem
from skimp.kernels import Linear
from tests.pairs import pairwise
from tests.problems import regression
from tests.sources import ChunkedRows

CHUNKINGS = [(1,), (0, 1, 0), (1000,), (3, 0, 1, 17, 0, 5)]


class Doubled:
    """A feature map: every column twice, the second time negative."""

    def __init__(self, d, dtype):
        self.width = 2 * d
        self.dtype = np.dtype(dtype)

    def map_block(self, X, out):
        out[...] = np.hstack([X, -X])


@pairwise(sizes=CHUNKINGS, block_rows=[1, 16, 1000], as_csr=[False, True])
def test_any_chunking_gives_the_same_blocks(sizes, block_rows, as_csr):
    X, y, weight = regression(100)
    data = sparse.csr_matrix(X) if as_csr else X
    chunked = ChunkedRows(data, y, weight, sizes=sizes, block_rows=block_rows)
    expected = open_rows(data, target=y, weight=weight, block_rows=block_rows)
    for block, other in zip(chunked.blocks(), expected.blocks(), strict=True):
        assert block.start == other.start
        difference = block.X != other.X
        assert not (difference.nnz if as_csr else difference.any())
        assert np.array_equal(block.y, other.y)
        assert np.array_equal(block.weight, other.weight)


@settings(max_examples=50, deadline=None)
@given(
    st.integers(1, 60),
    st.lists(st.integers(0, 9), min_size=1, max_size=8).filter(any),
    st.integers(1, 20),
)
def test_n_rows_by_counting(n, sizes, block_rows):
    X = np.arange(n)[:, None]
    rows = ChunkedRows(X, sizes=tuple(sizes), block_rows=block_rows)
    assert rows.n_rows == n
    assert np.array_equal(rows.collect().X, X)


def test_rows_are_counted_once(monkeypatch):
    reads, chunks = [], ChunkedRows.chunks
    monkeypatch.setattr(ChunkedRows, "chunks", lambda self: reads.append(self) or chunks(self))
    rows = ChunkedRows(np.ones((40, 1)))
    assert rows.n_rows == rows.n_rows == 40
    assert rows.mapped(Doubled(1, np.float64)).n_rows == 40
    assert rows.reblocked(3).n_rows == 40
    assert reads == [rows]
    assert ChunkedRows(np.ones((7, 1))).n_rows == 7


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_map_reduce_folds_in_order(n_jobs):
    rows = ChunkedRows(np.arange(90.0)[:, None])
    starts = Context(n_jobs).map_reduce(
        rows, lambda block, _: block.start, lambda a, b: [*a, b], []
    )
    assert starts == [0, 16, 32, 48, 64, 80]


def test_other_blocks_leave_the_original_alone():
    rows = open_rows(np.ones((10, 2)), block_rows=4)
    other = rows.reblocked(3)
    assert rows.block_rows == 4
    assert [block.size for block in other.blocks()] == [3, 3, 3, 1]


def test_collect_leaves_out_rows_of_weight_zero():
    X, y, weight = regression(50)
    whole = ChunkedRows(X, y, weight).collect()
    assert (weight == 0).any()
    assert np.array_equal(whole.X, X[weight > 0])
    assert np.array_equal(whole.y, y[weight > 0])


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_mapped_rows_have_features_for_columns(n_jobs):
    X, y, weight = regression(100, dtype=np.float32)
    rows = ChunkedRows(X, y, weight)
    mapped = rows.mapped(Doubled(3, np.float32))
    assert (mapped.n_features, mapped.dtype, mapped.n_rows) == (6, np.float32, 100)
    expected = np.hstack([X, -X])
    copies = Context(n_jobs).map_reduce(
        mapped, lambda b, _: b, lambda a, b: [*a, (b.X.copy(), b.y)], []
    )
    assert np.array_equal(np.vstack([features for features, _ in copies]), expected)
    assert np.array_equal(np.concatenate([target for _, target in copies]), y)
    assert np.array_equal(np.vstack([block.X for block in mapped.blocks()]), expected)


def test_targets_are_computed_block_by_block():
    X, y, weight = regression(100)
    rows = ChunkedRows(X, y, weight).with_targets(lambda y, w: (y[:, None] * 2, w + 1))
    whole = rows.mapped(Doubled(3, np.float64)).collect()
    assert np.array_equal(whole.y, 2 * y[:, None])
    assert np.array_equal(whole.weight, weight + 1)
    assert np.array_equal(whole.X, np.hstack([X, -X]))


def test_mapped_blocks_shrink_with_the_number_of_features():
    dtype = np.dtype(np.float32)
    rows = open_rows(np.ones((10, 1), dtype))
    wide = rows.mapped(Doubled(4096, dtype)).block_rows
    assert wide == block_rows_for(8192, dtype) < rows.block_rows
    assert rows.reblocked(3).mapped(Doubled(4096, dtype)).block_rows == 3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_are_powers_of_two_of_about_16_megabytes(dtype):
    dtype = np.dtype(dtype)
    sizes = {width: block_rows_for(width, dtype) for width in (1, 2500, 5000, 8000, 10**7)}
    assert all(size.bit_count() == 1 for size in sizes.values())
    assert (sizes[1], sizes[10**7]) == (2048, 256)
    for width in (2500, 5000, 8000):
        assert 2**23 <= sizes[width] * width * dtype.itemsize <= 2**24


NUMBERS = [[0], [99, 0, 50], [3, 3, 3], [17, 16, 15, 16], list(range(99, -1, -1)), [40] * 30]


@pairwise(numbers=NUMBERS, as_csr=[False, True], block_rows=[1, 16, 1000])
def test_rows_by_number_in_their_order(numbers, as_csr, block_rows):
    X, y, weight = regression(100)
    data = sparse.csr_matrix(X) if as_csr else X
    for source in (
        ChunkedRows(data, y, weight, block_rows=block_rows),
        open_rows(data, target=y, weight=weight, block_rows=block_rows),
    ):
        for form in (numbers, np.array(numbers), np.array(numbers, np.int32)):
            taken = source.take(form)
            assert np.array_equal(taken.X.toarray() if as_csr else taken.X, X[numbers])
            assert np.array_equal(taken.y, y[numbers])
            assert np.array_equal(taken.weight, weight[numbers])


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_mapped_rows_by_number(n_jobs):
    X, y, _ = regression(100)
    rows = ChunkedRows(X, y).mapped(Doubled(3, np.float64))
    taken = rows.take([70, 2, 2, 33], Context(n_jobs))
    assert np.array_equal(taken.X, np.hstack([X, -X])[[70, 2, 2, 33]])
    assert np.array_equal(taken.y, y[[70, 2, 2, 33]])


def test_taken_rows_are_read_in_one_pass(monkeypatch):
    rows, reads, chunks = ChunkedRows(regression(100)[0]), [], ChunkedRows.chunks
    monkeypatch.setattr(ChunkedRows, "chunks", lambda self: reads.append(self) or chunks(self))
    rows.take([99, 1, 40])
    assert reads == [rows]


@pytest.mark.parametrize("wrap", [ChunkedRows, open_rows])
def test_no_rows_may_be_taken(wrap):
    X = regression(20)[0]
    assert wrap(X).take(np.array([], int)).X.shape == (0, 3)


@pytest.mark.parametrize("sizes", CHUNKINGS)
@pytest.mark.parametrize("shape", [(100,), (100, 2)])
def test_targets_and_weights_of_all_rows(sizes, shape):
    X, _, weight = regression(100)
    y = np.arange(np.prod(shape)).reshape(shape)
    rows = ChunkedRows(X, y, weight, sizes=sizes)
    assert np.array_equal(rows.targets(), y)
    assert np.array_equal(rows.weights(), weight)
    assert rows.targets().dtype == y.dtype


def test_targets_may_be_strings():
    y = np.array(["a", "bcd", "ef"] * 20)
    assert np.array_equal(ChunkedRows(np.ones((60, 1)), y).targets(), y)


def test_rows_without_targets_and_weights():
    rows = ChunkedRows(np.ones((40, 1)))
    assert rows.targets() is None
    assert rows.weights() is None


def test_targets_and_weights_that_are_computed():
    X, y, weight = regression(100)
    rows = ChunkedRows(X, y, weight).with_targets(lambda y, w: (2 * y, w + 1))
    for source in (rows, rows.mapped(Doubled(3, np.float64))):
        assert np.array_equal(source.targets(), 2 * y)
        assert np.array_equal(source.weights(), weight + 1)
    assert rows.with_targets(lambda y, w: (y, None)).weights() is None


@pytest.mark.parametrize("bad", [np.nan, -1.0])
def test_weights_are_checked(bad):
    weight = np.ones(40)
    weight[33] = bad
    with pytest.raises(ValueError, match="weight"):
        ChunkedRows(np.ones((40, 1)), weight=weight).weights()


@pytest.mark.parametrize("shape", [(), (2,)])
def test_what_is_computed_of_each_row(shape):
    X = np.arange(80.0).reshape(40, 2)
    for rows in (open_rows(X, block_rows=7), ChunkedRows(X)):
        values = LOCAL.compute(
            rows, lambda block, _: 3 * block.X[:, 0] if not shape else 3 * block.X, shape, int
        )
        assert values.dtype == int
        assert np.array_equal(values, 3 * X[:, 0] if not shape else 3 * X)


class Signs:
    """A feature map of codes: which columns are positive."""

    dtype = np.dtype(np.float64)

    def __init__(self, d):
        none, starts = np.empty((0, d), np.uint8), 2 * np.arange(d)
        self.coded = Codes(none, starts, np.float64(0.5), 2 * d, first=1)
        self.width = 2 * d

    def map_codes(self, X, out):
        out[...] = X > 0

    def map_block(self, X, out):
        raise AssertionError("features that are codes are not computed as arrays")


def signs(X):
    """Return what `Signs` stands for."""
    Z = np.zeros((len(X), 2 * X.shape[1]))
    Z[:, 1::2] = 0.5 * (X > 0)
    return Z


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_mapped_rows_that_are_codes(n_jobs):
    X, y, _ = regression(100)
    rows = ChunkedRows(X, y).mapped(Signs(3))
    assert (rows.n_features, rows.dtype, rows.n_rows, rows.block_rows) == (6, np.float64, 100, 16)
    assert rows.coded.shape == (0, 6)
    # a block lives in a buffer until it is combined
    found = Context(n_jobs).map_reduce(
        rows, lambda b, _: b, lambda a, b: [*a, b.X.tocsr().toarray()], []
    )
    assert np.array_equal(np.vstack(found), signs(X))
    chunks = [block.X.tocsr().toarray() for block in list(rows.blocks())]
    assert np.array_equal(np.vstack(chunks), signs(X))


def test_codes_are_collected_taken_and_sampled_as_codes():
    X, y, weight = regression(100)
    rows = ChunkedRows(X, y, weight).mapped(Signs(3))
    assert np.array_equal(rows.collect().X.tocsr().toarray(), signs(X)[weight > 0])
    assert np.array_equal(rows.take([70, 2, 2]).X.tocsr().toarray(), signs(X)[[70, 2, 2]])
    for sample in (rows.sample(20, 0), rows.with_targets(lambda y, w: (2 * y, w)).sample(20, 0)):
        assert np.array_equal(sample.X.tocsr().toarray(), signs(X)[sample.indices])


def test_blocks_of_codes_do_not_shrink_with_the_number_of_features():
    rows = open_rows(np.ones((10, 4096)), block_rows=1000)
    assert rows.mapped(Signs(4096)).block_rows == 1000 > block_rows_for(8192, rows.dtype)


def test_codes_pass_through_targets_and_end_at_another_map():
    X, y, _ = regression(100)
    rows = ChunkedRows(X, y).mapped(Signs(3))
    assert rows.with_targets(lambda y, w: (y, w)).coded is rows.coded
    assert ChunkedRows(X, y).coded is None

    class Sums(Doubled):
        def map_block(self, X, out):
            out[...] = X @ np.ones((6, 2))

    mapped = rows.mapped(Sums(1, np.float64))
    assert mapped.coded is None
    expected = signs(X).sum(axis=1, keepdims=True) * np.ones(2)
    assert np.array_equal(mapped.collect().X, expected)


def test_maps_of_mapped_rows_have_buffers_of_their_own():
    class Doubled:
        width, dtype = 3, np.dtype(np.float64)

        def map_block(self, X, out):
            out[...] = 0
            out += 2 * X

    X = np.random.default_rng(0).normal(size=(50, 3))
    rows = open_rows(X, block_rows=8).mapped(Doubled()).mapped(Doubled())
    found = LOCAL.compute(rows, lambda block, _: block.X, (3,), np.float64)
    np.testing.assert_array_equal(found, 4 * X)


def test_views_are_freed_when_nobody_holds_them():
    # without the garbage collector: a cycle would keep the data of every prediction
    gc.disable()
    try:
        rows = open_rows(np.ones((10, 3)), target=np.ones(10))
        views = [rows.with_targets(lambda y, w: (y, w)), rows.mapped(Doubled(3, np.float64))]
        seen = [weakref.ref(view) for view in views]
        del views
        assert [ref() for ref in seen] == [None, None]
    finally:
        gc.enable()


def test_rows_that_change_between_two_calls_are_counted_again():
    source, model = ChunkedRows(np.ones((40, 2))), Nystroem(Linear(), budget=2)
    model.fit(source)
    assert model.transform(source).shape[0] == 40
    source._whole = source._whole[:30]
    assert model.transform(source).shape[0] == 30


def test_rows_that_change_during_a_pass_are_refused():
    rows = ChunkedRows(np.ones((40, 2)))
    assert rows.n_rows == 40
    rows._whole = rows._whole[:30]
    with pytest.raises(ValueError, match="found 30 rows after 40"):
        LOCAL.compute(rows, lambda block, _: block.X, (2,), np.float64)
