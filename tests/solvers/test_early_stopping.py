import numpy as np
import pytest

from skimp.data import open_rows
from skimp.losses import log, softmax, squared
from skimp.solvers import EarlyStopping, Newton, Problem, Solution, Status
from skimp.solvers._objective import mean_loss
from tests.problems import regression
from tests.sources import ChunkedRows


def monitored(values):
    """Return a monitor that saw these losses, what it answered, and the coefficients."""
    rows = open_rows(np.ones((1, 1)), target=np.zeros((1, 1)))
    stopping = EarlyStopping(rows, squared)
    coefs = [np.array([[np.sqrt(value)]]) for value in values]
    answers = [stopping(coef, np.zeros(1)) for coef in coefs]
    return stopping, answers, coefs


@pytest.mark.parametrize(
    ("values", "stops", "best"),
    [
        ([4, 3, 2, 1], [0, 0, 0, 0], 4),
        ([4, 3, 5, 5, 5], [0, 0, 0, 0, 1], 2),
        ([4, 5, 5, 3, 6, 6, 6], [0, 0, 0, 0, 0, 0, 1], 4),
        ([1, 1, 1, 1], [0, 0, 0, 1], 1),
    ],
)
def test_three_iterations_without_a_smaller_loss(values, stops, best):
    stopping, answers, coefs = monitored(values)
    assert answers == [bool(stop) for stop in stops]
    np.testing.assert_allclose(stopping.history, values)
    last = Solution(coefs[-1], np.zeros(1), len(values), Status.CONVERGED, "newton: stopped")
    chosen = stopping.best(last)
    assert np.array_equal(chosen.coef, coefs[best - 1])
    assert chosen.n_iter == len(values)
    assert f"check {best} of {len(values)}" in chosen.message


def test_coefficients_are_copied():
    rows = open_rows(np.ones((1, 1)), target=np.zeros((1, 1)))
    stopping, coef = EarlyStopping(rows, squared), np.ones((1, 1))
    stopping(coef, np.zeros(1))
    coef[:] = 7
    assert stopping.best(Solution(coef, np.zeros(1), 1, Status.CONVERGED, "")).coef.item() == 1


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", [squared, softmax], ids=repr)
def test_the_mean_loss_is_its_naive_twin(loss, weighted):
    X, _, weight = regression(70)
    rng = np.random.default_rng(0)
    Y = np.where(rng.integers(0, 3, 70)[:, None] == np.arange(3), 1.0, -1.0)
    coef, b = rng.normal(size=(3, 3)), rng.normal(size=3)
    rows = ChunkedRows(X, Y, weight if weighted else None)
    w = weight if weighted else np.ones(70)
    expected = w @ loss.value(Y, X @ coef + b).sum(axis=1) / w.sum()
    assert mean_loss(rows, loss, coef, b) == pytest.approx(expected, rel=1e-12)


def test_a_solver_returns_the_best_iteration():
    X, y, _ = regression(80, 3)
    Y = np.where(y > 2, 1.0, -1.0)[:, None]
    # labels that are turned around: fitting the others makes matters worse from the first step on
    stopping = EarlyStopping(open_rows(X, target=-Y), log)
    problem = Problem(open_rows(X, target=Y), log, 1e-6, monitor=stopping)
    solution = stopping.best(Newton(tol=1e-12).solve(problem))
    held_out = mean_loss(open_rows(X, target=-Y), log, solution.coef, solution.intercept)
    assert held_out == min(stopping.history)
    assert len(stopping.history) <= 4
    assert "stopped early" in solution.message
