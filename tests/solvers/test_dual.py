import numpy as np
import pytest

from skimp.data import ArrayRows, Context, open_rows
from skimp.losses import epsilon_insensitive, hinge, log, multiclass_hinge, squared
from skimp.solvers import DualCD, Problem, _dual_memory, dual_cd
from tests.duals import NUMBERS, Identity, data, least_memory, memory, objective, solved
from tests.problems import regression
from tests.sources import ChunkedRows


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


@pytest.mark.parametrize("loss", [hinge, *NUMBERS], ids=repr)
def test_shrinking_reaches_the_optimum_of_plain_sweeps(loss):
    X, Y, _ = data(loss, n=60)
    expected = naive_sweeps(loss, X, Y[:, 0], 0.05, 400)
    solution = solved(loss, X, Y[:, :1])
    np.testing.assert_allclose(solution.coef[:, 0], expected, atol=1e-4)
    plain = objective(loss, X, Y[:, :1], expected[:, None], alpha=0.05)
    assert solution.history[-1] <= plain * (1 + 1e-9)


@pytest.mark.parametrize("loss", [hinge, log, multiclass_hinge], ids=repr)
def test_rows_without_weight_do_not_count(loss):
    X, Y, weight = data(loss)
    found = solved(loss, X, Y, weight=weight)
    X[weight == 0], Y[weight == 0] = 1e6, -Y[weight == 0]
    if loss.joint:
        Y[weight == 0] = [1.0, -1.0, -1.0]
    other = solved(loss, X, Y, weight=weight)
    assert np.array_equal(found.coef, other.coef)
    assert found.n_iter == other.n_iter


@pytest.mark.parametrize("limit", [None, memory(300, 3, 4)])
def test_a_file_is_kept_in_memory_or_read_in_order(tmp_path, limit):
    X, Y, _ = data(hinge, n=300)
    np.save(tmp_path / "X.npy", X)
    file = np.load(tmp_path / "X.npy", mmap_mode="r")
    solver = DualCD(tol=1e-7)
    found = solved(hinge, file, Y, memory_limit=limit, solver=solver)
    np.testing.assert_allclose(found.history[-1], solved(hinge, X, Y).history[-1], rtol=2e-7)
    assert ("recomputed in every pass" in found.message) is (limit is not None)


@pytest.mark.parametrize(
    ("loss", "room"),
    [(hinge, 0), (log, 4000), pytest.param(multiclass_hinge, 0, marks=pytest.mark.thorough)],
)
def test_features_that_do_not_fit_are_computed_again(loss, room):
    X, Y, weight = data(loss, n=200)
    rows = ChunkedRows(X, Y, weight).mapped(Identity(4))
    limit = least_memory(Y.shape[1], 4)
    solver = DualCD(tol=1e-8)
    streamed = solver.solve(Problem(rows, loss, 0.05, memory_limit=limit + room))
    kept = solver.solve(Problem(rows, loss, 0.05))
    assert "recomputed in every pass" in streamed.message
    assert "dual variables in a temporary file" in streamed.message
    assert "to save memory" not in kept.message
    np.testing.assert_allclose(streamed.history[-1], kept.history[-1], rtol=2e-8)
    np.testing.assert_allclose(streamed.coef, kept.coef, atol=1e-3)
    with pytest.raises(MemoryError, match="4 features with 3 outputs"):
        solver.solve(Problem(rows, loss, 0.05, memory_limit=limit - 1))


@pytest.mark.parametrize(("loss", "room"), [(hinge, 4000), (log, 0), (multiclass_hinge, 4000)])
def test_bits_of_features_computed_again_do_not_depend_on_threads(loss, room):
    X, Y, weight = data(loss, n=300)
    limit = memory(300, 3, 4) + room
    rows = open_rows(X, target=Y, weight=weight, block_rows=32)
    one, two = (
        dual_cd.solve(
            Problem(rows.mapped(Identity(4)), loss, 0.01, memory_limit=limit), Context(n_jobs)
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
    X, y, _ = regression(300, 4)
    X = X[np.argsort(y)]
    rows = ChunkedRows(X, np.where(np.arange(300) < 150, 1.0, -1.0)[:, None]).mapped(Identity(4))
    alone, sampled = (
        DualCD(tol=1e-4).solve(Problem(rows, hinge, 1e-3, memory_limit=least_memory(1, 4) + room))
        for room in (0, 9000)
    )
    assert alone.history[-1] == pytest.approx(sampled.history[-1], rel=2e-4)
    assert 5 * sampled.n_iter < alone.n_iter


@pytest.mark.parametrize("loss", [hinge, squared], ids=repr)
def test_sorted_rows_in_any_order_take_few_sweeps_more(loss):
    X, y, _ = regression(4000, 20)
    order = np.argsort(y)
    X, Y = X[order], np.where(np.arange(4000) < 2000, 1.0, -1.0)[:, None]
    X *= 0.8 ** np.arange(20)
    rows = ArrayRows(X, Y, block_rows=512).mapped(Identity(20))
    solver = DualCD(tol=1e-3)
    kept, seekable = (
        solver.solve(Problem(rows, loss, 1e-4, memory_limit=limit)) for limit in (None, 500_000)
    )
    stream = ChunkedRows(X, Y, block_rows=512).mapped(Identity(20))
    few = DualCD(tol=1e-3, max_iter=seekable.n_iter)
    in_order = few.solve(Problem(stream, loss, 1e-4, memory_limit=500_000))
    assert "to save memory" in seekable.message
    assert seekable.history[-1] == pytest.approx(kept.history[-1], rel=2e-3)
    assert seekable.n_iter <= 2 * kept.n_iter + 2
    assert not in_order.converged


def test_dual_variables_in_a_file_are_those_in_memory(monkeypatch):
    X, Y, weight = data(hinge, n=900)
    rows = ArrayRows(X, Y, weight, block_rows=64).mapped(Identity(4))
    problem = Problem(rows, hinge, 1e-3, memory_limit=60_000)
    found = []
    for share in (1, 10**6):
        monkeypatch.setattr(_dual_memory, "slope_bytes", lambda n, k, share=share: share)
        found.append(DualCD(tol=1e-5).solve(problem))
    memory, file = found
    assert "temporary file" not in memory.message
    assert "dual variables in a temporary file" in file.message
    assert np.array_equal(memory.coef, file.coef)
    assert np.array_equal(memory.history, file.history)


def test_rows_in_memory_change_places_as_a_whole():
    X, Y, _ = data(hinge)
    few, many = (
        DualCD(max_iter=3).solve(Problem(ArrayRows(X, Y, block_rows=size), hinge, 0.01))
        for size in (7, 80)
    )
    assert np.array_equal(few.coef, many.coef)


def test_targets_without_a_loss_are_solved_by_zeros():
    found = solved(epsilon_insensitive, np.eye(3), np.full((3, 1), 0.05), fit_intercept=True)
    assert found.converged
    assert not found.coef.any()
    assert found.history[-1] == 0


@pytest.mark.parametrize("scale", [1e-6, 1e6])
@pytest.mark.parametrize("loss", [hinge, log], ids=repr)
def test_scales(loss, scale):
    X, Y, _ = data(loss)
    expected = solved(loss, X, Y)
    found = solved(loss, scale * X, Y, alpha=0.05 * scale**2)
    np.testing.assert_allclose(scale * found.coef, expected.coef, atol=1e-4)
