"""Probabilities of classes: which losses have them, and whether they are right."""

import re

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import chi2
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_score

from skimp import KernelClassifier, losses
from skimp.features import RandomFourier
from skimp.kernels import Gaussian
from tests.models import classifier
from tests.pairs import pairwise
from tests.problems import difference, labelled

PROBABILISTIC = ["log", "softmax"]

every_loss = pytest.mark.parametrize("loss", PROBABILISTIC)
every_number = pytest.mark.parametrize("n_classes", [2, 3])


@pairwise(
    approximation=[None, 20, RandomFourier(n_components=21)],
    loss=PROBABILISTIC,
    n_classes=[2, 3],
    dtype=[np.float32, np.float64],
)
def test_probabilities_agree_with_labels(loss, n_classes, approximation, dtype):
    X, codes, _ = labelled(100, n_classes=n_classes, dtype=dtype)
    y = np.array(["b", "a", "c"])[codes]
    model = classifier(approximation, loss=loss, tol=1e-5).fit(X, y)
    P = model.predict_proba(X)
    assert P.shape == (100, n_classes)
    assert P.dtype == dtype
    assert P.min() >= 0
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=10 * np.finfo(dtype).eps)
    assert np.array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(P), rtol=1e-6)
    if n_classes == 2:
        decision = model.decision_function(X)
        assert decision.shape == (100,)
        np.testing.assert_allclose(P[:, 1], expit(decision), rtol=1e-4)
        assert np.array_equal(model.predict(X) == "b", decision > 0)


@every_loss
@every_number
def test_probabilities_far_from_the_rows_are_probabilities(loss, n_classes):
    X, y, _ = labelled(100, n_classes=n_classes)
    model = classifier(None, "linear", loss=loss).fit(X, y)
    far = 1e6 * X
    P, log_P = model.predict_proba(far), model.predict_log_proba(far)
    assert np.isfinite(P).all()
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert not np.isnan(log_P).any()
    # several may round to one, or to the same power of ten: the label's is among the largest
    codes = np.searchsorted(model.classes_, model.predict(far))
    assert np.array_equal(P[np.arange(100), codes], P.max(axis=1))


@every_loss
def test_log_odds_are_those_that_rows_were_drawn_with(loss):
    rng = np.random.default_rng(0)
    n, odds = 2000, np.array([1.0, -2.0, 0.5])
    X = rng.normal(size=(n, 2))
    Z = np.column_stack([X, np.ones(n)])
    y = rng.random(n) < expit(Z @ odds)
    model = KernelClassifier("linear", approximation=None, loss=loss, alpha=1e-9, tol=1e-9)
    model.set_params(approximation=10, random_state=0).fit(X, y)
    p = expit(Z @ odds)
    information = Z.T @ (Z * (p * (1 - p))[:, None])
    # Scheffe's band: the errors of all rows at once, with probability 1 - 1e-6
    variances = np.einsum("ij,ij->i", Z, np.linalg.solve(information, Z.T).T)
    bound = np.sqrt(chi2.isf(1e-6, 3) * variances)
    assert np.all(np.abs(model.decision_function(X) - Z @ odds) <= bound)
    # the intercept makes the mean probability the share of the class
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), abs=1e-4)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_two_classes_of_softmax_have_half_the_penalty_of_the_logistic_loss(fit_intercept):
    X, y, weight = labelled(100, n_classes=2)
    params = {"fit_intercept": fit_intercept}
    joint = classifier(20, loss="softmax", alpha=2e-3, **params).fit(X, y, weight)
    single = classifier(20, loss="log", alpha=1e-3, **params).fit(X, y, weight)
    assert joint.coef_.shape == (20, 2)
    assert single.coef_.shape == (20, 1)
    assert difference(joint.decision_function(X), single.decision_function(X)) <= 1e-5
    assert difference(joint.predict_proba(X), single.predict_proba(X)) <= 1e-5


@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_against_the_rest_is_divided_by_the_sum(n_classes):
    X, y, _ = labelled(100, n_classes=n_classes)
    model = classifier(20, loss="log").fit(X, y)
    F = model.decision_function(X).reshape(100, -1)
    odds = expit(np.hstack([-F, F]) if n_classes == 2 else F)
    expected = odds / odds.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-12)


@pytest.mark.parametrize("loss", ["squared", "hinge", "multiclass_hinge"])
def test_other_losses_have_no_probabilities(loss):
    X, y, _ = labelled(40)
    for given in (loss, getattr(losses, loss)):
        model = classifier(10, loss=given, alpha=0.03, tol=1e-3)
        for fitted in (model, model.fit(X, y)):
            for name in ("predict_proba", "predict_log_proba"):
                assert not hasattr(fitted, name)
                found = re.escape(f"loss={given!r}")
                with pytest.raises(AttributeError, match=f"{name} .*'softmax'.*{found}"):
                    getattr(fitted, name)


def test_meta_estimators_say_why_there_are_no_probabilities():
    X, y, _ = labelled(40)
    search = GridSearchCV(classifier(10), {"alpha": [0.1, 1.0]}, cv=2).fit(X, y)
    assert not hasattr(search, "predict_proba")
    with pytest.raises(AttributeError) as error:
        search.predict_proba(X)
    assert str(error.value.__cause__).startswith("predict_proba ")
    with pytest.raises(AttributeError, match="predict_proba"):
        cross_val_score(classifier(10), X, y, scoring="neg_log_loss", error_score="raise")


def test_an_unknown_loss_has_no_probabilities():
    assert not hasattr(KernelClassifier(loss="zero_one"), "predict_proba")


def test_calibration():
    X, y, _ = labelled(120)
    model = classifier(15, Gaussian(0.5), loss="hinge", alpha=1e-3, tol=1e-3, n_jobs=1)
    calibrated = CalibratedClassifierCV(model, cv=3).fit(X, y)
    P = calibrated.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert np.mean(P.argmax(axis=1) == y) > 0.6


@pytest.mark.parametrize("joint", ["softmax", "multiclass_hinge"])
def test_two_classes_of_a_joint_loss_have_one_decision(joint):
    X, codes, _ = labelled(60, n_classes=2)
    y = np.array(["yes", "no"])[codes]
    model = classifier(10, loss=joint, alpha=0.01, tol=1e-4).fit(X, y)
    decision = model.decision_function(X)
    assert decision.shape == (60,)
    assert np.array_equal(model.predict(X), np.where(decision > 0, "yes", "no"))
    # nothing tells the two apart but their sign
    np.testing.assert_allclose(model.coef_.sum(axis=1), 0, atol=1e-6 * np.abs(model.coef_).max())
