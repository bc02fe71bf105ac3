import re
from dataclasses import FrozenInstanceError
from typing import final

import numpy as np
import pytest

from skimp.budgets import (
    Budget,
    Fixed,
    KMeans,
    RowSelector,
    RPCholesky,
    Uniform,
    Weighted,
    as_selector,
)
from skimp.data import open_rows
from skimp.kernels import Gaussian, Linear
from tests.pairs import in_turn
from tests.problems import regression
from tests.sources import ChunkedRows
from tests.strategies import BAD


@final
class Last(RowSelector):
    """Chooses the last rows, and remembers what it was asked."""

    def __init__(self, repeating=False):
        self.repeating = repeating

    @property
    def repeats(self):
        return self.repeating

    def choose(self, rows, size, kernel, rng, context):
        self.asked = rows.n_rows, size, kernel
        indices = np.arange(rows.n_rows)[-size:]
        return Budget(rows.take(indices).X, indices)


@final
class Mean(RowSelector):
    """Chooses a point that is not a row."""

    def choose(self, rows, size, kernel, rng, context):
        return Budget(np.mean(rows.collect().X, axis=0, keepdims=True))


def select(selector, X, size=4, kernel=None, **options):
    kernel = Linear() if kernel is None else kernel
    return selector.select(X, size, kernel, np.random.default_rng(0), **options)


def test_names_and_objects():
    assert isinstance(as_selector("uniform", owner="Nystroem"), Uniform)
    selector = Fixed(np.ones((2, 2)))
    assert as_selector(selector, owner="Nystroem") is selector


@pytest.mark.parametrize("selector", ["kmeans++", None, Uniform, 3])
def test_what_is_no_selector(selector):
    first, last = "Nystroem: selector must be a selector object or one of 'auto', ", selector
    with pytest.raises(ValueError, match=re.escape(first) + f".*got {re.escape(repr(last))}"):
        as_selector(selector, owner="Nystroem")


def test_a_budget_is_frozen_and_needs_points_only():
    budget = Budget(np.ones((2, 2)))
    assert budget.indices is None
    assert budget.weights is None
    with pytest.raises(FrozenInstanceError):
        budget.indices = np.arange(2)


@pytest.mark.parametrize("selector", [Uniform(), Weighted(), KMeans(), RPCholesky()], ids=repr)
def test_a_seed_stands_for_its_generator(selector):
    X = regression(50)[0]
    by_seed, by_generator = (
        selector.select(X, 4, Linear(), rng).points for rng in (3, np.random.default_rng(3))
    )
    assert np.array_equal(by_seed, by_generator)
    assert selector.select(X, 4, Linear(), None).points.shape == (4, 3)


def test_a_rule_looks_at_no_targets_and_repeats_no_row_unless_it_says_so():
    assert not Mean().needs_targets
    assert not Mean().repeats


@pytest.mark.parametrize("wrap", [open_rows, ChunkedRows])
def test_the_rule_sees_rows_that_count_and_their_numbers_are_those_of_the_data(wrap):
    X, y, weight = regression(50)
    selector = Last()
    budget = select(selector, wrap(X, **_named(wrap, y, weight)))
    assert selector.asked[:2] == (np.count_nonzero(weight), 4)
    assert budget.indices.tolist() == np.flatnonzero(weight)[-4:].tolist()
    assert np.array_equal(budget.points, X[budget.indices])


def _named(wrap, y, weight):
    return {"target": y, "weight": weight} if wrap is open_rows else {"y": y, "weight": weight}


def test_weights_that_are_all_positive_leave_the_numbers_alone():
    X = regression(20)[0]
    budget = select(Last(), open_rows(X, weight=np.full(20, 1e-300)))
    assert budget.indices.tolist() == [16, 17, 18, 19]


def test_points_that_are_no_rows_have_no_numbers():
    X, _, weight = regression(20)
    budget = select(Mean(), open_rows(X, weight=weight))
    assert budget.indices is None
    np.testing.assert_allclose(budget.points[0], X[weight > 0].mean(axis=0))


@pytest.mark.parametrize("size", [6, 7, 2**70])
def test_all_rows_are_taken_in_order_where_there_are_no_more(size):
    X = regression(10)[0]
    weight = np.array([0, 1, 1, 0, 1, 1, 1, 0, 1, 0.0])
    selector = Last()
    budget = select(selector, open_rows(X, weight=weight), size)
    assert budget.indices.tolist() == [1, 2, 4, 5, 6, 8]
    assert np.array_equal(budget.points, X[budget.indices])
    assert not hasattr(selector, "asked")


def test_a_rule_that_repeats_rows_is_asked_for_more_than_there_are():
    selector = Last(repeating=True)
    select(selector, regression(10)[0], 30)
    assert selector.asked[:2] == (10, 30)


def test_the_kernel_has_numbers_and_may_be_named():
    X = regression(30)[0]
    for kernel in ("gaussian", Gaussian(gamma="scale")):
        selector = Last()
        select(selector, X, kernel=kernel)
        assert selector.asked[2].gamma == pytest.approx(1 / (3 * X.var()))


@pytest.mark.parametrize("size", [0, -1, 2.0, True, "3", None, np.nan])
def test_the_size_must_be_a_positive_integer(size):
    message = f"Last: size must be an integer >= 1, got {size!r}."
    with pytest.raises(ValueError, match=re.escape(message)):
        select(Last(), np.ones((5, 2)), size)


def test_the_kernel_must_be_one():
    with pytest.raises(ValueError, match=r"Last: kernel must be a kernel object or one of .*got 3"):
        select(Last(), np.ones((5, 2)), kernel=3)


@in_turn(size=[2, 1000], bad=BAD)
def test_bad_rows_are_refused(bad, size):
    X, message = BAD[bad]
    with pytest.raises((ValueError, TypeError), match=message):
        select(Last(), X, size)


@pytest.mark.parametrize("size", [2, 1000])
def test_rows_of_a_source_are_checked_as_they_are_read(size):
    X, weight = np.ones((30, 2)), np.ones(30)
    X[20, 1], weight[7] = np.nan, -1
    with pytest.raises(ValueError, match="X contains NaN"):
        select(Last(), ChunkedRows(X), size)
    with pytest.raises(ValueError, match="weight must not be negative"):
        select(Last(), ChunkedRows(np.ones((30, 2)), weight=weight), size)


@pytest.mark.parametrize("size", [2, 1000])
@pytest.mark.parametrize("n_rows", [0, 30])
def test_there_must_be_a_row_that_counts(n_rows, size):
    rows = ChunkedRows(np.ones((n_rows, 2)), weight=np.zeros(n_rows))
    with pytest.raises(ValueError, match="at least one row of positive weight, found none"):
        select(Last(), rows, size, Gaussian())


def test_targets_must_fit_the_rows():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        select(Last(), np.ones((5, 2)), y=np.ones(4))
    with pytest.raises(ValueError, match="one entry for each of the 5 rows, found 4"):
        select(Last(), open_rows(np.ones((5, 2))), y=np.ones(4))
