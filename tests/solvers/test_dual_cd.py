import re

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC, LinearSVR

from skimp.data import ArrayRows, Codes, open_rows
from skimp.losses import (
    EpsilonInsensitive,
    Huber,
    Quantile,
    SquaredEpsilonInsensitive,
    epsilon_insensitive,
    hinge,
    log,
    multiclass_hinge,
    softmax,
    squared,
    squared_hinge,
)
from skimp.solvers import DualCD, Problem, direct, dual_cd
from tests.problems import labelled, regression
from tests.sources import ChunkedRows

LABELS = [hinge, squared_hinge, log]
NUMBERS = [
    squared,
    Huber(0.5),
    Quantile(0.8),
    EpsilonInsensitive(0.2),
    SquaredEpsilonInsensitive(0.2),
]
LOSSES = [*LABELS, *NUMBERS, multiclass_hinge]

OTHERS = (Huber, Quantile)
"""Scikit-learn has no peer with the same penalty."""

tight = DualCD(tol=1e-10, max_iter=20_000)


class Identity:
    """A feature map that leaves the rows as they are."""

    def __init__(self, width, dtype=np.float64):
        self.width, self.dtype = width, np.dtype(dtype)

    def map_block(self, X, out):
        out[...] = X


def data(loss, n=80, d=4, *, seed=0):
    """Return rows, targets that suit the loss, of shape (n, k), and weights."""
    if not loss.labels:
        X, y, weight = regression(n, d, seed=seed)
        return X, np.column_stack([y, X[:, 0] ** 2]), weight
    X, y, weight = labelled(n, d, seed=seed)
    return X, np.where(y[:, None] == np.arange(3), 1.0, -1.0), weight


def objective(loss, X, Y, coef, intercept=0.0, *, alpha, weight=None, P=None):
    """Return the objective, of which the intercept is penalized."""
    weight = np.ones(len(X)) if weight is None else weight
    costs = loss.value(Y, X @ coef + intercept).sum(axis=1)
    P = np.eye(len(coef)) if P is None else P
    penalty = np.trace(coef.T @ P @ coef) + np.sum(np.square(intercept))
    return weight @ costs / weight.sum() + alpha * penalty


def solved(loss, X, Y, *, weight=None, alpha=0.05, solver=tight, fit_intercept=False, **options):
    rows = ArrayRows(X, Y, weight, block_rows=32).copy_with(n_jobs=1)
    return solver.solve(Problem(rows, loss, alpha, fit_intercept=fit_intercept, **options))


def memory(n, k, width):
    """Return bytes that leave no room for features."""
    return 17 * n * k + 32 * n + 24 * k * width


def naive_sweeps(loss, X, y, alpha, n_sweeps):
    """Return the coefficients after plain sweeps in order, without shrinking, for one output."""
    C = 1 / (2 * alpha * len(X))
    slopes, v = np.zeros(len(X)), np.zeros(X.shape[1])
    q, epsilon = float(loss.curve), loss.epsilon
    for _ in range(n_sweeps):
        for i, x in enumerate(X):
            low, high = loss.limits(y[i])
            H = C * (x @ x) + q / 2
            t = slopes[i] - (x @ v - y[i] + q * slopes[i] / 2) / H
            new = np.clip(np.sign(t) * max(abs(t) - epsilon / H, 0), low, high)
            v += C * (new - slopes[i]) * x
            slopes[i] = new
    return v


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


@pytest.mark.parametrize("alpha", [0.01, 0.05, 1.0])
@pytest.mark.parametrize("loss", [f for f in LOSSES if not isinstance(f, OTHERS)], ids=repr)
def test_equals_scikit_learn(loss, alpha):
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


