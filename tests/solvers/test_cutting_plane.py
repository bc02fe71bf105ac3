import numpy as np
import pytest
from scipy.optimize import minimize

from skimp.solvers import Status, solve_by_cuts, solve_by_items
from skimp.solvers._simplex_qp import simplex_qp


def distances(w):
    """Return the mean distance of w to three points, and a subgradient."""
    away = w - np.array([[1.0, 0.0], [0.0, 1.0], [3.0, 3.0]])
    lengths = np.linalg.norm(away, axis=1)
    return lengths.mean(), np.mean(away / lengths[:, None], axis=0)


@pytest.mark.parametrize("alpha", [1.0, 1e-2, 1e-4])
def test_minimum(alpha):
    found = solve_by_cuts(distances, 2, alpha, tol=1e-9, max_iter=200)
    peer = minimize(lambda w: distances(w)[0] + alpha * w @ w, [0.1, 0.2], options={"gtol": 1e-9})
    assert found.status is Status.CONVERGED
    assert found.history[-1] == pytest.approx(peer.fun, rel=1e-8)
    np.testing.assert_allclose(found.coef[:, 0], peer.x, atol=1e-4)


def test_objective_decreases_and_the_gap_holds():
    exact = solve_by_cuts(distances, 2, 0.01, tol=1e-10, max_iter=200).history[-1]
    for tol in (1e-1, 1e-3, 1e-6):
        history = solve_by_cuts(distances, 2, 0.01, tol=tol, max_iter=200).history
        assert (np.diff(history) <= 0).all()
        assert history[-1] <= exact * (1 + 1.01 * tol)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_any_scale(scale):
    def risk(w):
        value, slope = distances(scale * w)
        return value, scale * slope

    found = solve_by_cuts(risk, 2, 0.01 * scale**2, tol=1e-8, max_iter=200)
    usual = solve_by_cuts(distances, 2, 0.01, tol=1e-8, max_iter=200)
    np.testing.assert_allclose(scale * found.coef, usual.coef, rtol=1e-3)


def test_zero_function_and_too_few_cuts():
    zero = solve_by_cuts(lambda w: (0.0, np.zeros(2)), 2, 1.0, tol=1e-3, max_iter=9)
    assert (zero.n_iter, zero.status) == (1, Status.CONVERGED)
    few = solve_by_cuts(distances, 2, 1e-3, tol=1e-9, max_iter=2)
    assert (few.n_iter, few.status) == (2, Status.MAX_ITER)
    assert not few.converged


def test_values_that_are_too_small():
    """Some values are those of a tangent elsewhere, which is below the function."""
    calls = []

    def risk(w):
        calls.append(w)
        value, slope = distances(w)
        if len(calls) % 3 == 0:
            before, slope = distances(calls[-2])
            value = max(0.0, before + slope @ (w - calls[-2]))
        return value, slope

    found = solve_by_cuts(risk, 2, 0.01, tol=1e-6, max_iter=200)
    exact = solve_by_cuts(distances, 2, 0.01, tol=1e-9, max_iter=200).history[-1]
    w = found.coef[:, 0]
    assert found.status is Status.CONVERGED
    assert distances(w)[0] + 0.01 * w @ w <= exact * (1 + 1e-4)


def test_rounding_ends_the_search():
    # whether the gap becomes zero depends on rounding
    for alpha in (1.0, 0.1, 0.01):
        found = solve_by_cuts(distances, 2, alpha, tol=1e-17, max_iter=1000)
        assert found.status in (Status.STALLED, Status.CONVERGED)
        assert found.converged or found.message.endswith("no progress because of rounding")


def test_overflow_is_refused():
    with pytest.raises(ValueError, match=r"alpha=1e-05 .*rescale the features"):
        solve_by_cuts(lambda w: (1.0, np.full(2, 1e153)), 2, 1e-5, tol=1e-3, max_iter=9)


def test_more_cuts_than_there_is_space_for_at_first():
    rng = np.random.default_rng(0)
    X, b = rng.normal(size=(400, 30)), rng.normal(size=400)

    def risk(w):
        signs = np.sign(X @ w - b)
        return float(np.abs(X @ w - b).mean()), signs @ X / len(X)

    found = solve_by_cuts(risk, 30, 1e-3, tol=1e-6, max_iter=1000)
    assert found.n_iter > 64
    assert found.status is Status.CONVERGED


@pytest.mark.parametrize("rank", [1, 4, 30])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_quadratic_program(rank, scale):
    rng = np.random.default_rng(rank)
    A, b = scale * rng.normal(size=(30, rank)), rng.normal(size=30)
    H, tol = A @ A.T, 1e-7
    p = simplex_qp(H, b, np.eye(30)[0], tol)
    descent = b - H @ p
    assert p.min() >= 0
    assert p.sum() == pytest.approx(1)
    # rounding errors of H are as large as eps times its entries
    assert descent.max() - descent @ p <= 2 * tol + 1e-14 * np.abs(H).max()


def test_equal_rows_of_a_quadratic_program():
    p = simplex_qp(np.ones((5, 5)), np.zeros(5), np.full(5, 0.2), 1e-9)
    assert p.sum() == pytest.approx(1)
    assert simplex_qp(np.zeros((3, 3)), np.array([0, 2.0, 1]), np.eye(3)[0], 0.0).tolist() == [
        0,
        1,
        0,
    ]


def slope_at(i, w):
    """Return the subgradient of the distance to one of the points of `distances`."""
    point = np.array([[1.0, 0.0], [0.0, 1.0], [3.0, 3.0]])[i % 3]
    return (w - point) / np.linalg.norm(w - point)


def test_steps_converge_to_the_same_minimum():
    found = solve_by_items(
        distances, slope_at, np.ones(90), 2, 0.1, tol=1e-4, max_iter=2000, seed=0
    )
    exact = solve_by_cuts(distances, 2, 0.1, tol=1e-9, max_iter=200)
    assert found.status is Status.CONVERGED
    assert found.history[-1] <= exact.history[-1] * (1 + 1e-3)


def test_a_short_last_stretch_does_not_look_like_convergence():
    exact = solve_by_cuts(distances, 2, 1e-3, tol=1e-9, max_iter=200).history[-1]

    def solve(passes):
        weight = np.ones(90)
        return solve_by_items(
            distances, slope_at, weight, 2, 1e-3, tol=1e-2, max_iter=passes, seed=0
        )

    for passes in (5, 9, 17):
        found = solve(passes)
        assert found.history[-1] > exact * 1.01
        assert found.status is Status.MAX_ITER
