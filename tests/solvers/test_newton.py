import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from skimp.data import Context, open_rows
from skimp.losses import (
    huber,
    log,
    multiclass_hinge,
    quantile,
    softmax,
    squared,
    squared_epsilon_insensitive,
    squared_hinge,
)
from skimp.solvers import DualCD, Newton, Problem, direct, newton
from tests.problems import labelled, regression

LABELS = [squared_hinge, log, softmax]
NUMBERS = [squared, huber, squared_epsilon_insensitive]
tight = Newton(tol=1e-13)


def data(loss, n=80, d=4, *, dtype=np.float64):
    """Return rows, and targets of shape (n, k) that suit the loss."""
    if loss.labels:
        X, y, _ = labelled(n, d, dtype=dtype)
        return X, np.where(y[:, None] == np.arange(3), 1.0, -1.0)
    X, y, _ = regression(n, d, dtype=dtype)
    return X, np.column_stack([y, X[:, 0] ** 2])


def solved(loss, X, Y, *, alpha=0.05, solver=tight, weight=None, **options):
    rows = open_rows(X, target=Y, weight=weight)
    return solver.solve(Problem(rows, loss, alpha, **options), Context(n_jobs=1))


def objective(loss, X, Y, coef, intercept, *, alpha=0.05):
    costs = loss.value(Y, X @ coef + intercept)
    return costs.sum() / len(X) + alpha * np.sum(coef**2)


def is_falling(solution):
    """Tell whether no step raised the objective, up to rounding."""
    history = solution.history
    return np.all(np.diff(history) <= 1e-7 * np.abs(history[0]))


@pytest.mark.parametrize("alpha", [1e-3, 0.05])
def test_equals_logistic_regression_of_scikit_learn(alpha):
    X, Y = data(log)
    options = {"C": 1 / (2 * len(X) * alpha), "tol": 1e-10, "max_iter": 10_000}
    found = solved(log, X, Y, alpha=alpha)
    for c in range(3):
        peer = LogisticRegression(**options).fit(X, Y[:, c])
        np.testing.assert_allclose(found.coef[:, [c]], peer.coef_.T, atol=1e-5)
        np.testing.assert_allclose(found.intercept[[c]], peer.intercept_, atol=1e-5)


@pytest.mark.parametrize("alpha", [1e-3, 0.05])
def test_equals_multinomial_regression_of_scikit_learn(alpha):
    X, Y = data(softmax)
    peer = LogisticRegression(C=1 / (2 * len(X) * alpha), tol=1e-10, max_iter=10_000)
    peer.fit(X, Y.argmax(axis=1))
    found = solved(softmax, X, Y, alpha=alpha)
    np.testing.assert_allclose(found.coef, peer.coef_.T, atol=1e-5)
    # a constant that is added to every class changes nothing
    constant = (found.intercept - peer.intercept_).mean()
    np.testing.assert_allclose(found.intercept - constant, peer.intercept_, atol=1e-5)


def test_equals_the_support_vector_machine_of_scikit_learn():
    X, Y = data(squared_hinge)
    peer = LinearSVC(C=1 / (2 * len(X) * 0.05), fit_intercept=False, tol=1e-9, max_iter=100_000)
    peer.fit(X, Y.argmax(axis=1))
    found = solved(squared_hinge, X, Y, fit_intercept=False)
    np.testing.assert_allclose(found.coef, peer.coef_.T, atol=1e-5)


@pytest.mark.parametrize("loss", [huber, squared_epsilon_insensitive], ids=repr)
def test_equals_a_minimum_of_scipy(loss):
    X, Y = data(loss)
    found = solved(loss, X, Y[:, :1])

    def value(c):
        return objective(loss, X, Y[:, :1], c[:-1, None], c[-1])

    least = minimize(value, np.zeros(5), method="BFGS", options={"gtol": 1e-9}).fun
    assert found.history[-1] <= least * (1 + 1e-9)
    reached = objective(loss, X, Y[:, :1], found.coef, found.intercept)
    assert found.history[-1] == pytest.approx(reached, rel=1e-10)


def test_equals_the_direct_solver():
    X, Y = data(squared)
    expected = direct.solve(Problem(open_rows(X, target=Y), squared, 0.05))
    found = solved(squared, X, Y)
    np.testing.assert_allclose(found.coef, expected.coef, atol=1e-7)
    np.testing.assert_allclose(found.intercept, expected.intercept, atol=1e-7)


@pytest.mark.parametrize("loss", [*NUMBERS, squared_hinge, log], ids=repr)
def test_agrees_with_dual_coordinate_descent(loss):
    X, Y = data(loss)
    dual = solved(loss, X, Y, fit_intercept=False, solver=DualCD(tol=1e-7))
    found = solved(loss, X, Y, fit_intercept=False, solver=Newton(tol=1e-8))
    assert found.history[-1] == pytest.approx(dual.history[-1], rel=1e-6)


@pytest.mark.parametrize("loss", [*LABELS, *NUMBERS], ids=repr)
@pytest.mark.parametrize("alpha", [1e-6, 0.05])
def test_the_objective_never_rises(loss, alpha):
    X, Y = data(loss, n=200)
    found = solved(loss, X, Y, alpha=alpha)
    assert found.converged
    assert is_falling(found)
    assert len(found.history) == found.n_iter


