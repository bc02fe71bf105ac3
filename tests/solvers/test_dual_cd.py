import re

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC, LinearSVR

from skimp.data import ArrayRows, Codes
from skimp.losses import Huber, Quantile, hinge, log, multiclass_hinge, squared
from skimp.solvers import DualCD, Problem, direct
from tests.duals import LOSSES, data, objective, solved, tight

OTHERS = (Huber, Quantile)
"""Scikit-learn has no peer with the same penalty."""


def peer(loss, alpha, n):
    """Return scikit-learn's estimator of the same objective."""
    C = 1 / (2 * n * alpha)
    fixed = {"fit_intercept": False, "tol": 1e-7, "max_iter": 1_000_000}
    return {
        "Hinge": lambda: LinearSVC(loss="hinge", C=C, dual=True, **fixed),
        "SquaredHinge": lambda: LinearSVC(loss="squared_hinge", C=C, dual=True, **fixed),
        "MulticlassHinge": lambda: LinearSVC(multi_class="crammer_singer", C=C, **fixed),
        "Log": lambda: LogisticRegression(C=C, **fixed),
        "Squared": lambda: Ridge(alpha=n * alpha, **fixed),
        "EpsilonInsensitive": lambda: LinearSVR(epsilon=loss.epsilon, C=C, dual=True, **fixed),
        "SquaredEpsilonInsensitive": lambda: LinearSVR(
            loss="squared_epsilon_insensitive", epsilon=loss.epsilon, C=C, dual=True, **fixed
        ),
    }[type(loss).__name__]()


@pytest.mark.parametrize("loss", [f for f in LOSSES if not isinstance(f, OTHERS)], ids=repr)
def test_equals_scikit_learn(loss):
    alpha = 0.05
    X, Y, _ = data(loss)
    # the dual of coupled classes is so flat that the last digits take very long
    solution = solved(loss, X, Y, alpha=alpha, solver=DualCD(tol=1e-8) if loss.joint else tight)
    if loss.joint:
        expected = peer(loss, alpha, len(X)).fit(X, Y.argmax(axis=1)).coef_.T
    else:
        expected = np.column_stack([peer(loss, alpha, len(X)).fit(X, y).coef_.ravel() for y in Y.T])
    assert solution.converged
    assert solution.coef.dtype == solution.intercept.dtype == np.float64
    np.testing.assert_allclose(solution.coef, expected, rtol=1e-3, atol=1e-4)
    # solvers of scikit-learn stop a little above the optimum
    peers = objective(loss, X, Y, expected, alpha=alpha)
    np.testing.assert_allclose(solution.history[-1], peers, rtol=1e-6)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_history_ends_at_the_objective_and_the_gap_bounds_it(loss):
    alpha = 0.02
    X, Y, weight = data(loss)
    solver = DualCD(penalize_intercept=True)
    found = solved(loss, X, Y, weight=weight, alpha=alpha, solver=solver, fit_intercept=True)
    best = solved(loss, X, Y, weight=weight, alpha=alpha, fit_intercept=True).history[-1]
    reached = objective(loss, X, Y, found.coef, found.intercept, alpha=alpha, weight=weight)
    assert found.converged
    np.testing.assert_allclose(found.history[-1], reached, rtol=1e-10)
    assert (np.diff(found.history) <= 0).all()
    assert best * (1 - 1e-9) <= reached <= best * (1 + 1.01 * solver.tol)
    gap = float(re.search(r"gap (\S+) after", found.message)[1])
    assert reached - best <= (gap * 1.1 + 1e-9) * reached


@pytest.mark.parametrize("loss", [hinge, log, multiclass_hinge], ids=repr)
def test_an_intercept_is_the_coefficient_of_a_column_of_ones(loss):
    X, Y, weight = data(loss)
    found = solved(loss, X, Y, weight=weight, fit_intercept=True)
    explicit = solved(loss, np.hstack([X, np.ones((80, 1))]), Y, weight=weight)
    np.testing.assert_allclose(found.coef, explicit.coef[:-1], atol=1e-4)
    np.testing.assert_allclose(found.intercept, explicit.coef[-1], atol=1e-4)
    assert "intercept is penalized" in found.message
    assert "intercept" not in explicit.message
    assert np.array_equal(explicit.intercept, np.zeros(Y.shape[1]))


def test_codes_with_a_penalty_matrix():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (50, 2)).astype(np.uint8)
    coded = Codes(codes, np.array([0, 3]), np.float32(1), 6)
    Y = rng.normal(size=(50, 2))
    P = np.diag(np.arange(1.0, 7.0))
    given = Problem(ArrayRows(coded.tocsr().toarray(), Y), squared, 0.05, P, fit_intercept=False)
    found = solved(squared, coded, Y, penalty=P)
    np.testing.assert_allclose(found.coef, direct.solve(given).coef, atol=1e-5)


def test_a_penalty_that_does_not_fit():
    X, Y, _ = data(squared)
    with pytest.raises(MemoryError, match="the penalty of 4 features"):
        solved(squared, X, Y, penalty=np.eye(4), memory_limit=500)


def test_it_says_where_sweeps_ran_out():
    X, Y, _ = data(hinge)
    found = solved(hinge, X, Y, alpha=1e-4, solver=DualCD(tol=1e-8, max_iter=3))
    assert not found.converged
    assert found.n_iter == 3
    assert "3 sweeps" in found.message


@pytest.mark.parametrize(
    ("name", "value"),
    [("tol", 0.0), ("max_iter", 0), ("random_state", -1), ("penalize_intercept", 1)],
)
def test_bad_parameters(name, value):
    X, Y, _ = data(hinge)
    with pytest.raises(ValueError, match=f"DualCD: {name} must be"):
        solved(hinge, X, Y, solver=DualCD(**{name: value}))


def test_bad_problems():
    X, Y, _ = data(hinge)
    with pytest.raises(ValueError, match=r"DualCD: alpha .* got 0\.0"):
        solved(hinge, X, Y, alpha=0.0)
    with pytest.raises(ValueError, match="infinity or NaN"):
        solved(hinge, 1e200 * X, Y)
