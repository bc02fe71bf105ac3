import os
import shutil
import tempfile
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest

from skimp.data import LOCAL, Codes, Context, SpilledRows, hold_rows, keep_rows, kept_bytes
from tests.duals import Identity
from tests.problems import regression
from tests.sources import ChunkedRows


class Signs:
    """A feature map of codes that counts the blocks it computes."""

    dtype, width = np.dtype(np.float32), 6
    coded = Codes(np.empty((0, 3), np.uint16), np.array([0, 2, 4]), np.float32(0.5), 6, first=1)

    def __init__(self):
        self.n_blocks = 0

    def map_codes(self, X, out):
        out[...] = X > 0
        self.n_blocks += 1


def source(n=50, *, weighted=True, columns=1):
    X, y, weight = regression(n)
    y = y if columns == 1 else np.column_stack([y, -y])
    return ChunkedRows(X, y, weight if weighted else None).mapped(Signs())


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("columns", [1, 2])
def test_blocks_are_those_of_kept_rows(n_jobs, weighted, columns):
    rows = source(weighted=weighted, columns=columns)
    kept, spilled = keep_rows(rows), SpilledRows(rows, Context(n_jobs))
    assert (spilled.n_rows, spilled.n_features, spilled.dtype) == (50, 6, np.float32)
    assert not spilled.stored
    assert not spilled.in_memory
    for size in (16, 7, 64):
        pairs = zip(spilled.reblocked(size).blocks(), kept.reblocked(size).blocks(), strict=True)
        for mine, other in pairs:
            assert mine.start == other.start
            assert mine.X.layout[1:] == other.X.layout[1:]
            assert np.array_equal(mine.X.codes, other.X.codes)
            assert mine.X.codes.dtype == np.uint16
            assert np.array_equal(mine.y, other.y)
            assert (mine.weight is None) == (not weighted)
            assert not weighted or np.array_equal(mine.weight, other.weight)
    assert np.array_equal(spilled.take(np.array([3, 44, 3])).y, kept.take(np.array([3, 44, 3])).y)
    assert np.array_equal(spilled.sample(9, 0).indices, rows.sample(9, 0).indices)


@pytest.mark.parametrize("form", [keep_rows, SpilledRows])
def test_blocks_in_random_order(form):
    rows = form(source(weighted=False)).mapped(Doubled())
    assert rows.seekable
    assert not source().seekable
    orders = [[b.start for b in rows.shuffled([seed]).reblocked(7).blocks()] for seed in (0, 0, 1)]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2]) == list(range(0, 50, 7))
    for block in rows.shuffled([0]).reblocked(7).blocks():
        part = slice(block.start, block.start + 7)
        assert np.array_equal(block.y, rows.collect().y[part])
        assert np.array_equal(block.X, rows.collect().X[part])
    assert [block.start for block in source().shuffled([0]).blocks()] == [0, 16, 32, 48]


class Doubled:
    """A dense map of coded rows."""

    width, dtype = 6, np.dtype(np.float32)

    def map_block(self, X, out):
        out[...] = 2 * X.tocsr().toarray()


def test_codes_are_computed_once():
    signs, (X, y, _) = Signs(), regression(50)
    spilled = SpilledRows(ChunkedRows(X, y).mapped(signs))
    computed = signs.n_blocks
    for _ in range(3):
        assert LOCAL.map_reduce(spilled, lambda block, _: block.size, lambda a, b: a + b, 0) == 50
    assert signs.n_blocks == computed


def test_rows_without_targets():
    X, _, _ = regression(50)
    assert SpilledRows(ChunkedRows(X).mapped(Signs())).collect().y is None


def test_what_is_held_where():
    X, y, _ = regression(50)
    coded, dense = source(), ChunkedRows(X, y).mapped(Identity(3))
    for rows, notes in ((coded, "codes kept in a temporary file"), (dense, "recomputed")):
        enough = kept_bytes(rows)
        kept, short = hold_rows(rows, enough, LOCAL), hold_rows(rows, enough - 1, LOCAL)
        assert kept.in_memory
        assert kept.rows.stored
        assert kept.note == ""
        assert not short.in_memory
        assert notes in short.note
        assert short.rows.n_rows == 50
    assert hold_rows(keep_rows(coded), 0, LOCAL).in_memory
    stored = hold_rows(keep_rows(coded), -1, LOCAL)
    assert (stored.in_memory, stored.note) == (False, "")


def test_a_full_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    # two bytes for each of three codes, and two float64
    for free in (50 * 22 - 1, 50 * 22):
        monkeypatch.setattr(
            shutil, "disk_usage", lambda path, free=free: SimpleNamespace(free=free)
        )
        if free == 50 * 22:
            SpilledRows(source())
            continue
        with pytest.raises(OSError, match=r"1\.1 KB does not fit .*TMPDIR"):
            SpilledRows(source())
    assert not os.listdir(tmp_path)


class Broken:
    """A source that fails after some rows."""

    dtype, width, coded = Signs.dtype, 6, Signs.coded

    def map_codes(self, X, out):
        if X[-1, 0] == 0:
            raise ValueError("broken")
        out[...] = 0


def test_nothing_is_left_after_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    X, y, _ = regression(50)
    X[-1] = 0
    with pytest.raises(ValueError, match="broken"):
        SpilledRows(ChunkedRows(X, y).mapped(Broken()))
    assert not os.listdir(tmp_path)


def test_rows_that_change():
    rows = source()
    rows.remember_n_rows(51)
    with pytest.raises(ValueError, match="found 50 rows after 51"):
        SpilledRows(rows)


def test_memory_does_not_grow_with_the_rows():
    peaks = []
    for n in (4_000, 32_000):
        rows = source(n)
        n_rows = rows.n_rows
        tracemalloc.start()
        spilled = SpilledRows(rows, Context(n_jobs=1))
        assert sum(block.size for block in spilled.blocks()) == n_rows
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]
