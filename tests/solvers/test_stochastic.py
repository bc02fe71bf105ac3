"""Pegasos and SGD against plain NumPy, against exact solvers, and on sources that do not fit."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from skimp.data import Context, open_rows
from skimp.losses import as_loss
from skimp.solvers import SGD, Direct, DualCD, Pegasos, Problem, Status
from tests.reference.steps import take_steps
from tests.sources import ChunkedRows

RNG = np.random.default_rng(0)
Z = RNG.normal(0.2, 1.0, (60, 5))
R = np.linalg.cholesky(Z.T @ Z / 60).T
LABELS = np.where(Z[:, :2] + RNG.normal(size=(60, 2)) > 0, 1.0, -1.0)
CLASSES = 2.0 * (np.arange(3) == RNG.integers(3, size=(60, 1))) - 1
WEIGHT = np.arange(60) % 3 + 0.5


def pose(loss="hinge", alpha=0.01, rows=None, **options):
    loss = as_loss(loss, owner="test")
    target = CLASSES if loss.joint else LABELS
    return Problem(open_rows(Z, target=target) if rows is None else rows, loss, alpha, **options)


@pytest.mark.parametrize(
    ("solver", "options"),
    [
        (Pegasos(average=False), {}),
        (Pegasos(), {"fit_intercept": False}),
        (Pegasos(batch_size=7, order="iid"), {"loss": "multiclass_hinge"}),
        (Pegasos(project=True, average=False), {"alpha": 1.0}),
        (Pegasos(project=True), {"loss": "softmax", "alpha": 1.0}),
        (Pegasos(order="fixed"), {"loss": "epsilon_insensitive"}),
        (Pegasos(), {"loss": "squared"}),
        (SGD(theta=2.0), {}),
        (SGD(theta=2.0, schedule="inverse", average=False), {"loss": "log"}),
        (SGD(theta=0.5, delay=5, batch_size=4), {"loss": "log"}),
        (SGD(theta=0.5, delay=2), {"loss": "squared"}),
        (SGD(theta=40.0), {"alpha": 0.01}),
        (SGD(theta=0.1, coordinates="raw", batch_size=8), {"penalty": R.T @ R, "loss": "squared"}),
        (SGD(theta=0.1, coordinates="raw", batch_size=8), {"penalty": R.T @ R}),
        (Pegasos(), {"penalty": R.T @ R}),
    ],
    ids=lambda part: " ".join(repr(part).split())[:60],
)
def test_steps_are_those_of_the_formula(solver, options):
    solver = solver.set_params(max_iter=3, tol=1e-9)
    problem = pose(**options)
    weighted = replace(problem, rows=open_rows(Z, target=problem.rows.targets(), weight=WEIGHT))
    for case in (problem, weighted):
        found = solver.solve(case)
        coef, intercept = take_steps(solver, case, n_passes=3)
        np.testing.assert_allclose(found.coef, coef, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(found.intercept, intercept, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("loss", ["hinge", "log", "squared", "quantile", "multiclass_hinge"])
@pytest.mark.parametrize("solver", [Pegasos(), SGD()], ids=repr)
def test_all_solvers_have_the_same_minimum(solver, loss):
    problem = pose(loss, alpha=0.05, penalty=R.T @ R)
    found = solver.set_params(max_iter=2000, tol=1e-3).solve(problem)
    exact = DualCD(tol=1e-7, max_iter=5000, penalize_intercept=found.intercept_penalized)
    best = exact.solve(problem).history[-1]
    assert found.status is Status.CONVERGED
    # the estimate of the distance to the minimum is right within a factor of 5
    assert best * (1 - 1e-6) <= found.history[-1] <= best * (1 + 5e-3)


def test_forms_of_the_rows_give_the_same_steps():
    single = open_rows(Z.astype(np.float32), target=LABELS)
    forms = {"sparse": open_rows(sparse.csr_matrix(Z), target=LABELS), "float32": single}
    for solver in (Pegasos(max_iter=5, tol=1e-9), SGD(max_iter=5, tol=1e-9)):
        expected = solver.solve(pose("log")).coef
        for name, rows in forms.items():
            found = solver.solve(pose("log", rows=rows)).coef
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5, err_msg=name)


def test_weights_are_numbers_of_equal_rows():
    count = np.arange(60) % 3
    repeated = open_rows(np.repeat(Z, count, axis=0), target=np.repeat(LABELS, count, axis=0))
    weighted = open_rows(Z, target=LABELS, weight=count)
    for solver in (Pegasos(tol=1e-4, max_iter=3000), SGD(tol=1e-4, max_iter=3000)):
        a, b = (solver.solve(pose("log", 0.05, rows)).history[-1] for rows in (weighted, repeated))
        assert a == pytest.approx(b, rel=1e-3)


@pytest.mark.parametrize("in_memory", [True, False])
def test_features_that_do_not_fit_are_drawn_in_buffers(in_memory):
    X = np.random.default_rng(1).normal(size=(4000, 5))
    y = np.where(X[:, :1] + X[:, 1:2] ** 2 > 1, 1.0, -1.0)
    if not in_memory:
        # sorted rows: only a shuffle within the buffer mixes the classes
        order = np.argsort(y[:, 0], kind="stable")[np.arange(4000).reshape(2, -1).T.ravel()]
        X, y = X[order], y[order]
    rows = open_rows(X, target=y) if in_memory else ChunkedRows(X, y)
    problem = Problem(
        rows.mapped(Cubes()), as_loss("log", owner="test"), 0.01, memory_limit=250_000
    )
    found = Pegasos(max_iter=50).solve(problem)
    free = replace(problem, memory_limit=None)
    best = DualCD(tol=1e-6, penalize_intercept=True).solve(free).history[-1]
    assert ("drawn freely" if in_memory else "shuffled") in found.message
    assert "in buffers of" in found.message
    # the history is that of a sample
    F = rows.mapped(Cubes()).collect().X @ found.coef + found.intercept
    squares = np.sum(found.coef**2) + np.sum(found.intercept**2)
    objective = problem.loss.value(y, F).mean() + problem.alpha * squares
    assert objective == pytest.approx(best, rel=0.01)
    assert found.history[-1] == pytest.approx(objective, rel=0.05)


def test_memory_does_not_grow_with_rows_that_are_read_in_order():
    peaks = []
    for n in (20_000, 160_000):
        rows = ChunkedRows(*made(n), sizes=(1000,), block_rows=1000).mapped(Cubes())
        problem = Problem(rows, as_loss("log", owner="test"), 0.01, memory_limit=400_000)
        tracemalloc.start()
        found = Pegasos(max_iter=2, tol=1e-9).solve(problem, Context(n_jobs=1))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert "rows shuffled in buffers of 7" in found.message
    assert peaks[1] < 1.1 * peaks[0]


def made(n):
    X = np.random.default_rng(1).normal(size=(n, 5))
    return X, np.where(X[:, :1] + X[:, 1:2] ** 2 > 1, 1.0, -1.0)


def test_what_must_be_in_memory_is_refused():
    rows = ChunkedRows(*made(1000)).mapped(Cubes())
    # coefficients, and 64 rows with their targets and orders
    least = 40 * 15 + 64 * (4 * 15 * 8 + 2 * 8 * 5)
    for limit in (least, least - 1):
        problem = Problem(rows, as_loss("log", owner="test"), 0.01, memory_limit=limit)
        if limit == least:
            assert "in buffers of 64" in Pegasos(max_iter=1).solve(problem).message
            continue
        with pytest.raises(MemoryError, match=r"15 features with 1 outputs.*use a smaller budget"):
            Pegasos(max_iter=1).solve(problem)


class Cubes:
    """Cubic features, so that the rows are mapped."""

    width, dtype = 15, np.dtype(np.float64)

    def map_block(self, X, out):
        out[...] = np.hstack([X, X**2, X**3 / 10])


def test_delayed_gradients_do_not_depend_on_threads():
    solver = SGD(delay=8, max_iter=4, tol=1e-9)
    found = [solver.solve(pose("log"), Context(n_jobs)).coef for n_jobs in (1, 2)]
    np.testing.assert_array_equal(*found)
    assert not np.array_equal(found[0], SGD(max_iter=4, tol=1e-9).solve(pose("log")).coef)


def test_learning_from_blocks_approaches_the_minimum():
    X = np.random.default_rng(2).normal(size=(20_000, 5))
    y = np.where(X[:, :1] > 0.5, 1.0, -1.0)
    problem = Problem(open_rows(X, target=y), as_loss("log", owner="test"), 1e-3)
    for solver in (Pegasos(), SGD()):
        learner, penalized = solver.learner(problem), isinstance(solver, Pegasos)
        best = DualCD(tol=1e-6, penalize_intercept=penalized).solve(problem)
        for start in range(0, len(X), 500):
            part = slice(start, start + 500)
            learner = learner.learn(open_rows(X[part], target=y[part]))
        solution = learner.solution()
        np.testing.assert_allclose(solution.coef, best.coef, atol=0.05 * np.abs(best.coef).max())
        assert "20,000 steps" in solution.message


def test_one_row_at_a_time_is_one_pass_in_the_given_order():
    learner = Pegasos(average=False).learner(pose("hinge"))
    for i in range(60):
        learner = learner.learn(open_rows(Z[[i]], target=LABELS[[i]]))
    v, b = np.zeros((5, 2)), np.zeros(2)
    for t, (z, y) in enumerate(zip(Z, LABELS, strict=True), start=1):
        slope = np.where(y * (z @ v + b) < 1, -y, 0.0)
        v, b = (
            (1 - 1 / t) * v - np.outer(z, slope) / (0.02 * t),
            (1 - 1 / t) * b - slope / (0.02 * t),
        )
    np.testing.assert_allclose(learner.solution().coef, v, rtol=1e-9)
    np.testing.assert_allclose(learner.solution().intercept, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("order", ["reshuffled", "iid"])
@pytest.mark.parametrize("size", [1, 50])
def test_weights_count_across_the_blocks_of_a_stream(size, order):
    rng = np.random.default_rng(3)
    X, weight = rng.normal(size=(2000, 2)), rng.choice([0.05, 1.0], 2000)
    # light rows have the opposite slope
    y = np.where(weight > 0.5, 1.0, -1.0)[:, None] * X[:, :1]
    problem = Problem(open_rows(X, target=y), as_loss("squared", owner="test"), 1e-3)
    learner = Pegasos(order=order).learner(problem)
    for start in range(0, len(X), size):
        part = slice(start, start + size)
        learner = learner.learn(open_rows(X[part], target=y[part], weight=weight[part]))
    # the minimum is near (1 - 0.05) / (1 + 0.05) = 0.905; without weights it would be 0
    np.testing.assert_allclose(learner.solution().coef[:, 0], [0.905, 0.0], atol=0.08)


def test_the_ball_contains_the_minimum_of_weighted_rows():
    heavy = np.arange(60) % 10 == 0
    rows = open_rows(Z, target=10.0 * heavy[:, None] * Z[:, :1], weight=heavy * 999.0 + 1)
    problem = Problem(rows, as_loss("squared", owner="test"), 0.5, fit_intercept=False)
    found = Pegasos(project=True, tol=1e-4, max_iter=1000).solve(problem)
    np.testing.assert_allclose(found.history[-1], Direct().solve(problem).history[-1], rtol=2e-3)


def test_raw_steps_do_not_diverge_if_the_penalty_is_strong():
    for loss in ("hinge", "squared"):
        problem = pose(loss, alpha=1e4, penalty=R.T @ R, fit_intercept=False)
        best = DualCD(tol=1e-6).solve(problem).history[-1]
        found = SGD(coordinates="raw", max_iter=20).solve(problem)
        assert found.history[-1] == pytest.approx(best, rel=0.02)


def test_batches_and_delays_longer_than_a_pass():
    options = {"theta": 0.5, "max_iter": 2, "tol": 1e-9}
    for name, longest in (("batch_size", 60), ("delay", 59)):
        coefs = [
            SGD(**options, **{name: size}).solve(pose("log")).coef for size in (longest, 10**9)
        ]
        np.testing.assert_array_equal(*coefs)


@pytest.mark.parametrize("solver", [Pegasos(), SGD()], ids=repr)
def test_alpha_must_be_positive(solver):
    with pytest.raises(ValueError, match="alpha must be a number > 0, got 0"):
        solver.solve(pose(alpha=0.0))
