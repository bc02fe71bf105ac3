"""Solvers and losses as parameters: which one is chosen, refused, set, searched and printed."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from skimp.kernels import Gaussian
from skimp.losses import EpsilonInsensitive, Huber, Quantile
from skimp.solvers import Auto, DualCD, Newton
from tests.models import LABEL_LOSSES, classifier, every_estimator, outputs, regressor
from tests.problems import difference, labelled, regression

KERNEL = Gaussian(0.5)
CHOSEN = {
    "squared": "direct",
    "hinge": "dual_cd",
    "squared_hinge": "newton",
    "log": "newton",
    "softmax": "newton",
    "multiclass_hinge": "dual_cd",
    "huber": "newton",
    "epsilon_insensitive": "dual_cd",
    "squared_epsilon_insensitive": "newton",
    "quantile": "dual_cd",
}


@every_estimator
def test_the_message_names_the_solver_that_was_chosen(estimator):
    X, y, _ = labelled(40)
    for loss, solver in CHOSEN.items():
        if estimator.__name__ == "KernelRegressor" and loss in LABEL_LOSSES:
            continue
        model = estimator(approximation=10, loss=loss, alpha=0.03, random_state=0, n_jobs=1)
        message = model.fit(X, y).solution_.message
        assert message.startswith(f"auto chose {solver},")
        assert model.n_iter_ == model.solution_.n_iter >= 1
        model.set_params(solver=solver).fit(X, y)
        assert model.solution_.message.startswith(f"{solver}: ")


SOLVERS = {
    "squared": ["direct", "pcg", "newton", "dual_cd"],
    "squared_hinge": ["newton", "dual_cd"],
    "log": ["newton", "dual_cd"],
    "huber": ["newton", "dual_cd"],
    "squared_epsilon_insensitive": ["newton", "dual_cd"],
}


@pytest.mark.parametrize("loss", SOLVERS)
def test_solvers_agree(loss):
    X, y, weight = labelled(80)
    make = classifier if loss in LABEL_LOSSES else regressor
    params = {"alpha": 0.03, "fit_intercept": False, "tol": 1e-12, "n_jobs": 1}
    model = make(20, KERNEL, loss=loss, **params)
    expected = outputs(model.fit(X, y, weight), X)
    for solver in SOLVERS[loss]:
        other = clone(model).set_params(solver=solver, tol=None if solver == "direct" else 1e-12)
        assert difference(outputs(other.fit(X, y, weight), X), expected) <= 1e-4


@pytest.mark.parametrize(
    ("solver", "loss", "message"),
    [
        ("newton", "hinge", "Newton: loss must be"),
        ("pcg", "log", "PCG: loss must be"),
        ("dual_cd", "softmax", "DualCD: loss must be"),
    ],
)
def test_solvers_that_do_not_know_a_loss_refuse_it(solver, loss, message):
    X, y, _ = labelled(30)
    with pytest.raises(ValueError, match=message):
        classifier(10, loss=loss, solver=solver, tol=None).fit(X, y)


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


@every_estimator
def test_clones_and_reprs_have_losses_and_solvers(estimator):
    model = estimator(loss=Huber(0.5), solver=DualCD(tol=1e-2), max_iter=7)
    copy = clone(model)
    assert copy.loss == model.loss
    assert copy.solver is not model.solver
    assert repr(copy) == repr(model)
    for part in ("loss=Huber(delta=0.5)", "solver=DualCD(tol=0.01)", "max_iter=7"):
        assert part in repr(model)
    copy.set_params(loss__delta=2.0, solver__random_state=3)
    assert (copy.loss.delta, copy.solver.random_state) == (2.0, 3)
    assert model.loss.delta == 0.5