@pytest.mark.parametrize("loss", [squared, Huber(0.5), squared_hinge, log], ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("penalized", [False, True])
def test_equals_a_general_minimiser(loss, weighted, penalized):
    X, Y, weight = data(loss)
    weight = weight if weighted else None
    A = np.random.default_rng(1).normal(size=(4, 8))
    P = A @ A.T / 4 if penalized else None
    shape = (5, Y.shape[1])

    def cost(flat):
        c = flat.reshape(shape)
        return objective(loss, X, Y, c[:-1], c[-1], alpha=0.05, weight=weight, P=P)

    found = minimize(cost, np.zeros(shape).ravel(), method="BFGS", options={"gtol": 1e-7})
    expected = found.x.reshape(shape)
    solution = solved(loss, X, Y, weight=weight, penalty=P, fit_intercept=True)
    np.testing.assert_allclose(solution.coef, expected[:-1], atol=1e-4)
    np.testing.assert_allclose(solution.intercept, expected[-1], atol=1e-4)
    np.testing.assert_allclose(solution.history[-1], cost(found.x), rtol=1e-8)


@pytest.mark.parametrize("tau", [0.2, 0.5, 0.9])
def test_quantile_loss_equals_a_quadratic_program(tau):
    X, Y, _ = regression(12, 2)
    Y = Y[:, None] - 2
    n, alpha = 12, 0.02

    def cost(u):
        return (tau * u[2 : 2 + n].sum() + (1 - tau) * u[2 + n :].sum()) / n + alpha * u[:2] @ u[:2]

    residuals = {
        "type": "eq",
        "fun": lambda u: Y[:, 0] - X @ u[:2] - u[2 : 2 + n] + u[2 + n :],
        "jac": lambda u: np.hstack([-X, -np.eye(n), np.eye(n)]),
    }
    bounds = [(None, None)] * 2 + [(0, None)] * (2 * n)
    program = minimize(
        cost,
        np.zeros(2 + 2 * n),
        method="SLSQP",
        bounds=bounds,
        constraints=residuals,
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    solution = solved(Quantile(tau), X, Y, alpha=alpha)
    np.testing.assert_allclose(solution.coef[:, 0], program.x[:2], atol=1e-4)
    np.testing.assert_allclose(solution.history[-1], program.fun, rtol=1e-6)


@pytest.mark.parametrize("loss", [hinge, *NUMBERS], ids=repr)
def test_shrinking_reaches_the_optimum_of_plain_sweeps(loss):
    X, Y, _ = data(loss, n=60)
    expected = naive_sweeps(loss, X, Y[:, 0], 0.05, 400)
    solution = solved(loss, X, Y[:, :1])
    np.testing.assert_allclose(solution.coef[:, 0], expected, atol=1e-4)
    plain = objective(loss, X, Y[:, :1], expected[:, None], alpha=0.05)
    assert solution.history[-1] <= plain * (1 + 1e-9)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("alpha", [0.02, 0.5])
def test_history_ends_at_the_objective_and_the_gap_bounds_it(loss, alpha):
    X, Y, weight = data(loss)
    found = solved(loss, X, Y, weight=weight, alpha=alpha, solver=dual_cd, fit_intercept=True)
    best = solved(loss, X, Y, weight=weight, alpha=alpha, fit_intercept=True).history[-1]
    reached = objective(loss, X, Y, found.coef, found.intercept, alpha=alpha, weight=weight)
    assert found.converged
    np.testing.assert_allclose(found.history[-1], reached, rtol=1e-10)
    assert (np.diff(found.history) <= 0).all()
    assert best * (1 - 1e-9) <= reached <= best * (1 + 1.01e-4)
    gap = float(re.search(r"gap (\S+) of", found.message)[1])
    assert reached - best <= (gap * 1.1 + 1e-9) * reached


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_an_intercept_is_the_coefficient_of_a_column_of_ones(loss):
    X, Y, weight = data(loss)
    found = solved(loss, X, Y, weight=weight, fit_intercept=True)
    explicit = solved(loss, np.hstack([X, np.ones((80, 1))]), Y, weight=weight)
    np.testing.assert_allclose(found.coef, explicit.coef[:-1], atol=1e-4)
    np.testing.assert_allclose(found.intercept, explicit.coef[-1], atol=1e-4)
    assert found.message.endswith("sweeps, the intercept is penalized")
    assert explicit.message.endswith("sweeps")
    assert np.array_equal(explicit.intercept, np.zeros(Y.shape[1]))


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_weights_are_repetitions(loss):
    X, Y, weight = data(loss)
    found = solved(loss, X, Y, weight=weight)
    count = weight.astype(int)
    twin = solved(loss, np.repeat(X, count, axis=0), np.repeat(Y, count, axis=0))
    np.testing.assert_allclose(found.history[-1], twin.history[-1], rtol=1e-9)
    np.testing.assert_allclose(found.coef, twin.coef, atol=1e-4)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_rows_without_weight_do_not_count(loss):
    X, Y, weight = data(loss)
    found = solved(loss, X, Y, weight=weight)
    X[weight == 0], Y[weight == 0] = 1e6, -Y[weight == 0]
    if loss.joint:
        Y[weight == 0] = [1.0, -1.0, -1.0]
    other = solved(loss, X, Y, weight=weight)
    assert np.array_equal(found.coef, other.coef)
    assert found.n_iter == other.n_iter


@pytest.mark.parametrize("loss", [hinge, log, multiclass_hinge], ids=repr)
def test_dense_csr_and_codes_are_the_same_rows(loss):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 5, (90, 6)).astype(np.uint8)
    coded = Codes(codes, 5 * np.arange(6), np.float64(0.4), 30)
    csr = coded.tocsr()
    Y = np.where(rng.integers(0, 3, 90)[:, None] == np.arange(3), 1.0, -1.0)
    solutions = [solved(loss, X, Y, fit_intercept=True) for X in (csr.toarray(), csr, coded)]
    for other in solutions[1:]:
        np.testing.assert_allclose(other.coef, solutions[0].coef, atol=1e-5)
        np.testing.assert_allclose(other.history[-1], solutions[0].history[-1], rtol=1e-9)


def test_codes_with_a_penalty_matrix():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (50, 2)).astype(np.uint8)
    coded = Codes(codes, np.array([0, 3]), np.float32(1), 6)
    Y = rng.normal(size=(50, 2))
    P = np.diag(np.arange(1.0, 7.0))
    given = Problem(ArrayRows(coded.tocsr().toarray(), Y), squared, 0.05, P, fit_intercept=False)
    found = solved(squared, coded, Y, penalty=P)
    np.testing.assert_allclose(found.coef, direct.solve(given).coef, atol=1e-5)


