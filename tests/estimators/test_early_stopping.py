"""Fits that stop where rows that they do not see are predicted best."""

import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss

from skimp.features import RandomFourier
from skimp.kernels import Gaussian
from tests.models import classifier
from tests.problems import labelled

FEATURES = RandomFourier(Gaussian(0.5), n_components=60, random_state=0)
"""Features that do not depend on the rows."""


def noisy(n=300):
    """Return rows of two classes, a quarter of whose labels is wrong, and the right ones."""
    X, y, _ = labelled(n, n_classes=2)
    wrong = np.random.default_rng(1).random(n) < 0.25
    return X, np.where(wrong, 1 - y, y), y


def stopped(loss="log", **params):
    params = {"alpha": 1e-9, "tol": 1e-9, "early_stopping": True, "n_jobs": 1, **params}
    return classifier(FEATURES, loss=loss, **{"validation_fraction": 0.2, **params})


def best_iteration(model):
    """Return the number of the iteration that was best, by the message."""
    found = re.search(r"check (\d+) of \d+", model.solution_.message)
    return int(found[1])


@pytest.mark.parametrize("loss", ["log", "softmax", "squared_hinge"])
def test_a_fit_stops_before_it_has_learnt_the_noise(loss):
    X, y, _ = noisy()
    model = stopped(loss).fit(X, y)
    longer = stopped(loss, early_stopping=False).fit(X, y)
    assert "stopped early" in model.solution_.message
    assert model.n_iter_ == best_iteration(model) + 3
    # small problems with a squared hinge are solved exactly, in other steps, if nothing stops them
    assert model.n_iter_ < longer.n_iter_ or "exact" in longer.solution_.message
    assert model.solution_.converged
    assert np.linalg.norm(model.coef_) < np.linalg.norm(longer.coef_)
    if loss != "squared_hinge":
        new, _, right = noisy(1000)
        costs = [log_loss(right[300:], m.predict_proba(new[300:])) for m in (model, longer)]
        assert costs[0] < costs[1]


@pytest.mark.parametrize("loss", ["log", "squared_hinge"])
def test_the_best_coefficients_are_those_of_the_best_iteration(loss):
    X, y, _ = noisy()
    model = stopped(loss).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        shorter = stopped(loss, max_iter=best_iteration(model)).fit(X, y)
    assert not shorter.solution_.converged
    assert np.array_equal(model.coef_, shorter.coef_)
    assert np.array_equal(model.intercept_, shorter.intercept_)


def ignored(model, X, y):
    """Return which rows may change their label without a change of the coefficients."""
    expected = clone(model).fit(X, y).coef_
    rows = []
    for i in range(len(X)):
        other = y.copy()
        other[i] = 1 - y[i]
        rows.append(np.array_equal(clone(model).fit(X, other).coef_, expected))
    return np.array(rows)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("loss", "solver"), [("log", "newton"), ("squared", "direct")])
def test_held_out_rows_are_not_trained_on(loss, solver):
    X, y, _ = noisy(40)
    limit = {"tol": None, "max_iter": 1 if loss == "log" else None, "solver": solver}
    held_out = ignored(stopped(loss, **limit), X, y)
    # four standard deviations of a share of a fifth of 40 rows
    assert 1 <= held_out.sum() <= 8 + 4 * np.sqrt(40 * 0.2 * 0.8)
    # the same rows for every loss
    assert np.array_equal(held_out, ignored(stopped("log", max_iter=1, tol=None), X, y))
    assert not ignored(stopped(loss, early_stopping=False, **limit), X, y).any()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_larger_fraction_leaves_fewer_rows():
    X, y, _ = noisy(40)
    one, two = (
        ignored(stopped(max_iter=1, tol=None).set_params(validation_fraction=share), X, y)
        for share in (0.1, 0.6)
    )
    assert one.sum() < two.sum()
    assert 40 * 0.6 - two.sum() <= 4 * np.sqrt(40 * 0.6 * 0.4)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_held_out_rows_of_weight_zero():
    X, y, _ = noisy(40)
    weight = 1.0 - ignored(stopped(max_iter=1, tol=None), X, y)
    with pytest.raises(ValueError, match=r"validation_fraction=0\.2"):
        stopped().fit(X, y, weight)


def test_two_rows():
    model = stopped(validation_fraction=0.01).fit([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]], [0, 1])
    assert "of 4" in model.solution_.message
