"""Rows that a condition selects: those that a mask of all rows would select."""

import numpy as np
import pytest

from skimp.data import FilteredRows, open_rows, pieces, split_rows, weighted_rows
from skimp.data._rows import AttachedRows
from tests.problems import regression
from tests.sources import ChunkedRows

X, Y, WEIGHT = regression(n=500)
KEPT = np.flatnonzero(Y > 2)


def above(block):
    """Return which rows have a target above 2."""
    return np.asarray(block.y).ravel() > 2


SOURCES = [
    open_rows(X, target=Y, weight=WEIGHT),
    open_rows(X, target=Y, weight=WEIGHT, block_rows=7),
    ChunkedRows(X, Y, WEIGHT),
    ChunkedRows(X, Y, WEIGHT).with_targets(lambda y, weight: (y, weight)),
]


@pytest.mark.parametrize("source", SOURCES)
def test_rows_are_those_of_the_mask(source):
    part = FilteredRows(source, above)
    expected = open_rows(X[KEPT], weight=WEIGHT[KEPT])
    assert part.n_rows == len(KEPT)
    blocks = list(part.blocks())
    np.testing.assert_array_equal(np.concatenate([b.X for b in blocks]), X[KEPT])
    np.testing.assert_array_equal(np.concatenate([b.weight for b in blocks]), WEIGHT[KEPT])
    assert [b.start for b in blocks] == [source.block_rows * i for i in range(len(blocks))]
    numbers = [5, 0, len(KEPT) - 1, 5, 17]
    np.testing.assert_array_equal(part.take(numbers).X, X[KEPT[numbers]])
    np.testing.assert_array_equal(part.origin(numbers), KEPT[numbers])
    np.testing.assert_array_equal(part.sample(20, 3).X, expected.sample(20, 3).X)


@pytest.mark.parametrize("source", SOURCES)
def test_rows_of_positive_weight(source):
    present = np.flatnonzero(WEIGHT)
    part = weighted_rows(source)
    assert part.known_n_rows == source.count_weighted() == len(present)
    np.testing.assert_array_equal(part.collect().y, Y[present])
    np.testing.assert_array_equal(part.origin(np.arange(len(present))), present)


@pytest.mark.parametrize("weight", [None, np.ones(500)])
def test_all_rows_have_weight(weight):
    rows = ChunkedRows(X, Y, weight)
    assert rows.count_weighted() == 500
    assert weighted_rows(rows) is None


def test_origin_of_a_split():
    for source in SOURCES:
        for part in split_rows(source, 0.3, seed=1):
            numbers = [3, 3, part.n_rows - 1, 0]
            found = part.origin(numbers)
            np.testing.assert_array_equal(part.take(numbers).X, X[found])
            np.testing.assert_array_equal(part.reblocked(500).take([3]).X, X[found[:1]])


def test_attached_targets_belong_to_their_rows():
    attached = AttachedRows(ChunkedRows(X), X[:, 0], WEIGHT)
    parts = [*split_rows(attached, 0.3, seed=1), FilteredRows(attached, lambda b: b.X[:, 1] > 0)]
    parts += [weighted_rows(attached), *(piece for piece, _, _ in pieces(attached, 10**6))]
    for part in parts:
        block = part.collect()
        assert 0 < block.size < 500
        np.testing.assert_array_equal(block.y, block.X[:, 0])


def test_conditions_on_conditions():
    part = FilteredRows(FilteredRows(ChunkedRows(X, Y), above), lambda b: b.X[:, 0] > 0)
    np.testing.assert_array_equal(part.collect().X, X[(Y > 2) & (X[:, 0] > 0)])


def test_condition_that_no_row_meets():
    part = FilteredRows(ChunkedRows(X, Y), lambda block: np.zeros(block.size, bool))
    assert part.n_rows == 0
    assert list(part.blocks()) == []
