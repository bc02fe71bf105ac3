"""Copies of rows among more rows than are compared at once."""

import numpy as np
import pytest

from skimp import KRLS
from skimp._params._errors import MemoryLimitError
from skimp.choice import given_again
from skimp.data import LOCAL
from skimp.effects import _models
from skimp.effects._copies import look_for_copies
from tests.problems import regression
from tests.sources import ChunkedRows

X, Y, _ = regression(n=1000)
TWICE = np.random.default_rng(0).permutation(np.repeat(np.arange(500), 2))


def rows_of(numbers, targets=Y):
    return ChunkedRows(X[numbers], targets[numbers])


@pytest.mark.parametrize("most", [50, 400, 10_000])
def test_copies_are_found(most):
    assert look_for_copies(rows_of(TWICE), most, LOCAL)
    assert not look_for_copies(rows_of(np.arange(1000)), most, LOCAL)


@pytest.mark.parametrize("most", [50, 400, 10_000])
def test_levels_are_not_copies(most):
    levels = np.round(X, 0)
    rows = ChunkedRows(levels, Y)
    assert not given_again(1000, 1000, 100)
    assert not look_for_copies(rows, most, LOCAL)
    assert not look_for_copies(ChunkedRows(np.zeros((1000, 1)), Y), most, LOCAL)


@pytest.mark.parametrize("numbers", [TWICE, np.arange(1000)], ids=["twice", "once"])
def test_choice_is_the_same_for_many_rows(numbers, monkeypatch):
    model = KRLS(approximation=40, random_state=0)
    expected = model.fit(rows_of(numbers)).alpha_
    monkeypatch.setattr(_models, "_KEYED", 100)
    assert model.fit(rows_of(numbers)).alpha_ == expected


def test_copies_above_the_memory_limit_are_refused(monkeypatch):
    monkeypatch.setattr(_models, "_KEYED", 100)
    monkeypatch.setattr(_models, "kept_bytes", lambda _: 10**9)
    small = KRLS(approximation=10, memory_limit=60_000, random_state=0)
    with pytest.raises(MemoryLimitError, match=r"copies of 1,000 rows .* 'gcv'"):
        small.fit(rows_of(TWICE))
    small.fit(rows_of(np.arange(1000)))
