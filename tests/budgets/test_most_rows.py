"""Selectors that store numbers per row choose from a random part of very many rows."""

import numpy as np
import pytest

from skimp.budgets import DBH, Leverage, Uniform
from skimp.kernels import Gaussian
from tests.problems import labelled
from tests.sources import ChunkedRows

X, Y, WEIGHT = labelled(n=3000)
SELECTORS = [DBH(), Leverage(), Uniform(replacement=True), Uniform(stratify="class")]


@pytest.mark.parametrize("selector", SELECTORS, ids=repr)
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["all", "weighted"])
def test_a_part_of_the_rows(selector, weight, monkeypatch):
    monkeypatch.setattr(type(selector), "most_rows", 600)
    seen = []
    original = type(selector).choose

    def choose(self, rows, *args):
        seen.append(rows.n_rows)
        return original(self, rows, *args)

    monkeypatch.setattr(type(selector), "choose", choose)
    rows = ChunkedRows(X, Y, weight, block_rows=128)
    budget = selector.select(rows, 20, Gaussian(0.1), np.random.default_rng(0))
    assert 500 < seen[0] < 700
    np.testing.assert_array_equal(X[budget.indices], budget.points)
    assert weight is None or weight[budget.indices].all()
    assert budget.indices.max() > 2000


def test_many_points_are_chosen_from_more_rows(monkeypatch):
    monkeypatch.setattr(DBH, "most_rows", 600)
    budgets = [
        DBH().select(X, 200, Gaussian(0.1), np.random.default_rng(0)).indices for _ in range(2)
    ]
    monkeypatch.setattr(DBH, "most_rows", None)
    expected = DBH().select(X, 200, Gaussian(0.1), np.random.default_rng(0)).indices
    np.testing.assert_array_equal(budgets[0], budgets[1])
    np.testing.assert_array_equal(budgets[0], expected)
