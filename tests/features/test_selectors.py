"""Nystroem features with points by every rule."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skimp.budgets import (
    DBH,
    Agglomerative,
    Balanced,
    KMeans,
    RPCholesky,
    Uniform,
    Weighted,
    as_selector,
)
from skimp.data import open_rows
from skimp.features import Nystroem
from skimp.kernels import Chi2, Gaussian, Laplacian, Linear
from tests.catalog import SELECTOR_NAMES
from tests.problems import labelled, regression
from tests.reference import naive

KERNEL = Laplacian(0.5)

every_name = pytest.mark.parametrize("selector", SELECTOR_NAMES)


def problem(n=150):
    X, codes, _ = labelled(n)
    return X, np.array(["low", "middle", "high"])[codes]


def nystroem(selector="auto", kernel=KERNEL, **params):
    return Nystroem(kernel, selector=selector, **{"budget": 20, "random_state": 0, **params})


@every_name
@pytest.mark.parametrize("rank", [None, 5])
def test_features_are_those_of_the_points(selector, rank):
    X, y = problem()
    fitted = nystroem(selector, rank=rank).fit(X, y)
    Z, budget = fitted.transform(X), fitted.budget_
    K = KERNEL(X, budget.points)
    expected = naive.nystroem(K, KERNEL(budget.points), K.T, rank=rank, weights=budget.weights)
    np.testing.assert_allclose(Z @ Z.T, expected, atol=1e-8)
    assert budget.points.shape == (20, 3)


@every_name
def test_a_name_is_its_object(selector):
    X, y = problem()
    found, expected = (
        nystroem(given).fit(X, y).budget_
        for given in (selector, as_selector(selector, owner="test"))
    )
    assert np.array_equal(found.points, expected.points)
    assert np.array_equal(found.indices, expected.indices)


def test_classes_are_balanced_on_request():
    X = regression(200)[0]
    y = np.repeat(["rare", "usual", "frequent"], [10, 40, 150])
    for given in (y, y.tolist(), pd.Series(y), y[:, None], np.unique(y, return_inverse=True)[1]):
        fitted = nystroem("balanced", budget=24).fit(X, given)
        labels, counts = np.unique(y[fitted.budget_.indices], return_counts=True)
        assert dict(zip(labels, counts, strict=True)) == {"rare": 8, "usual": 8, "frequent": 8}


def test_labels_reach_the_selector_in_a_pipeline():
    X, y = problem(200)
    pipeline = make_pipeline(nystroem("balanced", budget=30), LogisticRegression(max_iter=1000))
    fitted = pipeline.fit(X, y)
    counts = np.unique(y[fitted[0].budget_.indices], return_counts=True)[1]
    assert counts.tolist() == [10, 10, 10]
    alone = nystroem("balanced", budget=30).fit_transform(X, y)
    assert np.array_equal(fitted[0].transform(X), alone)


def test_grid_search_over_selectors_of_a_step():
    X, y = problem(120)
    pipeline = make_pipeline(nystroem(), LogisticRegression(max_iter=1000))
    grid = {"nystroem__selector": ["uniform", "balanced", KMeans(), DBH(members=3)]}
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_parameters_of_selectors_are_reached():
    model = nystroem(Balanced(DBH()))
    model.set_params(selector__selector__members=3)
    assert model.selector.selector.members == 3
    X, y = problem()
    expected = nystroem(Balanced(DBH(members=3))).fit(X, y)
    assert np.array_equal(model.fit(X, y).budget_.indices, expected.budget_.indices)


@pytest.mark.parametrize("selector", [Balanced(), Uniform(stratify="class")], ids=repr)
def test_rules_for_classes_need_classes(selector):
    X, y, _ = regression(60)
    owner = type(selector).__name__
    for fit, found in (
        (lambda: nystroem(selector).fit(X), "y must .*found None"),
        (lambda: nystroem(selector).fit(open_rows(X)), "y must .*found None"),
        (lambda: nystroem(selector).fit(X, y), "y must .*found continuous"),
        (lambda: nystroem(selector).fit(X, np.eye(60)[:, :3]), "y must hold one class label"),
    ):
        with pytest.raises(ValueError, match=f"{owner}: {found}"):
            fit()


@pytest.mark.parametrize("selector", [s for s in SELECTOR_NAMES if s not in ("auto", "balanced")])
def test_rules_that_do_not_look_at_targets_ignore_them(selector):
    X = regression(60)[0]
    expected = nystroem(selector).fit(X).budget_.points
    for y in (np.arange(60) % 2, ["not", "a", "label", "each"], np.full(60, np.nan)):
        assert np.array_equal(nystroem(selector).fit(X, y).budget_.points, expected)


@pytest.mark.parametrize(
    ("bad", "message"), [(np.ones(5), "inconsistent"), (np.full(60, np.nan), "NaN")]
)
def test_targets_are_checked_where_they_matter(bad, message):
    X = regression(60)[0]
    with pytest.raises(ValueError, match=message):
        nystroem("balanced").fit(X, bad)


def test_the_default_looks_for_classes():
    X, y = problem()
    labelled_points = nystroem().fit(X, y).budget_
    assert labelled_points.indices is None
    expected = Balanced(KMeans())
    assert labelled_points.points.shape == nystroem(expected).fit(X, y).budget_.points.shape
    uniform = nystroem("uniform").fit(X).budget_
    for targets in (None, X[:, 0], X[:, :2], np.arange(150)):
        budget = nystroem().fit(X, targets).budget_
        assert np.array_equal(budget.indices, uniform.indices)
        assert np.array_equal(budget.points, uniform.points)


def test_the_default_for_rows_that_are_wide_or_few():
    X, y = problem()
    wide = np.tile(X, 1400)
    assert nystroem(kernel=Linear()).fit(wide, y).budget_.indices is not None
    assert nystroem(budget=2).fit(X, y).budget_.indices is not None
    assert nystroem(budget=3).fit(X, y).budget_.indices is None
    assert np.array_equal(nystroem(budget=150).fit(X, y).budget_.indices, np.arange(150))


@pytest.mark.parametrize("selector", ["auto", "kmeans", Agglomerative(points="centres")])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_centres_of_rows_that_are_not_negative_are_not(selector, dtype):
    rng = np.random.default_rng(0)
    X = (rng.exponential(size=(300, 8)) * (rng.random((300, 8)) < 0.1)).astype(dtype)
    fitted = nystroem(selector, Chi2(1.0)).fit(X, np.arange(300) % 3)
    assert fitted.budget_.points.min() >= 0
    assert np.isfinite(fitted.transform(X)).all()


@pytest.mark.parametrize("tol", [1e-3, 0.1, 0.9])
def test_points_up_to_a_share_of_the_trace(tol):
    X = regression(150)[0]
    fitted = nystroem(RPCholesky(tol=tol), Gaussian(0.1), budget=100).fit(X)
    missed = 1 - (fitted.transform(X) ** 2).sum(axis=1).mean()
    assert missed <= tol * (1 + 1e-9)
    assert 1 <= len(fitted.budget_.points) < 100


def test_more_points_than_rows():
    X = regression(30)[0]
    fitted = nystroem("weighted", budget=90).fit(X)
    assert len(fitted.budget_.points) == 90
    assert fitted.width == len(np.unique(fitted.budget_.indices)) <= 30


def test_probabilities_are_one_a_row():
    X = regression(60)[0]
    p = np.arange(60) % 2
    assert nystroem(Weighted(p)).fit(X).budget_.indices.min() >= 1
    with pytest.raises(ValueError, match="Weighted: probabilities must be 50 nonnegative numbers"):
        nystroem(Weighted(p)).fit(X[:50])
