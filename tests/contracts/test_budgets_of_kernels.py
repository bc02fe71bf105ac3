"""Every selector works with every kernel, or says in one sentence what kernel it needs."""

import numpy as np
import pytest
from sklearn.base import clone

from skimp import KernelClassifier
from skimp.budgets import (
    DBH,
    Agglomerative,
    Balanced,
    ColumnSubset,
    Fixed,
    KMeans,
    Leverage,
    RPCholesky,
    Uniform,
)
from skimp.data import ArrayRows, Context, open_rows
from skimp.features import Nystroem
from skimp.kernels import FunctionKernel, Gaussian, Linear, Precomputed, Tanh
from tests.catalog import KERNELS, SELECTORS, parts
from tests.words import shared_letters, words

N, SIZE = 30, 7
X = np.abs(np.random.default_rng(0).normal(size=(N, 5)))
LABELS = np.arange(N) % 3
NUMBERS = np.arange(N)[:, None]


def needs_vectors(selector):
    """Return whether a rule takes means of rows, or multiplies them."""
    if isinstance(selector, Balanced) and not isinstance(selector.selector, DBH):
        return selector.selector == "kmeans"
    if isinstance(selector, Agglomerative):
        return selector.linkage == "bisecting" or selector.points == "centres"
    if isinstance(selector, Uniform):
        return selector.stratify == "cluster"
    return isinstance(selector, KMeans) or getattr(selector, "hashing", None) == "floor"


def refusal(selector, kernel):
    """Return what the message of a refusal must say, None if there must be none."""
    if isinstance(selector, Fixed):
        return "points .*found 5" if isinstance(kernel, Precomputed) else None
    if kernel.takes_objects and needs_vectors(selector):
        return "kernel must be .*vectors"
    if not kernel.positive_definite and isinstance(selector, Leverage | RPCholesky):
        return "kernel must be positive definite"
    return None


def rows_of(kernel):
    return NUMBERS if isinstance(kernel, Precomputed) else X


def select(selector, kernel, rows, seed=1):
    return selector.select(rows, SIZE, kernel, np.random.default_rng(seed), LABELS)


def computes_values(selector):
    """Return whether a rule computes kernel values of all pairs of some rows."""
    inner = selector.selector if isinstance(selector, Balanced) else selector
    if getattr(inner, "hashing", None) == "floor" or getattr(inner, "linkage", None) == "bisecting":
        return False
    return isinstance(inner, Agglomerative | ColumnSubset | DBH | Leverage | RPCholesky)


CASES = [
    (selector, kernel)
    for turn, selector in enumerate(parts(SELECTORS))
    for place, kernel in enumerate(parts(KERNELS))
    if (place + turn) % (6 if computes_values(selector) else 24) == 0
    or isinstance(kernel, Precomputed | Tanh)
]


@pytest.mark.parametrize(("selector", "kernel"), CASES, ids=repr)
def test_works_or_says_what_it_needs(selector, kernel):
    rows, message = rows_of(kernel), refusal(selector, kernel)
    if message is not None:
        with pytest.raises(ValueError, match=message):
            select(selector, kernel, rows)
        return
    budget = select(selector, kernel, rows)
    assert np.isfinite(budget.points).all()
    if isinstance(selector, Fixed):
        return
    assert budget.points.shape == (SIZE, rows.shape[1])
    if budget.indices is not None:
        assert np.array_equal(budget.points, rows[budget.indices])
        assert selector.repeats or len(np.unique(budget.indices)) == SIZE


@pytest.mark.parametrize("kernel", [k for k in parts(KERNELS) if k.positive_definite], ids=repr)
def test_features_of_every_budget_are_finite(kernel):
    rows = rows_of(kernel)
    for selector in ("auto", "dbh", "column_subset", "rpcholesky"):
        feature_map = Nystroem(kernel, budget=SIZE, selector=selector, random_state=0)
        assert np.isfinite(feature_map.fit(rows, LABELS).transform(rows)).all()


@pytest.mark.parametrize("selector", parts(SELECTORS), ids=repr)
def test_words(selector):
    W, y = words(N)
    model = KernelClassifier(
        FunctionKernel(shared_letters),
        approximation=Nystroem(budget=SIZE, selector=clone(selector)),
        alpha=0.1,
        random_state=0,
    )
    if isinstance(selector, Fixed) or needs_vectors(selector):
        with pytest.raises(ValueError, match=r"kernel must be .*vectors|columns"):
            model.fit(W, y)
        return
    model.fit(W, y)
    assert np.isfinite(model.decision_function(W)).all()
    points = model.approximation_.budget_.points[:, 0]
    assert len(points) == SIZE
    assert set(points) <= set(W)


@pytest.mark.parametrize(
    "selector",
    [s for s in parts(SELECTORS) if not isinstance(s, Fixed) and not needs_vectors(s)],
    ids=repr,
)
def test_a_matrix_of_values_gives_the_rows_that_its_function_gives(selector):
    vectors, numbers = Linear(), Precomputed(X @ X.T)
    chosen = select(selector, numbers, NUMBERS)
    assert np.array_equal(chosen.points, NUMBERS[chosen.indices])
    expected = select(selector, vectors, X)
    if expected.indices is not None:
        np.testing.assert_array_equal(chosen.indices, expected.indices)


@pytest.mark.parametrize("selector", parts(SELECTORS), ids=repr)
def test_the_same_budget_for_any_number_of_threads(selector):
    wide = np.random.default_rng(3).normal(size=(90, 5))
    rows = open_rows(wide, target=np.arange(90) % 3, block_rows=7)
    budgets = [
        selector.select(
            rows, 20, Gaussian(gamma="median"), np.random.default_rng(1), context=Context(n_jobs)
        )
        for n_jobs in (1, 2, 4)
    ]
    for budget in budgets[1:]:
        np.testing.assert_array_equal(budget.points, budgets[0].points)
        np.testing.assert_array_equal(budget.indices, budgets[0].indices)


@pytest.mark.parametrize("selector", parts(SELECTORS), ids=repr)
def test_objects_as_rows(selector):
    W, y = words(N)
    rows = ArrayRows(np.array(W, dtype=object)[:, None], y)
    kernel = FunctionKernel(shared_letters)
    if isinstance(selector, Fixed):
        selector = Fixed(W[:SIZE])
    if needs_vectors(selector):
        with pytest.raises(ValueError, match=r"kernel must be .*vectors"):
            selector.select(rows, SIZE, kernel, np.random.default_rng(1))
        return
    budget = selector.select(rows, SIZE, kernel, np.random.default_rng(1))
    assert budget.points.shape == (SIZE, 1)
    assert budget.points.dtype == object
