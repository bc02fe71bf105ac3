"""Dual coordinate descent with an intercept that is not penalized."""

import re

import numpy as np
import pytest
from sklearn.svm import SVC, SVR

from skimp.losses import (
    epsilon_insensitive,
    hinge,
    log,
    multiclass_hinge,
    quantile,
    squared,
    squared_hinge,
)
from skimp.solvers import DualCD, Newton, Problem, Status, direct
from skimp.solvers._intercepts import Balance, FreeIntercept, flows_between
from tests.duals import LOSSES, Identity, data, memory, objective, solved
from tests.sources import ChunkedRows

FREE = DualCD(tol=1e-9, max_iter=20_000)


def value(loss, X, Y, found, *, alpha=0.05, weight=None):
    """Return the objective without a penalty on the intercept."""
    costs = objective(loss, X, Y, found.coef, found.intercept, alpha=alpha, weight=weight)
    return costs - alpha * np.sum(found.intercept**2)


@pytest.mark.parametrize(
    ("loss", "peer"),
    [(hinge, SVC(kernel="linear")), (epsilon_insensitive, SVR(kernel="linear", epsilon=0.1))],
    ids=repr,
)
@pytest.mark.parametrize("shift", [0.0, 2.0])
def test_it_equals_libsvm(loss, peer, shift):
    X, Y, weight = data(loss)
    # columns that are not centred need an intercept
    X, y, alpha = X + shift, Y[:, 0], 0.05
    w = len(X) * weight / weight.sum()
    peer.set_params(C=1 / (2 * len(X) * alpha), tol=1e-9).fit(X, y, sample_weight=w)
    found = solved(loss, X, Y[:, :1], weight=weight, solver=FREE, fit_intercept=True)
    assert found.converged
    np.testing.assert_allclose(found.coef[:, 0], peer.coef_[0], atol=1e-3)
    np.testing.assert_allclose(found.intercept, peer.intercept_, atol=1e-3 * (1 + shift))


@pytest.mark.parametrize(
    ("loss", "peer"),
    [(squared, direct), (squared_hinge, Newton(tol=1e-12)), (log, Newton(tol=1e-12))],
    ids=repr,
)
def test_it_has_the_objective_of_the_other_solvers(loss, peer):
    X, Y, weight = data(loss)
    problem = {"weight": weight, "fit_intercept": True}
    ours, theirs = (solved(loss, X, Y, solver=solver, **problem) for solver in (FREE, peer))
    np.testing.assert_allclose(ours.history[-1], theirs.history[-1], rtol=1e-8)
    np.testing.assert_allclose(ours.intercept, theirs.intercept, atol=1e-3)
    assert not ours.intercept_penalized
    assert "intercept" not in ours.message


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_gap_bounds_the_distance_to_the_minimum(loss):
    X, Y, weight = data(loss)
    problem = {"weight": weight, "alpha": 0.02, "fit_intercept": True}
    best = solved(loss, X, Y, solver=FREE, **problem).history[-1]
    for options in ({"tol": 1e-2}, {"tol": 1e-4}, {"tol": 1e-9, "max_iter": 3}):
        found = solved(loss, X, Y, solver=DualCD(**options), **problem)
        gap = float(re.search(r"gap (\S+) after", found.message)[1])
        assert (found.status is Status.CONVERGED) == (gap <= options["tol"])
        reached = value(loss, X, Y, found, alpha=0.02, weight=weight)
        np.testing.assert_allclose(found.history[-1], reached, rtol=1e-9)
        assert (np.diff(found.history) <= 0).all()
        assert best * (1 - 2e-9) <= reached <= best + (1.1 * gap + 2e-9) * reached


def test_without_an_intercept_nothing_changes():
    X, Y, _ = data(hinge)
    ours, theirs = (solved(hinge, X, Y, solver=DualCD(penalize_intercept=b)) for b in (False, True))
    assert np.array_equal(ours.coef, theirs.coef)
    assert ours.message == theirs.message


@pytest.mark.parametrize("scale", [1e-4, 1e4])
@pytest.mark.parametrize("loss", [epsilon_insensitive, quantile, squared], ids=repr)
def test_an_intercept_far_away(loss, scale):
    X, Y, _ = data(loss)
    solver = DualCD(tol=1e-6)
    near = solved(loss, X, Y, alpha=1.0, solver=solver, fit_intercept=True)
    far = solved(loss, X, Y + scale, alpha=1.0, solver=solver, fit_intercept=True)
    assert far.converged
    np.testing.assert_allclose(far.intercept, near.intercept + scale, atol=0.02)
    np.testing.assert_allclose(far.history[-1], near.history[-1], rtol=1e-5)