@pytest.mark.parametrize(
    "convert",
    [
        lambda X: X.astype(np.float32),
        lambda X: X.astype(np.int8),
        lambda X: X.astype(np.int64),
        lambda X: X.astype(np.float16),
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=0)[::2],
        lambda X: sparse.csr_matrix(X.astype(np.int64)),
    ],
)
def test_any_array_of_numbers(convert):
    X, Y, _ = data(hinge)
    X = np.round(3 * X)
    expected = solved(hinge, X, Y)
    found = solved(hinge, convert(X), Y)
    np.testing.assert_allclose(found.history[-1], expected.history[-1], rtol=1e-9)
    assert found.coef.dtype == np.float64


@pytest.mark.parametrize("limit", [None, memory(80, 3, 4)])
def test_a_file_is_kept_in_memory_or_read_in_order(tmp_path, limit):
    X, Y, _ = data(hinge)
    np.save(tmp_path / "X.npy", X)
    file = np.load(tmp_path / "X.npy", mmap_mode="r")
    found = solved(hinge, file, Y, memory_limit=limit)
    np.testing.assert_allclose(found.history[-1], solved(hinge, X, Y).history[-1], rtol=1e-9)
    assert found.message.endswith("sweeps" if limit is None else "to save memory")


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_float32_rows(loss):
    X, Y, weight = data(loss)
    X = X.astype(np.float32)
    found = solved(loss, X, Y, weight=weight)
    expected = solved(loss, X.astype(np.float64), Y, weight=weight)
    np.testing.assert_allclose(found.history[-1], expected.history[-1], rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_singular_penalty(dtype):
    X, Y, _ = data(squared)
    Z = np.hstack([X, X]).astype(dtype)
    # the penalty of two equal landmarks for each of four: v is the sum of their coefficients
    P = np.tile(np.eye(4), (2, 2))
    found = solved(squared, Z, Y, penalty=P)
    expected = solved(squared, X.astype(dtype), Y)
    np.testing.assert_allclose(found.history[-1], expected.history[-1], rtol=1e-6)
    np.testing.assert_allclose(Z @ found.coef, X @ expected.coef, atol=1e-4)
    assert "without 4 directions that the penalty hardly sees" in found.message


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("room", [0, 4000])
def test_features_that_do_not_fit_are_computed_again(loss, room):
    X, Y, weight = data(loss, n=200)
    rows = ChunkedRows(X, Y, weight).mapped(Identity(4))
    limit = memory(200, Y.shape[1], 4)
    solver = DualCD(tol=1e-8)
    streamed = solver.solve(Problem(rows, loss, 0.05, memory_limit=limit + room))
    kept = solver.solve(Problem(rows, loss, 0.05))
    note = "features computed in every sweep to save memory"
    assert note in streamed.message
    assert note not in kept.message
    np.testing.assert_allclose(streamed.history[-1], kept.history[-1], rtol=2e-8)
    np.testing.assert_allclose(streamed.coef, kept.coef, atol=1e-3)
    with pytest.raises(MemoryError, match=r"200 rows with .* choose another solver"):
        solver.solve(Problem(rows, loss, 0.05, memory_limit=limit - 1))


def test_a_penalty_that_does_not_fit():
    X, Y, _ = data(squared)
    with pytest.raises(MemoryError, match="the penalty of 4 features"):
        solved(squared, X, Y, penalty=np.eye(4), memory_limit=500)


@pytest.mark.parametrize("loss", [hinge, log, multiclass_hinge], ids=repr)
@pytest.mark.parametrize("limit", [None, memory(300, 3, 4), memory(300, 3, 4) + 4000])
def test_bits_do_not_depend_on_threads(loss, limit):
    X, Y, weight = data(loss, n=300)
    rows = open_rows(X, target=Y, weight=weight, block_rows=32)
    one, two = (
        dual_cd.solve(
            Problem(
                rows.copy_with(n_jobs=n_jobs).mapped(Identity(4)), loss, 0.01, memory_limit=limit
            )
        )
        for n_jobs in (1, 2)
    )
    assert np.array_equal(one.coef, two.coef)
    assert np.array_equal(one.history, two.history)
    assert one.message == two.message


def test_the_seed_decides_the_order_of_rows():
    X, Y, _ = data(hinge)
    first, again, other = (
        solved(hinge, X, Y, solver=DualCD(max_iter=3, random_state=seed)) for seed in (0, 0, 1)
    )
    assert np.array_equal(first.coef, again.coef)
    assert not np.array_equal(first.coef, other.coef)


def test_a_sample_saves_sweeps_on_rows_that_do_not_fit():
    X, y, _ = regression(600, 4)
    X = X[np.argsort(y)]
    rows = ChunkedRows(X, np.where(np.arange(600) < 300, 1.0, -1.0)[:, None]).mapped(Identity(4))
    alone, sampled = (
        dual_cd.solve(Problem(rows, hinge, 1e-3, memory_limit=memory(600, 1, 4) + room))
        for room in (0, 10_000)
    )
    assert alone.history[-1] == pytest.approx(sampled.history[-1], rel=2e-4)
    assert 5 * sampled.n_iter < alone.n_iter


def test_rows_in_memory_change_places_as_a_whole():
    X, Y, _ = data(hinge)
    few, many = (
        DualCD(max_iter=3).solve(Problem(ArrayRows(X, Y, block_rows=size), hinge, 0.01))
        for size in (7, 80)
    )
    assert np.array_equal(few.coef, many.coef)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("penalized", [False, True])
def test_a_start_at_the_solution_saves_sweeps(loss, penalized):
    X, Y, weight = data(loss)
    P = np.diag([1.0, 2.0, 3.0, 4.0]) if penalized else None
    options = {"weight": weight, "penalty": P, "fit_intercept": True, "alpha": 0.01}
    cold = solved(loss, X, Y, solver=dual_cd, **options)
    best = solved(loss, X, Y, **options)
    warm = solved(loss, X, Y, solver=dual_cd, start=(best.coef, best.intercept), **options)
    assert warm.n_iter < cold.n_iter
    reached = objective(loss, X, Y, warm.coef, warm.intercept, alpha=0.01, weight=weight, P=P)
    np.testing.assert_allclose(warm.history[-1], reached, rtol=1e-9)
    assert reached <= best.history[-1] * (1 + 1e-9)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_a_bad_start_does_no_harm(loss):
    X, Y, _ = data(loss)
    start = (np.full((4, Y.shape[1]), -1e3), np.full(Y.shape[1], 1e3))
    expected = solved(loss, X, Y)
    found = solved(loss, X, Y, start=start, solver=DualCD(tol=1e-7))
    assert found.converged
    assert np.array_equal(found.intercept, np.zeros(Y.shape[1]))
    np.testing.assert_allclose(found.history[-1], expected.history[-1], rtol=2e-7)


def test_a_monitor_sees_the_problem_s_coefficients_and_stops():
    X, Y, _ = data(squared)
    P = np.diag([1.0, 2.0, 3.0, 4.0])
    seen = []

    def monitor(coef, intercept):
        seen.append(objective(squared, X, Y, coef, intercept, alpha=1e-3, P=P))
        return len(seen) == 3

    found = solved(squared, X, Y, alpha=1e-3, penalty=P, fit_intercept=True, monitor=monitor)
    np.testing.assert_allclose(found.history, seen, rtol=1e-9)
    assert len(seen) == 3
    assert found.converged
    assert found.message.endswith(", stopped by the monitor, the intercept is penalized")


def test_it_says_where_sweeps_ran_out():
    X, Y, _ = data(hinge)
    found = solved(hinge, X, Y, alpha=1e-4, solver=DualCD(tol=1e-8, max_iter=3))
    assert not found.converged
    assert found.n_iter == 3
    assert re.fullmatch(r"dual_cd: duality gap \S+ of the objective after 3 sweeps", found.message)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("case", ["zeros", "some zeros", "equal rows", "one row", "one target"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_degenerate_rows(loss, case, fit_intercept):
    X, Y, _ = data(loss, n=30)
    if case == "zeros":
        X[:] = 0
    elif case == "some zeros":
        X[::3] = 0
    elif case == "equal rows":
        X[:] = X[0]
    elif case == "one row":
        X, Y = X[:1], Y[:1]
    else:
        Y[:] = Y[0]
    found = solved(loss, X, Y, fit_intercept=fit_intercept, alpha=0.3)
    assert found.converged
    reached = objective(loss, X, Y, found.coef, found.intercept, alpha=0.3)
    np.testing.assert_allclose(found.history[-1], reached, rtol=1e-10)
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1e-1):
        coef = found.coef + scale * rng.normal(size=found.coef.shape)
        assert reached <= objective(loss, X, Y, coef, found.intercept, alpha=0.3) + 1e-9


def test_targets_without_a_loss_are_solved_by_zeros():
    found = solved(epsilon_insensitive, np.eye(3), np.full((3, 1), 0.05), fit_intercept=True)
    assert found.converged
    assert not found.coef.any()
    assert found.history[-1] == 0


@pytest.mark.parametrize("scale", [1e-6, 1e6])
@pytest.mark.parametrize("loss", [hinge, squared, log, multiclass_hinge], ids=repr)
def test_scales(loss, scale):
    X, Y, _ = data(loss)
    expected = solved(loss, X, Y)
    found = solved(loss, scale * X, Y, alpha=0.05 * scale**2)
    np.testing.assert_allclose(scale * found.coef, expected.coef, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "value"),
    [("tol", 0.0), ("tol", "small"), ("max_iter", 0), ("max_iter", 1.5), ("random_state", -1)],
)
def test_bad_parameters(name, value):
    X, Y, _ = data(hinge)
    with pytest.raises(ValueError, match=f"DualCD: {name} must be"):
        solved(hinge, X, Y, solver=DualCD(**{name: value}))


def test_bad_problems():
    X, Y, _ = data(hinge)
    with pytest.raises(ValueError, match=r"DualCD: loss must be .*, got Softmax"):
        solved(softmax, X, Y)
    with pytest.raises(ValueError, match=r"DualCD: alpha must be a number > 0, got 0\.0"):
        solved(hinge, X, Y, alpha=0.0)
    with pytest.raises(ValueError, match="infinity or NaN: rescale"):
        solved(hinge, 1e200 * X, Y)
