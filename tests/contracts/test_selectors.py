import numpy as np
import pytest

from skimp import budgets
from skimp.data import open_rows
from skimp.kernels import Gaussian
from skimp.testing import check_selector
from tests.catalog import SELECTORS, parts
from tests.pairs import in_turn
from tests.sources import ChunkedRows


@pytest.mark.parametrize(("selector", "options"), SELECTORS)
def test_selector(selector, options):
    check_selector(selector, **options)


@in_turn(sizes=[(1,), (3, 0, 1, 17, 0, 5), (0, 150)], selector=parts(SELECTORS))
def test_same_budget_from_any_chunks(selector, sizes):
    X = np.random.default_rng(0).normal(size=(100, 5))
    y = np.arange(100) % 3
    budgets = [
        selector.select(source, 9, Gaussian(gamma=0.1), np.random.default_rng(1))
        for source in (open_rows(X, target=y), ChunkedRows(X, y, sizes=sizes))
    ]
    np.testing.assert_array_equal(budgets[0].points, budgets[1].points)
    np.testing.assert_array_equal(budgets[0].indices, budgets[1].indices)


def test_every_selector_has_a_row():
    public = {
        n
        for n in budgets.__all__
        if n not in {"Budget", "RowSelector", "Selector"} and n[0].isupper()
    }
    assert public == {type(selector).__name__ for selector in parts(SELECTORS)}