@pytest.mark.parametrize("loss", [hinge, log, squared, multiclass_hinge], ids=repr)
def test_equal_targets_cost_nothing(loss):
    X, Y, _ = data(loss)
    found = solved(loss, X, Y[[0] * len(Y)], solver=FREE, fit_intercept=True)
    assert found.status is Status.CONVERGED
    assert found.history[-1] <= 1e-15
    np.testing.assert_allclose(found.coef, 0, atol=1e-7)


@pytest.mark.parametrize("loss", [hinge, multiclass_hinge], ids=repr)
def test_features_that_do_not_fit(loss):
    X, Y, weight = data(loss, n=200)
    rows = ChunkedRows(X, Y, weight).mapped(Identity(4))
    solver, limit = DualCD(tol=1e-7), memory(200, 3, 4)
    streamed = solver.solve(Problem(rows, loss, 0.05, memory_limit=limit))
    kept = solver.solve(Problem(rows, loss, 0.05))
    assert "recomputed in every pass" in streamed.message
    assert not streamed.intercept_penalized
    np.testing.assert_allclose(streamed.history[-1], kept.history[-1], rtol=2e-7)


def test_the_centre_takes_secant_steps():
    intercept = FreeIntercept(squared_norm=20.0, alpha=0.5, k=4)
    assert intercept.constant == 2.0
    assert FreeIntercept(squared_norm=0.0, alpha=0.5, k=2).constant == 0.5
    # b is the centre plus the pull, which is 2 s
    centre = np.zeros(4)
    for pull, pace in (
        ([8.0, 8.0, 8.0, 0.0], [1.0, 1.0, 1.0, 1.0]),
        # a linear function would be zero after twice the last change, after 4/3 of it, and nowhere
        ([6.0, 2.0, 9.0, 0.0], [4.0, 4 / 3, 4.0, 1.0]),
        ([0.0, -1.0, 4.5, 0.0], [1.0, 1.0, 8.0, 1.0]),
    ):
        change, product = intercept.move(centre + pull)
        np.testing.assert_allclose(change, np.multiply(pace, pull))
        assert product == pytest.approx(np.divide(pull, 2.0) @ (centre + pull))
        centre += change


@pytest.mark.parametrize("joint", [False, True])
def test_balanced_slopes_sum_to_zero(joint):
    rng = np.random.default_rng(0)
    C, own = rng.random(60), rng.integers(4, size=60)
    Y = np.where(own[:, None] == np.arange(5), 1.0, -1.0)
    p = rng.dirichlet([1.0, 0.2, 0.5, 0.3], 60)
    # nobody is taken for class 3, and class 4 has no rows
    p[:, 3] = 0
    slopes = (Y > 0) - np.hstack([p / p.sum(axis=1, keepdims=True), np.zeros((60, 1))])
    slopes[own == 3] = 0 if joint else slopes[own == 3]
    scaled = Balance(flows_between(C, Y, slopes, joint=joint), joint=joint).scaled(Y, slopes)
    np.testing.assert_allclose(C @ scaled, 0, atol=1e-13)
    np.testing.assert_array_equal(scaled[:, 4], 0)
    factors = scaled[slopes != 0] / slopes[slopes != 0]
    assert factors.min() >= 0
    assert factors.max() <= 1 + 1e-15
    if joint:
        # one factor for all slopes of a row, and some class keeps its slopes
        np.testing.assert_allclose(scaled.sum(axis=1), 0, atol=1e-15)
        assert np.isclose(scaled, slopes).all(axis=1).any()


def test_a_class_that_only_passes_on_is_left_out():
    Y = np.where(np.eye(3)[[0, 1, 2]] > 0, 1.0, -1.0)
    # 0 is taken for 1, and 1 and 2 are taken for each other: 0 receives nothing
    slopes = np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0], [0.0, -0.5, 0.5]])
    scaled = Balance(flows_between(np.ones(3), Y, slopes, joint=True), joint=True).scaled(Y, slopes)
    np.testing.assert_allclose(scaled, [[0, 0, 0], [0, 0.5, -0.5], [0, -0.5, 0.5]], atol=1e-15)
