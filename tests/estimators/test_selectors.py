"""Models with landmarks by every rule."""

import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import cross_val_score

from skimp.budgets import DBH, Agglomerative, Balanced, KMeans, Uniform, Weighted
from skimp.features import Landmarks, Nystroem
from skimp.kernels import AdditiveChi2, Chi2, FunctionKernel, Gaussian
from tests.models import ALPHA, classifier, regressor
from tests.problems import difference, labelled, regression
from tests.reference import naive

OBJECTS = [
    Uniform(stratify="cluster"),
    Uniform(stratify="class"),
    Balanced("kmeans"),
    DBH(hashing="interval"),
    KMeans(points="rows"),
    Agglomerative(linkage="bisecting", points="centres"),
]
SELECTORS = ["auto", "leverage", *OBJECTS]
KERNEL = Gaussian(2.0)
OF_CLASSES = ["balanced", Uniform(stratify="class"), Balanced("kmeans")]

every_selector = pytest.mark.parametrize("selector", SELECTORS, ids=repr)


def chosen_by(selector, budget=30, **params):
    return Nystroem(budget=budget, selector=selector, **params)


def problem(n=150, dtype=np.float64):
    X, codes, weight = labelled(n, dtype=dtype)
    return X, np.array(["low", "middle", "high"])[codes], weight


def is_of_classes(selector):
    return repr(selector) in map(repr, OF_CLASSES)


@every_selector
def test_a_regressor_is_ridge_in_the_chosen_points(selector):
    X, y, weight = regression(150)
    y = np.round(y) if is_of_classes(selector) else y
    model = regressor(chosen_by(selector, 12), KERNEL).fit(X, y, weight)
    B = model.approximation_.landmarks_.points
    K = naive.gaussian(X, B, 2.0)
    coef, intercept = naive.ridge(
        K, y[:, None], alpha=ALPHA, weight=weight, penalty=naive.gaussian(B, B, 2.0)
    )
    assert difference(model.predict(X), (K @ coef + intercept)[:, 0]) <= 1e-6
    assert len(model.approximation_.budget_.points) == 12


@pytest.mark.parametrize("selector", ["kmeans", "balanced"])
def test_a_warm_start_keeps_the_landmarks(selector):
    X, y, _ = problem()
    model = classifier(chosen_by(selector), warm_start=True).fit(X, y)
    points, steps = model.approximation_.budget_.points, model.n_iter_
    again = model.fit(X, y)
    assert again.approximation_.budget_.points is points
    assert again.n_iter_ < steps
    changed = model.set_params(approximation__selector=DBH(members=2)).fit(X, y)
    assert changed.approximation_.budget_.points is not points


def test_balanced_landmarks_of_rare_classes():
    X = regression(200)[0]
    y = np.repeat(["rare", "usual"], [12, 188])
    model = classifier(chosen_by("balanced", 20)).fit(X, y)
    labels = y[model.approximation_.budget_.indices]
    assert np.unique(labels, return_counts=True)[1].tolist() == [10, 10]


@pytest.mark.parametrize("make", [classifier, regressor])
def test_a_number_is_a_budget_by_the_default_rule(make):
    X, codes, weight = labelled(150)
    expected = make(30).fit(X, codes, weight)
    for approximation in (Nystroem(budget=30), chosen_by("auto"), Nystroem(KERNEL, budget=30)):
        given = KERNEL if approximation.kernel is not None else "rbf"
        model = make(approximation, given).fit(X, codes, weight)
        other = expected if approximation.kernel is None else make(30, given).fit(X, codes, weight)
        points = model.approximation_.budget_.points
        assert np.array_equal(points, other.approximation_.budget_.points)
        assert np.array_equal(model.predict(X), other.predict(X))


def test_the_default_rule_is_uniform_for_numbers_and_centres_for_classes():
    X, y, _ = regression(150)
    labels = problem()[1]
    for targets in (y, np.column_stack([y, -y])):
        model, uniform = (regressor(given).fit(X, targets) for given in (30, chosen_by("uniform")))
        assert np.array_equal(model.predict(X), uniform.predict(X))
        assert model.approximation_.budget_.indices is not None
    assert classifier(30).fit(X, labels).approximation_.budget_.indices is None


@pytest.mark.parametrize(("selector", "weighted"), [("auto", False), ("balanced", True)])
def test_objects_that_are_arrays(selector, weighted):
    rng = np.random.default_rng(0)
    series = np.empty(60, dtype=object)
    for i in range(60):
        series[i] = rng.normal(loc=3 * (i % 2), size=rng.integers(2, 6))
    kernel = FunctionKernel(lambda a, b: np.exp(-abs(a.mean() - b.mean())))
    weight = np.arange(60) % 3 if weighted else None
    model = classifier(chosen_by(selector, 10), kernel).fit(series, np.arange(60) % 2, weight)
    assert model.score(series, np.arange(60) % 2) > 0.8


@pytest.mark.parametrize(
    ("kernel", "dtype", "wrap"),
    [(Chi2("scale"), np.float32, np.asarray), (AdditiveChi2(), np.float64, sparse.csr_matrix)],
    ids=repr,
)
def test_kernels_of_histograms_by_the_default_rule(kernel, dtype, wrap):
    rng = np.random.default_rng(0)
    X = wrap((rng.poisson(0.1, size=(400, 20)) / 7).astype(dtype))
    model = classifier(60, kernel, alpha=1e-2).fit(X, np.arange(400) % 3)
    assert isinstance(model.approximation_.landmarks_, Landmarks)
    assert model.approximation_.budget_.points.min() >= 0


def test_probabilities_of_another_number_of_rows():
    X, y, _ = regression(60)
    model = regressor(chosen_by(Weighted(np.ones(60)), 10)).fit(X, y)
    message = "Weighted: probabilities must be 30"
    with pytest.raises(ValueError, match=re.escape(message)):
        cross_val_score(model, X, y, cv=2, error_score="raise")


@pytest.mark.parametrize("selector", OF_CLASSES, ids=repr)
def test_rules_for_classes_refuse_numbers(selector):
    X, y, _ = regression(60)
    with pytest.raises(ValueError, match=r"y must .*found continuous"):
        regressor(chosen_by(selector)).fit(X, y)
