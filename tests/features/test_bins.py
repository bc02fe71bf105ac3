from collections import Counter

import numpy as np
import pytest

from skimp.data import ArrayRows, Context, Rows, open_rows
from skimp.features import _grids
from skimp.features._grids import Bins, Grids, _fullest
from tests.pairs import pairwise
from tests.sources import ChunkedRows


def grids(d=2, P=5, *, fineness=2.0, seed=0):
    rng = np.random.default_rng(seed)
    return Grids.draw(rng.gamma(2.0, size=(d, P)) / fineness, np.zeros((1, d)), rng)


def rows(n=80, d=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def numbers_by_hand(prints, most):
    """Return a dictionary for each grid: the fullest bins, numbered from 1 on by their prints."""
    numbers = []
    for column in prints.T.tolist():
        fullest = sorted(Counter(column).items(), key=lambda bin: (-bin[1], bin[0]))[:most]
        numbers.append({key: i + 1 for i, key in enumerate(sorted(key for key, _ in fullest))})
    return numbers


def codes_of(bins, prints):
    codes = np.full(prints.shape, 99, bins.layout(np.float64(1)).codes.dtype)
    bins.look_up(prints, codes)
    return codes


@pairwise(most=[1, 2, 7, 1000], fineness=[0.01, 2.0, 1e6], n=[1, 2, 80])
def test_codes_are_their_naive_twin(most, fineness, n):
    given, X = grids(fineness=fineness), rows(n)
    bins = Bins.find(given, open_rows(X), most)
    prints = given.prints(np.vstack([X, rows(50, seed=1)]))
    numbers = numbers_by_hand(prints[:n], most)
    expected = [[d.get(x, 0) for d, x in zip(numbers, row, strict=True)] for row in prints.tolist()]
    assert codes_of(bins, prints).tolist() == expected
    assert bins.counts.tolist() == [len(d) for d in numbers]


def test_prints_that_are_nowhere_near_the_known_ones():
    bins = Bins.find(grids(), open_rows(rows(300)), 1000)
    found = np.empty((2, 5), np.uint32)
    found[0], found[1] = 1, 2**32 - 1
    assert not np.isin(found, bins.known).any()
    assert not codes_of(bins, found).any()


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("wrap", [open_rows, ChunkedRows])
def test_any_source_and_any_threads(wrap, n_jobs):
    X = rows()
    expected = Bins.find(grids(), open_rows(X), 9)
    found = Bins.find(grids(), wrap(X), 9, Context(n_jobs))
    for name in ("known", "counts", "starts", "firsts", "shifts"):
        assert np.array_equal(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("waiting", "held"), [(1, 2**23), (100, 60), (2**22, 1)])
def test_parts_and_passes_change_nothing(monkeypatch, weighted, waiting, held):
    X = rows(80)
    weight = np.random.default_rng(1).random(80) if weighted else None
    given = ArrayRows(X, weight=weight, block_rows=16)
    expected = Bins.find(grids(), given, 4)
    monkeypatch.setattr(_grids, "WAITING", waiting)
    monkeypatch.setattr(_grids, "HELD", held)
    found = Bins.find(grids(), given, 4, Context(2))
    for name in ("known", "counts", "starts", "firsts", "shifts"):
        assert np.array_equal(getattr(found, name), getattr(expected, name))


def test_bins_are_found_in_one_pass():
    passes = []

    class Counted(Rows):
        """Rows that count how often they are read."""

        n_features, dtype, block_rows, _n_rows = 2, np.dtype(np.float64), 16, 80

        def read(self, block_rows):
            passes.append(1)
            return ChunkedRows(rows()).read(block_rows)

    Bins.find(grids(), Counted(), 9)
    assert len(passes) == 1


def test_rows_of_weight_zero_count_as_absent():
    X, weight = rows(), np.arange(80.0) % 2
    found = Bins.find(grids(), ArrayRows(X, weight=weight), 9)
    expected = Bins.find(grids(), ArrayRows(X[weight > 0]), 9)
    everything = Bins.find(grids(), ArrayRows(X), 9)
    assert np.array_equal(found.known, expected.known)
    assert not np.array_equal(found.known, everything.known)


def test_a_weight_is_as_many_rows():
    X, weight = rows(), np.arange(80) % 4
    found = Bins.find(grids(), ArrayRows(X, weight=weight.astype(float)), 9)
    assert np.array_equal(
        found.known, Bins.find(grids(), ArrayRows(X.repeat(weight, axis=0)), 9).known
    )
    assert not np.array_equal(found.known, Bins.find(grids(), ArrayRows(X[weight > 0]), 9).known)


@pytest.mark.parametrize(
    ("n", "most", "dtype"),
    [
        (255, 1000, np.uint8),
        (256, 1000, np.uint16),
        (300, 255, np.uint8),
        (300, 256, np.uint16),
        (65_535, 10**6, np.uint16),
        (65_536, 10**6, np.uint32),
        (65_536, 65_535, np.uint16),
    ],
)
def test_codes_are_of_the_smallest_dtype(n, most, dtype):
    given = Grids(np.full((1, 1), 1.0), np.full((1, 1), 0.5), np.zeros(1), np.array([1]))
    bins = Bins.find(given, ArrayRows(np.arange(float(n))[:, None]), most)
    assert bins.counts.tolist() == [min(n, most)]
    coded = bins.layout(np.float32(0.5))
    assert coded.codes.dtype == dtype
    codes = codes_of(bins, given.prints(np.arange(float(n))[:, None]))
    assert sorted(codes[codes > 0].tolist()) == list(range(1, min(n, most) + 1))
    assert np.count_nonzero(codes) == min(n, most)


def test_columns_are_those_of_the_bins_and_one_for_none():
    bins = Bins.find(grids(), open_rows(rows()), 9)
    coded = bins.layout(np.float32(0.5))
    sizes = [count + 1 for count in bins.counts.tolist()]
    assert coded.shape == (0, sum(sizes))
    assert coded.offsets.tolist() == [sum(sizes[:p]) for p in range(5)]
    assert (coded.value, coded.first, coded.dtype) == (0.5, 1, np.float32)


def test_of_equally_full_bins_those_with_the_smallest_prints():
    prints = np.array([9, 9, 4, 4, 7, 1, 1, 1, 5], np.uint32)
    bins = np.unique(prints, return_counts=True)
    assert _fullest(*bins, 2).tolist() == [1, 4]
    assert _fullest(*bins, 3).tolist() == [1, 4, 9]
    assert _fullest(*bins, 4).tolist() == [1, 4, 5, 9]
    assert _fullest(*bins, 5).tolist() == [1, 4, 5, 7, 9]
