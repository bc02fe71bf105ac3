"""A broken selector is caught, and the message says which promise it breaks."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from skimp.budgets import Budget, Fixed, RowSelector, Selector, Uniform
from skimp.testing import check_selector


class Careless(Selector):
    """Uniform rows, up to a fault."""

    def __init__(self, fault=None):
        self.fault = fault

    def select_from(self, rows, size, kernel, rng, context):
        fault = self.fault
        if fault == "seed":
            rng = np.random.default_rng()
        if fault == "weights":
            rows = rows.with_targets(lambda y, weight: (y, None))
        budget = Uniform().select(rows, size + (fault == "size"), kernel, rng)
        return self._spoilt(budget, rows)

    def _spoilt(self, budget, rows):
        fault, m = self.fault, len(budget.indices)
        if fault == "parameters":
            self.fault = "changed"
        if fault == "one short" and m > 1:
            return Budget(budget.points[1:], budget.indices[1:])
        if fault == "twice" and m > 1:
            indices = np.append(budget.indices[1:], budget.indices[-1])
            return Budget(rows.take(indices).X, indices)
        if fault == "sparse" and sparse.issparse(budget.points):
            return replace(budget, points=1.01 * budget.points)
        if fault == "numbers in blocks":
            return replace(budget, indices=budget.indices % rows.block_rows)
        if fault == "labels":
            first = np.flatnonzero(rows.targets() == rows.targets()[0])
            indices = first[:m] if rows.block_rows == 7 else budget.indices
            return Budget(rows.take(indices).X, indices)
        wrong = {
            "order": {"indices": budget.indices[::-1]},
            "moved": {"points": budget.points + 1e-9 if fault == "moved" else None},
            "fewer indices": {"indices": budget.indices[:-1]},
            "weightless": {"weights": np.zeros(m)},
            "negative": {"weights": np.where(np.arange(m) == m - 1, -1.0, 1.0)},
            "few weights": {"weights": np.ones(m + 1)},
            "nothing": {"points": budget.points[:0], "indices": None},
        }
        return replace(budget, **wrong.get(fault, {}))


@pytest.mark.parametrize(
    ("fault", "promise"),
    [
        ("seed", "same seed"),
        ("weights", "rows of weight zero are not chosen"),
        ("size", "a budget has 1 to 1 points, found 2"),
        ("nothing", "a budget has 1 to 1 points, found 0"),
        ("one short", "20 distinct rows"),
        ("twice", "20 distinct rows"),
        ("fewer indices", "1 distinct rows"),
        ("order", "indices refer to the points"),
        ("moved", "indices refer to the points"),
        ("weightless", "every point has a positive weight"),
        ("negative", "every point has a positive weight"),
        ("few weights", "every point has a positive weight"),
        ("sparse", "the same seed chooses the same points"),
        ("numbers in blocks", "the same seed chooses the same rows"),
        ("labels", "the same seed chooses the same points"),
        ("parameters", "parameters do not change"),
    ],
)
def test_broken_selector(fault, promise):
    with pytest.raises(AssertionError, match=promise):
        check_selector(Careless(fault))


def test_selector_that_keeps_its_promises():
    selector = Careless()
    check_selector(selector)
    assert repr(selector) == repr(clone(selector)) == "Careless()"


class Repeating(Selector):
    """The rows in turn, from the first one again."""

    repeats = True

    def select_from(self, rows, size, kernel, rng, context):
        weight = rows.weights()
        present = np.arange(rows.n_rows) if weight is None else np.flatnonzero(weight)
        indices = np.resize(present, size)
        return Budget(rows.take(indices).X, indices)


class Limited(Repeating):
    repeats = False


def test_rows_may_be_chosen_twice_by_a_rule_that_says_so():
    check_selector(Repeating())
    with pytest.raises(AssertionError, match="a budget has 1 to 600 points, found 601"):
        check_selector(Limited())


class Stingy(Repeating):
    """No more points than there are rows, although it repeats."""

    def select_from(self, rows, size, kernel, rng, context):
        return super().select_from(rows, min(size, rows.n_rows), kernel, rng, context)


def test_a_rule_that_repeats_gives_as_many_points_as_asked_for():
    with pytest.raises(AssertionError, match="601 rows"):
        check_selector(Stingy())


class Centres(RowSelector):
    """Means of consecutive rows, up to a factor that depends on the blocks."""

    def __init__(self, fault=None):
        self.fault = fault

    def choose(self, rows, size, kernel, rng, context):
        X = rows.collect().X
        X = X.toarray() if sparse.issparse(X) else X
        points = np.array([part.mean(axis=0) for part in np.array_split(X, size)])
        return Budget(points * (rows.block_rows if self.fault == "blocks" else 1))


def test_points_that_are_no_rows():
    check_selector(Centres())
    with pytest.raises(AssertionError, match="the same seed chooses the same points"):
        check_selector(Centres("blocks"))


@pytest.mark.parametrize("size", [1, 7, 29])
def test_rows_and_sizes_of_the_users(size):
    X = np.random.default_rng(0).normal(size=(30, 2))
    check_selector(Uniform(), X, size=size)
    check_selector(Fixed(X[:5]), X, size=size)
    with pytest.raises(AssertionError, match="indices refer to the points"):
        check_selector(Careless("order"), X, size=max(size, 2))