@pytest.mark.parametrize("loss", LABELS, ids=repr)
def test_separable_labels_with_a_tiny_penalty(loss):
    X, Y = data(loss, n=60)
    X = np.hstack([X, 3 * Y])
    found = solved(loss, X, Y, alpha=1e-8, solver=newton)
    assert found.converged
    assert is_falling(found)
    assert found.history[-1] < 1e-4
    assert np.array_equal((X @ found.coef + found.intercept).argmax(axis=1), Y.argmax(axis=1))


@pytest.mark.parametrize("loss", [*LABELS, *NUMBERS], ids=repr)
@pytest.mark.parametrize("case", ["one row", "one target", "zeros"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_degenerate_rows(loss, case, fit_intercept):
    X, Y = data(loss, n=30)
    if case == "one row":
        X, Y = X[:1], Y[:1]
    elif case == "one target":
        Y = Y[[0] * 30]
    else:
        X = 0 * X
    found = solved(loss, X, Y, fit_intercept=fit_intercept, solver=newton)
    assert found.converged
    reached = objective(loss, X, Y, found.coef, found.intercept)
    assert reached == pytest.approx(found.history[-1], rel=1e-9, abs=1e-12)
    rng = np.random.default_rng(0)
    for scale in (1e-2, 1.0):
        coef = found.coef + scale * rng.normal(size=found.coef.shape)
        b = found.intercept + fit_intercept * scale * rng.normal(size=found.intercept.shape)
        assert reached <= objective(loss, X, Y, coef, b) + 1e-4


def test_targets_that_cost_nothing():
    X, _ = data(squared)
    found = solved(squared_epsilon_insensitive, X, np.full((80, 1), 0.05), solver=newton)
    assert found.converged
    assert found.history[-1] == 0
    assert not found.coef.any()


@pytest.mark.parametrize("loss", [*LABELS, *NUMBERS], ids=repr)
@pytest.mark.parametrize("penalized", [False, True])
def test_single_precision(loss, penalized):
    X, Y = data(loss, dtype=np.float32)
    P = np.diag([1.0, 2.0, 3.0, 4.0]) if penalized else None
    found = solved(loss, X, Y, solver=newton, penalty=P)
    expected = solved(loss, X.astype(np.float64), Y, penalty=P)
    assert found.converged
    assert found.coef.dtype == np.float64
    assert found.history[-1] == pytest.approx(expected.history[-1], rel=2e-5)


@pytest.mark.parametrize("loss", [*LABELS, *NUMBERS], ids=repr)
def test_a_start_at_the_solution(loss):
    X, Y = data(loss)
    cold = solved(loss, X, Y)
    warm = solved(loss, X, Y, solver=newton, start=(cold.coef, cold.intercept))
    assert warm.converged
    assert warm.n_iter == 1
    assert warm.history[-1] == pytest.approx(cold.history[-1], rel=1e-10)


@pytest.mark.parametrize("loss", [*LABELS, *NUMBERS], ids=repr)
@pytest.mark.parametrize("scale", [-3.0, 30.0])
def test_a_start_far_away(loss, scale):
    X, Y = data(loss)
    k = Y.shape[1]
    expected = solved(loss, X, Y)
    start = scale * np.ones((4, k)) * np.arange(1, k + 1), np.full(k, -scale)
    found = solved(loss, X, Y, solver=Newton(tol=1e-8), start=start)
    assert found.converged
    assert is_falling(found)
    assert found.history[-1] == pytest.approx(expected.history[-1], rel=1e-6)


@pytest.mark.parametrize("loss", [log, softmax], ids=repr)
def test_it_says_where_steps_ran_out(loss):
    X, Y = data(loss)
    found = solved(loss, X, Y, alpha=1e-6, solver=Newton(tol=1e-12, max_iter=1))
    assert not found.converged
    assert found.n_iter == 1
    assert "of the objective, more than tol, after 1 steps" in found.message


def test_a_monitor_stops_it():
    X, Y = data(log)
    seen = []

    def monitor(coef, intercept):
        seen.append(objective(log, X, Y, coef, intercept))
        return len(seen) == 2

    found = solved(log, X, Y, monitor=monitor)
    np.testing.assert_allclose(found.history, seen, rtol=1e-10)
    assert found.n_iter == len(seen) == 2
    assert found.message.startswith("newton: stopped by the monitor after 2 steps")


@pytest.mark.parametrize("loss", [quantile, multiclass_hinge], ids=repr)
def test_losses_with_kinks_are_refused(loss):
    X, Y = data(loss)
    with pytest.raises(ValueError, match=r"Newton: loss must be a smooth one, got "):
        solved(loss, X, Y)


@pytest.mark.parametrize(("name", "value"), [("tol", 0.0), ("max_iter", 0), ("max_iter", 1.5)])
def test_bad_parameters(name, value):
    X, Y = data(log)
    with pytest.raises(ValueError, match=f"Newton: {name} must be"):
        solved(log, X, Y, solver=Newton(**{name: value}))
