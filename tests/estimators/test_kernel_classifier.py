import re

import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifier

from skimp.features import Nystroem, RandomFourier
from skimp.kernels import Gaussian
from tests.models import classifier, regressor
from tests.pairs import pairwise
from tests.problems import difference, labelled

SAME_POINTS = [
    None,
    Nystroem(budget=30, selector="uniform"),
    Nystroem(budget=30, rank=8, selector="uniform"),
    RandomFourier(n_components=31),
]


@pytest.mark.parametrize(
    ("approximation", "fit_intercept"), list(zip(SAME_POINTS, [True, False] * 2, strict=True))
)
def test_two_classes_are_a_regression_on_signs(approximation, fit_intercept):
    X, y, weight = labelled(150, n_classes=2)
    model = classifier(approximation, loss="squared", fit_intercept=fit_intercept)
    model.fit(X, y, weight)
    signs = regressor(approximation, fit_intercept=fit_intercept).fit(X, 2 * y - 1, weight)
    decision = model.decision_function(X)
    assert decision.shape == (150,)
    assert difference(decision, signs.predict(X)) <= 1e-8
    assert np.array_equal(model.predict(X), (decision > 0).astype(int))
    assert model.score(X, y) > 0.75


@pytest.mark.parametrize("approximation", SAME_POINTS)
def test_several_classes_are_one_against_the_rest(approximation):
    X, y, weight = labelled(150, n_classes=4)
    model = classifier(approximation, loss="squared").fit(X, y, weight)
    decision = model.decision_function(X)
    signs = regressor(approximation).fit(X, 2.0 * np.eye(4)[y] - 1, weight)
    assert difference(decision, signs.predict(X)) <= 1e-8
    assert np.array_equal(model.predict(X), decision.argmax(axis=1))
    assert model.classes_.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_linear_kernel_is_a_ridge_classifier(n_classes):
    X, y, weight = labelled(150, n_classes=n_classes)
    theirs = RidgeClassifier(alpha=0.01 * weight.sum()).fit(X, y, weight)
    ours = classifier(50, "linear", alpha=0.01, loss="squared").fit(X, y, weight)
    assert difference(ours.decision_function(X), theirs.decision_function(X)) <= 1e-8


def test_boolean_labels():
    X, y, _ = labelled(100, n_classes=2)
    predicted = classifier().fit(X, y == 1).predict(X)
    assert predicted.dtype == bool
    assert np.array_equal(predicted, classifier().fit(X, y).predict(X) == 1)


@pytest.mark.parametrize("approximation", [None, 30])
def test_class_weights_are_factors_of_sample_weights(approximation):
    X, y, weight = labelled(150)
    factors = {0: 0.5, 2: 3.0}
    expected = weight * np.array([0.5, 1.0, 3.0])[y]
    model = classifier(approximation, Gaussian(0.5), class_weight=factors).fit(X, y, weight)
    by_hand = classifier(approximation, Gaussian(0.5)).fit(X, y, expected)
    assert difference(model.decision_function(X), by_hand.decision_function(X)) <= 1e-9


@pytest.mark.parametrize("weighted", [False, True])
def test_balanced_classes_have_equal_totals(weighted):
    X, y, weight = labelled(150)
    y = np.where(X[:, 0] > 1, 2, y % 2)
    weight = weight if weighted else np.ones(150)
    totals = np.bincount(y, weights=weight)
    by_hand = classifier(30, Gaussian(0.5)).fit(X, y, weight * (weight.sum() / 3 / totals)[y])
    model = classifier(30, Gaussian(0.5), class_weight="balanced")
    model.fit(X, y, weight if weighted else None)
    assert difference(model.decision_function(X), by_hand.decision_function(X)) <= 1e-9


@pairwise(label=[-1, 1, 9], approximation=[None, 30], n_classes=[2, 3])
def test_a_label_of_weight_zero_is_an_absent_one(approximation, label, n_classes):
    X, y, _ = labelled(120, n_classes=n_classes)
    y = 2 * y
    y[100:] = label
    weight = np.r_[np.ones(100), np.zeros(20)]
    model = classifier(approximation).fit(X, y, weight)
    absent = classifier(approximation).fit(X[:100], y[:100])
    assert model.classes_.tolist() == [0, 2, 4][:n_classes]
    assert difference(model.decision_function(X), absent.decision_function(X)) <= 1e-8


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1] * 5, "one class: 1"),
        (["a"] * 5, "one class: 'a'"),
        ([0.5, 1.5, 2.5, 0.1, 0.2], "Unknown label type: continuous"),
        (np.ones((5, 2)), "y should be a 1d array"),
        ([0, 1], "inconsistent numbers of samples: [5, 2]"),
    ],
)
def test_bad_labels_are_refused(y, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        classifier().fit(np.ones((5, 2)), y)


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ("fair", "KernelClassifier: class_weight must be"),
        ({7: 1.0}, "[7]"),
        ({0: -1.0}, "class_weight must"),
        ({0: 0.0, 1: 0.0, 2: 0.0}, "class_weight must"),
    ],
)
def test_bad_class_weights_are_refused(class_weight, message):
    X, y, _ = labelled(50)
    with pytest.raises(ValueError, match=re.escape(message)):
        classifier(class_weight=class_weight).fit(X, y)
