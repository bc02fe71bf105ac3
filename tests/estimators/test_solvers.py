"""Solvers and losses as parameters: which one is chosen, refused, set, searched and printed."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from skimp.kernels import Gaussian
from skimp.losses import EpsilonInsensitive, Huber, Quantile
from skimp.solvers import Auto, DualCD, Newton
from tests.models import classifier, regressor
from tests.problems import labelled, regression

KERNEL = Gaussian(0.5)


@pytest.mark.parametrize("loss", ["log", "hinge"])
def test_too_few_iterations_are_reported(loss):
    X, y, _ = labelled(60)
    model = classifier(20, loss=loss, max_iter=1, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match=r"KernelClassifier: .* 1 .*max_iter") as w:
        model.fit(X, y)
    assert len(w) == 1
    assert w[0].filename == __file__
    assert not model.solution_.converged
    assert model.n_iter_ == 1
    more = classifier(20, loss=loss, alpha=0.03, tol=1e-3).fit(X, y)
    assert more.solution_.converged
    assert more.n_iter_ > 1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_tolerance_and_iterations_may_be_those_of_the_solver():
    X, y, _ = labelled(60)
    outside = classifier(20, loss="log", solver="newton", tol=1e-3, max_iter=5).fit(X, y)
    inside = classifier(20, loss="log", solver=Newton(tol=1e-3, max_iter=5), tol=None).fit(X, y)
    auto = classifier(20, loss="log", solver=Auto(tol=1e-3, max_iter=5), tol=None).fit(X, y)
    assert np.array_equal(outside.coef_, inside.coef_)
    assert np.array_equal(outside.coef_, auto.coef_)
    given = Newton(tol=1e-3)
    classifier(20, loss="log", solver=given, tol=1e-9).fit(X, y)
    assert given.tol == 1e-3


def test_grid_search_over_losses_and_solvers():
    X, y, _ = regression(90)
    model = regressor(15, KERNEL, loss=EpsilonInsensitive(), solver=DualCD(), n_jobs=1)
    inside = {"loss__epsilon": [0.1, 5.0], "solver__tol": [1e-2, 1e-3], "alpha": [1e-3, 1.0]}
    search = GridSearchCV(model, inside, cv=3, error_score="raise").fit(X, y)
    assert search.best_params_["loss__epsilon"] == 0.1
    assert search.best_params_["alpha"] == 1e-3
    assert search.best_estimator_.solver.tol == search.best_params_["solver__tol"]
    assert model.loss == EpsilonInsensitive()
    whole = {"loss": ["squared", Huber(0.01), Quantile(0.99)], "solver": ["auto"]}
    search = GridSearchCV(model, whole, cv=3, error_score="raise").fit(X, y)
    assert search.best_params_["loss"] in ("squared", Huber(0.01))
