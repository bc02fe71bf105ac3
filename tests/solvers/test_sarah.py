"""SARAH against plain NumPy and Newton, its metric, and rows that do not fit or never end."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from skimp.data import ArrayRows, open_rows
from skimp.losses import as_loss
from skimp.solvers import SARAH, Newton, Problem, Status
from skimp.solvers._metric import Metric, largest_leverage
from tests.reference.steps import iterate_sarah
from tests.sources import ChunkedRows

RNG = np.random.default_rng(0)
Z = RNG.normal(0.2, 1.0, (90, 5))
R = np.linalg.cholesky(Z.T @ Z / 90).T
LABELS = np.where(Z[:, :2] + RNG.normal(size=(90, 2)) > 0, 1.0, -1.0)
CLASSES = 2.0 * (np.arange(3) == RNG.integers(3, size=(90, 1))) - 1


def pose(loss="log", alpha=0.01, rows=None, weight=None, **options):
    loss = as_loss(loss, owner="test")
    target = CLASSES if loss.joint else LABELS
    rows = open_rows(Z, target=target, weight=weight) if rows is None else rows
    return Problem(rows, loss, alpha, **options)


def large(n=4000, alpha=0.01, seed=1, **options):
    X = np.random.default_rng(seed).normal(size=(n, 5))
    y = np.where(X[:, :1] + X[:, 1:2] ** 2 > 1, 1.0, -1.0)
    return X, y, pose("log", alpha, open_rows(X, target=y), **options)


def metric_of(problem, batch):
    drawn = problem.rows.sample(2048, 0)
    metric = Metric.of(drawn, problem, batch, 0)
    return metric.widened(drawn.X, drawn.weight, largest_leverage(batch, problem.rows.n_rows))


def matrix_of(metric):
    U = np.hstack([metric.U, metric.u[:, None]])
    return (U.T * metric.values) @ U + metric.rho * np.eye(U.shape[1])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"loss": "squared_hinge", "weight": np.arange(90) % 3 + 0.5},
        {"loss": "softmax", "fit_intercept": False},
        {"loss": "softmax", "penalty": R.T @ R},
    ],
    ids=["log", "weights", "softmax", "penalty"],
)
def test_steps_are_those_of_the_formula(options):
    solver, problem = SARAH(batch_size=7, max_iter=4, tol=1e-12), pose(**options)
    found = solver.solve(problem)
    plain = problem
    if problem.penalty is not None:
        # the metric is that of the coordinates in which the penalty is the identity
        target = problem.rows.targets()
        plain = replace(problem, rows=open_rows(Z @ np.linalg.inv(R), target=target), penalty=None)
    coef, intercept = iterate_sarah(solver, problem, matrix_of(metric_of(plain, 7)), 4)
    assert found.n_iter == 4
    # Cholesky and the solver's eigenvectors give coordinates that differ by a rotation
    np.testing.assert_allclose(found.coef, coef, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found.intercept, intercept, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("batch", [1, 3, 8])
def test_metric_bounds_the_expected_smoothness(batch):
    problem = pose("squared", 0.05, open_rows(Z[:8], target=LABELS[:8]))
    metric = metric_of(problem, batch)
    M, X = matrix_of(metric), np.hstack([Z[:8], np.ones((8, 1))])
    P = 0.1 * np.diag([1.0] * 5 + [0.0])

    def hessian(rows):
        return 2 * X[rows].T @ X[rows] / len(rows) + P

    # a mini-batch of all rows needs no more than a bound of the Hessian
    assert np.linalg.eigvalsh(M - hessian(np.arange(8))).min() > -1e-9
    subsets = [np.array(rows) for rows in combinations(range(8), batch)]
    squares = [hessian(rows) @ np.linalg.solve(M, hessian(rows)) for rows in subsets]
    # the metric leaves out that each term of the mean also has the penalty
    smoothness = 2 + 0.1 / metric.rho
    excess = smoothness * hessian(np.arange(8)) - np.mean(squares, axis=0)
    assert np.linalg.eigvalsh(excess).min() > -1e-9


def test_larger_batches_allow_longer_steps():
    rhos = [metric_of(large()[2], batch).rho for batch in (1, 16, 256)]
    assert rhos[0] > rhos[1] > rhos[2] >= 0.02
    # sampling without replacement has no noise if a mini-batch has all rows
    assert largest_leverage(10, 10) == np.inf
    assert largest_leverage(1, 10) == pytest.approx(2)
    assert largest_leverage(4, np.inf) == pytest.approx(5)


@pytest.mark.parametrize("loss", ["squared", "squared_hinge", "log", "softmax"])
def test_minimum_is_that_of_newton(loss):
    problem = pose(loss, 1e-3)
    best = Newton(tol=1e-12).solve(problem).history[-1]
    found = SARAH(batch_size=16).solve(problem)
    assert found.status is Status.CONVERGED
    assert best * (1 - 1e-9) <= found.history[-1] <= best * (1 + 1e-3)
    assert f"after {found.n_iter} iterations with" in found.message
    assert np.all(np.diff(found.history) <= 1e-12)


def test_step_is_halved_if_the_objective_rises():
    X, y, _ = large()
    # far away rows that are not in the sample of the metric
    sample = set(open_rows(X, target=y).sample(2048, 0).indices.tolist())
    outliers = [i for i in range(len(X)) if i not in sample][:40]
    X[outliers] *= 100
    problem = pose("log", 1e-3, open_rows(X, target=y))
    found = SARAH().solve(problem)
    best = Newton(tol=1e-10).solve(problem).history[-1]
    assert found.status is Status.CONVERGED
    assert "step size 0." in found.message
    assert found.history[-1] <= best * (1 + 1e-3)


class Cubes:
    """Cubic features, so that the rows are mapped."""

    width, dtype = 15, np.dtype(np.float64)

    def map_block(self, X, out):
        out[...] = np.hstack([X, X**2, X**3 / 10])


def test_features_that_do_not_fit_are_sampled():
    X, y, _ = large()
    # sorted rows: samples mix the classes
    order = np.argsort(y[:, 0], kind="stable")
    rows = ChunkedRows(X[order], y[order], sizes=(400,), block_rows=400).mapped(Cubes())
    problem = pose("log", 1e-3, rows)
    found = SARAH(64).solve(replace(problem, memory_limit=300_000))
    best = Newton(tol=1e-10).solve(problem).history[-1]
    assert "mini-batches from samples of" in found.message
    assert found.status is Status.CONVERGED
    assert found.history[-1] <= best * (1 + 1e-3)
    with pytest.raises(MemoryError, match="sarah on 15 features"):
        SARAH(64).solve(replace(problem, memory_limit=20_000))


def learnt(problem, X, y, size, solver):
    learner = solver.learner(problem)
    for start in range(0, len(X), size):
        part = slice(start, start + size)
        learner = learner.learn(open_rows(X[part], target=y[part]))
    return learner


# sampling errors of 4,000 rows and 6 parameters change the loss by about 6 / 4,000, and a first
# block of one row says little about the curvature
@pytest.mark.parametrize(("size", "excess"), [(1, 0.05), (500, 5e-3)])
def test_learning_from_blocks_approaches_the_minimum(size, excess):
    X, y, problem = large(4000)
    best = Newton(tol=1e-10).solve(problem)
    solution = learnt(problem, X, y, size, SARAH()).solution()
    value = np.mean(problem.loss.value(y, X @ solution.coef + solution.intercept))
    value += problem.alpha * np.sum(solution.coef**2)
    assert value <= best.history[-1] * (1 + excess)
    assert f"{4000 // size:,} blocks" in solution.message
    assert solution.status is Status.LEARNING


def test_late_blocks_move_the_coefficients_little():
    X, y, problem = large(4000)
    learner = learnt(problem, X, y, 1000, SARAH())
    before = learner.solution().coef
    # opposite labels
    after = learner.learn(open_rows(X[:10], target=-y[:10])).solution().coef
    assert 0 < np.abs(after - before).max() < 0.02 * np.abs(before).max()
    nothing = ArrayRows(X[:10], -y[:10], np.zeros(10))
    np.testing.assert_array_equal(learner.learn(nothing).solution().coef, before)


@pytest.mark.parametrize(
    ("name", "value"),
    [("batch_size", 0), ("batch_size", 2.0), ("tol", 0), ("max_iter", 0), ("random_state", -1)],
)
def test_bad_parameters(name, value):
    with pytest.raises(ValueError, match=f"SARAH: {name} must be .*{value}"):
        SARAH(**{name: value}).solve(pose())


def test_what_cannot_be_solved():
    for call in (SARAH().solve, SARAH().learner):
        with pytest.raises(ValueError, match=r"SARAH: loss must be smooth.*Hinge"):
            call(pose("hinge"))
        with pytest.raises(ValueError, match=r"SARAH: alpha must be a number > 0, got 0\.0"):
            call(pose(alpha=0.0))
