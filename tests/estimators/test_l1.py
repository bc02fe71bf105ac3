"""Models with an L1 penalty: zeros, their count, the certificate and what is refused."""

import numpy as np
import pytest

from skimp.solvers import L1CD
from tests.models import classifier, regressor
from tests.problems import labelled, regression


@pytest.mark.parametrize("loss", ["log", "squared_hinge"])
def test_few_landmarks_are_used(loss):
    X, y, _ = labelled(200)
    model = classifier(60, loss=loss, solver="l1_cd", alpha=0.02, tol=None).fit(X, y)
    used = model.coef_.any(axis=1)
    assert 0 < model.n_active_ == np.count_nonzero(used) < 30
    assert model.certificate_.effective_dimension == model.n_active_
    assert f"{model.n_active_} of 60 features used" in model.certificate_.solver
    weaker = classifier(60, loss=loss, solver="l1_cd", alpha=1e-3, tol=None).fit(X, y)
    assert weaker.n_active_ > model.n_active_


def test_features_are_counted_for_every_solver():
    X, y, _ = regression(60)
    assert regressor(20, alpha=1e-3).fit(X, y).n_active_ == 20


def test_ridge_penalty_is_a_special_case():
    X, y, _ = regression(100)
    direct = regressor(20, alpha=1e-2).fit(X, y)
    ridge = regressor(20, alpha=1e-2, solver=L1CD(0.0, tol=1e-12)).fit(X, y)
    np.testing.assert_allclose(ridge.predict(X), direct.predict(X), atol=1e-6)
    assert ridge.certificate_.effective_dimension == pytest.approx(
        direct.certificate_.effective_dimension, rel=0.05
    )


def test_automatic_penalty_is_for_ridge():
    X, y, _ = regression(60)
    with pytest.raises(ValueError, match=r"alpha must be a number for L1CD.*got 'auto'"):
        regressor(20, solver="l1_cd", alpha="auto").fit(X, y)
    regressor(20, solver=L1CD(0.0), alpha="auto").fit(X, y)


def test_warm_start_continues():
    X, y, _ = labelled(150)
    model = classifier(40, loss="log", solver="l1_cd", alpha=1e-3, tol=1e-8, warm_start=True)
    cold = model.fit(X, y).n_iter_
    assert model.fit(X, y).n_iter_ < cold
