import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from skimp.data import Context, open_rows
from skimp.losses import (
    huber,
    log,
    softmax,
    squared,
    squared_epsilon_insensitive,
    squared_hinge,
)
from skimp.solvers import Newton, Problem, newton
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


def test_equals_logistic_regression_of_scikit_learn():
    alpha = 1e-3
    X, Y = data(log)
    options = {"C": 1 / (2 * len(X) * alpha), "tol": 1e-10, "max_iter": 10_000}
    found = solved(log, X, Y, alpha=alpha)
    for c in range(3):
        peer = LogisticRegression(**options).fit(X, Y[:, c])
        np.testing.assert_allclose(found.coef[:, [c]], peer.coef_.T, atol=1e-5)
        np.testing.assert_allclose(found.intercept[[c]], peer.intercept_, atol=1e-5)


def test_equals_multinomial_regression_of_scikit_learn():
    alpha = 1e-3
    X, Y = data(softmax)
    peer = LogisticRegression(C=1 / (2 * len(X) * alpha), tol=1e-10, max_iter=10_000)
    peer.fit(X, Y.argmax(axis=1))
    found = solved(softmax, X, Y, alpha=alpha)
    np.testing.assert_allclose(found.coef, peer.coef_.T, atol=1e-5)
    # a constant that is added to every class changes nothing
    constant = (found.intercept - peer.intercept_).mean()
    np.testing.assert_allclose(found.intercept - constant, peer.intercept_, atol=1e-5)
    shifted = solved(softmax, X, Y, alpha=alpha, start=(found.coef, found.intercept + 7))
    np.testing.assert_allclose(shifted.intercept.mean(), 0, atol=1e-9)
    assert abs(found.intercept.sum()) <= 1e-10


@pytest.mark.parametrize("loss", [*LABELS, *NUMBERS], ids=repr)
def test_the_objective_never_rises(loss):
    X, Y = data(loss, n=200)
    found = solved(loss, X, Y, alpha=1e-6)
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


def test_targets_that_cost_nothing():
    X, _ = data(squared)
    found = solved(squared_epsilon_insensitive, X, np.full((80, 1), 0.05), solver=newton)
    assert found.converged
    assert found.history[-1] == 0
    assert not found.coef.any()


@pytest.mark.parametrize("loss", [squared_hinge, huber, softmax], ids=repr)
def test_a_start_at_the_solution(loss):
    X, Y = data(loss)
    cold = solved(loss, X, Y)
    warm = solved(loss, X, Y, solver=newton, start=(cold.coef, cold.intercept))
    assert warm.converged
    assert warm.n_iter == 1
    assert warm.history[-1] == pytest.approx(cold.history[-1], rel=1e-10)


@pytest.mark.parametrize("loss", [log, softmax], ids=repr)
def test_it_says_where_steps_ran_out(loss):
    X, Y = data(loss)
    found = solved(loss, X, Y, alpha=1e-6, solver=Newton(tol=1e-12, max_iter=1))
    assert not found.converged
    assert found.n_iter == 1
    assert "1 steps" in found.message


@pytest.mark.parametrize(("name", "value"), [("tol", 0.0), ("max_iter", 0), ("max_iter", 1.5)])
def test_bad_parameters(name, value):
    X, Y = data(log)
    with pytest.raises(ValueError, match=f"Newton: {name} must be"):
        solved(log, X, Y, solver=Newton(**{name: value}))


def test_a_memory_limit_that_is_too_small():
    X, Y = data(log)
    with pytest.raises(MemoryError, match="4 features"):
        solved(log, X, Y, memory_limit=500)


def test_what_overflows_is_refused():
    X, Y = data(squared)
    with (
        pytest.raises(ValueError, match="infinity or NaN"),
        np.errstate(over="ignore", invalid="ignore"),
    ):
        solved(squared, 1e200 * X, Y)


def test_features_are_computed_once_if_they_fit():
    X, Y = data(log, n=300)
    blocks = []

    class Copied:
        width, dtype = 4, np.dtype(float)

        def map_block(self, X, out):
            out[...] = X
            blocks.append(len(X))

    for limit, times in ((None, 1), (40_000, 2)):
        blocks.clear()
        rows = open_rows(X, target=Y, block_rows=16).mapped(Copied())
        tight.solve(Problem(rows, log, 0.05, memory_limit=limit), Context(n_jobs=1))
        # the first block is looked at before
        assert (sum(blocks) <= 300 + 16) is (times == 1)
