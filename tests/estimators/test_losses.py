"""Every loss in every estimator: which rows it takes, and what weights mean."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from skimp import losses
from skimp.budgets import Fixed
from skimp.features import Nystroem, RandomFourier
from skimp.kernels import Gaussian
from skimp.losses import Quantile
from tests.models import LABEL_LOSSES, classifier, regressor
from tests.problems import TOLERANCE, difference, labelled, regression

KERNEL = Gaussian(0.5)
MILD = {"alpha": 0.03, "tol": 1e-11, "max_iter": 5000, "n_jobs": 1}
"""A penalty for which dual coordinate descent reaches a tight tolerance in a few sweeps."""


def close(approximation, loss):
    """Return what solutions of one problem may differ by.

    The objective of a loss with kinks has a gap of 1e-11, and its solution the root of that.
    """
    return 1e-8 if getattr(losses, loss).smooth and approximation != 20 else 2e-5


@pytest.mark.parametrize(
    ("loss", "approximation", "n_classes"),
    [
        ("squared", None, 2),
        ("hinge", 20, 2),
        ("squared_hinge", 20, 3),
        ("log", None, 3),
        ("softmax", RandomFourier(n_components=21), 3),
        ("multiclass_hinge", 20, 3),
    ],
)
def test_classes_of_any_source(loss, approximation, n_classes):
    X, codes, weight = labelled(80, n_classes=n_classes)
    y = np.array(["no", "yes", "perhaps"])[codes]
    model = classifier(approximation, KERNEL, loss=loss, **MILD).fit(X, y, weight)
    expected = model.decision_function(X)
    assert expected.shape == ((80,) if n_classes == 2 else (80, 3))
    assert model.solution_.converged
    assert model.score(X, y, weight) > 0.65
    codes = (expected > 0).astype(int) if n_classes == 2 else expected.argmax(axis=1)
    assert np.array_equal(model.predict(X), model.classes_[codes])
    for wrap in (sparse.csr_matrix, pd.DataFrame):
        other = clone(model).fit(wrap(X), y, weight).decision_function(wrap(X))
        assert difference(other, expected) <= close(approximation, loss)
    single = X.astype(np.float32)
    other = clone(model).set_params(tol=1e-6).fit(single, y, weight).decision_function(single)
    assert other.dtype == np.float32
    assert difference(other, expected) <= 20 * TOLERANCE[np.dtype(np.float32)]


@pytest.mark.parametrize(
    ("loss", "approximation", "n_outputs"),
    [
        ("huber", 20, 2),
        ("epsilon_insensitive", 20, None),
        ("squared_epsilon_insensitive", None, 2),
        ("quantile", RandomFourier(n_components=21), 2),
    ],
)
def test_targets_of_any_source(loss, approximation, n_outputs):
    X, y, weight = regression(80)
    y = y if n_outputs is None else np.column_stack([y, 10 * X[:, 0] ** 2])
    model = regressor(approximation, KERNEL, loss=loss, **MILD).fit(X, y, weight)
    expected = model.predict(X)
    assert expected.shape == y.shape
    assert model.solution_.converged
    for wrap in (sparse.csr_matrix, pd.DataFrame):
        other = clone(model).fit(wrap(X), y, weight).predict(wrap(X))
        assert difference(other, expected) <= close(approximation, loss)
    single = X.astype(np.float32)
    other = clone(model).set_params(tol=1e-6).fit(single, y, weight).predict(single)
    assert other.dtype == np.float32
    assert difference(other, expected) <= 20 * TOLERANCE[np.dtype(np.float32)]
    for output, column in enumerate(y.reshape(80, -1).T):
        alone = clone(model).fit(X, column, weight).predict(X)
        assert difference(alone, expected.reshape(80, -1)[:, output]) <= 2e-5


@pytest.mark.parametrize("loss", LABEL_LOSSES)
def test_losses_of_labels_are_refused_by_the_regressor(loss):
    X, y, _ = regression(20)
    for given in (loss, getattr(losses, loss)):
        found = re.escape(f"got {given!r}")
        with pytest.raises(ValueError, match=f"KernelRegressor: loss .*{found}"):
            regressor(5, loss=given).fit(X, y)


@pytest.mark.parametrize("loss", ["huber", "epsilon_insensitive"])
def test_the_classifier_takes_losses_of_numbers_on_signs(loss):
    X, y, _ = labelled(60, n_classes=2)
    params = {"loss": loss, "fit_intercept": False, **MILD}
    landmarks = Nystroem(budget=20, selector="uniform")
    model = classifier(landmarks, KERNEL, **params).fit(X, y)
    signs = regressor(landmarks, KERNEL, **params).fit(X, 2 * y - 1)
    assert difference(model.decision_function(X), signs.predict(X)) <= 1e-9


def weighted_and_repeated(X, y, loss):
    """Return a fit with weights 0, 1 and 2, and one of rows that are absent, once and twice."""
    model = (classifier if y.dtype.kind == "i" else regressor)(
        Nystroem(selector=Fixed(X[:15])), KERNEL, loss=loss, **MILD
    )
    counts = np.arange(len(X)) % 3
    weighted = clone(model).fit(X, y, counts)
    repeated = clone(model).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    return weighted, repeated


@pytest.mark.parametrize("loss", ["squared", "hinge", "softmax"])
def test_a_weight_is_a_number_of_rows_to_a_class(loss):
    X, y, _ = labelled(60)
    weighted, repeated = weighted_and_repeated(X, y, loss)
    found, expected = weighted.decision_function(X), repeated.decision_function(X)
    assert difference(found, expected) <= 2e-5


@pytest.mark.parametrize("loss", ["huber", "quantile"])
def test_a_weight_is_a_number_of_rows_to_a_target(loss):
    X, y, _ = regression(60)
    y[::3] = 1e6
    weighted, repeated = weighted_and_repeated(X, y, loss)
    assert difference(weighted.predict(X), repeated.predict(X)) <= 2e-5


@pytest.mark.parametrize(
    ("loss", "class_weight"), [("hinge", "balanced"), ("softmax", {0: 2.0, 2: 0.5})]
)
def test_class_weights_are_factors_of_sample_weights(loss, class_weight):
    X, y, _ = labelled(60)
    y[y == 1] = np.where(np.arange(np.sum(y == 1)) % 4, 0, 1)
    factors = 20 / np.bincount(y) if class_weight == "balanced" else np.array([2.0, 1.0, 0.5])
    model = classifier(15, KERNEL, loss=loss, class_weight=class_weight, **MILD).fit(X, y)
    by_hand = classifier(15, KERNEL, loss=loss, **MILD).fit(X, y, factors[y])
    plain = classifier(15, KERNEL, loss=loss, **MILD).fit(X, y)
    expected = by_hand.decision_function(X)
    assert difference(model.decision_function(X), expected) <= 2e-5
    assert difference(plain.decision_function(X), expected) > 1e-2


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_quantile_has_its_share_of_the_rows_below(share):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (400, 1))
    y = np.sin(X[:, 0]) + (1 + X[:, 0] ** 2) * rng.exponential(size=400)
    model = regressor(10, KERNEL, loss=Quantile(share), alpha=1e-5, n_jobs=1)
    model = model.set_params(max_iter=20_000).fit(X, y)
    new = rng.uniform(-2, 2, (4000, 1))
    later = np.sin(new[:, 0]) + (1 + new[:, 0] ** 2) * rng.exponential(size=4000)
    # four standard deviations of a share of 400 rows and of one of 4,000
    bound = 4 * np.sqrt(share * (1 - share) * (1 / 400 + 1 / 4000))
    assert np.mean(later <= model.predict(new)) == pytest.approx(share, abs=bound)


def test_robust_losses_ignore_outliers():
    X, y, _ = regression(100)
    spoilt = y.copy()
    spoilt[::10] += 1000
    errors = {}
    for loss in ("squared", "huber", "epsilon_insensitive", "quantile"):
        model = regressor(20, KERNEL, loss=loss, alpha=1e-3, n_jobs=1).fit(X, spoilt)
        errors[loss] = np.median(np.abs(model.predict(X) - y))
    squared = errors.pop("squared")
    assert max(errors.values()) < squared / 50


def test_missing_values_and_single_classes_are_refused():
    X, y, _ = labelled(20)
    model = classifier(5, loss="log")
    with pytest.raises(ValueError, match="found one class: 3"):
        model.fit(X, np.full(20, 3))
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X, y)
    assert not hasattr(model, "coef_")
