import numpy as np
import pytest

from skimp.data import LOCAL, open_rows
from skimp.losses import squared
from skimp.solvers import PCG, Newton, Problem, newton
from skimp.solvers._preconditioner import Preconditioner, invert_bordered
from tests.problems import regression

ALPHA = 0.05
BOTH = np.arange(2)

both_solvers = pytest.mark.parametrize("solver", [Newton(tol=1e-12), PCG(tol=1e-12)], ids=repr)


def positive(m, seed=0):
    A = np.random.default_rng(seed).normal(size=(m, 3 * m))
    return A @ A.T / m


def preconditioner(X, *, penalty=None, fit_intercept=True):
    rows = open_rows(X, target=np.zeros((len(X), 1)))
    problem = Problem(rows, squared, ALPHA, penalty, fit_intercept=fit_intercept)
    return Preconditioner(problem, rows, LOCAL)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_sample_of_all_rows_inverts_the_curvature(fit_intercept, dtype):
    X, _, _ = regression(60, 5, dtype=dtype)
    D = np.random.default_rng(1).random((60, 1))
    given = preconditioner(X, fit_intercept=fit_intercept)
    given.update(X, D[:, 0])
    A = np.hstack([X, np.ones((60, 1))]).astype(np.float64)
    H = A.T @ (D * A) + 2 * ALPHA * np.diag([1.0] * 5 + [0.0])
    R = np.random.default_rng(2).normal(size=(6, 2)).astype(dtype)
    if not fit_intercept:
        H[-1], H[:, -1], H[-1, -1], R[-1] = 0, 0, 1, 0
    tol = 1e3 * np.finfo(dtype).eps
    np.testing.assert_allclose(given.solve(R, BOTH), np.linalg.solve(H, R), rtol=tol, atol=tol)
    assert given.solve(R, BOTH).dtype == dtype
    assert given.to_rows(R) is R
    assert given.from_rows(R) is R


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_in_the_coordinates_of_a_penalty(dtype):
    X, _, _ = regression(60, 5, dtype=dtype)
    D, P = np.random.default_rng(1).random(60), positive(5)
    given = preconditioner(X, penalty=P)
    given.update(X, D)
    A = np.hstack([X, np.ones((60, 1))]).astype(np.float64)
    change = np.zeros((6, 6))
    change[:5, :5], change[5, 5] = np.linalg.inv(np.linalg.cholesky(P).T), 1
    H = change.T @ (A.T @ (D[:, None] * A)) @ change + 2 * ALPHA * np.diag([1.0] * 5 + [0.0])
    R = np.random.default_rng(2).normal(size=(6, 2)).astype(dtype)
    tol = 1e4 * np.finfo(dtype).eps
    np.testing.assert_allclose(given.solve(R, BOTH), np.linalg.solve(H, R), rtol=tol, atol=tol)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("height", [0.5, 2.0])
def test_landmarks_stand_for_the_rows(fit_intercept, height):
    P, m = positive(7), 7
    given = preconditioner(np.zeros((3, m)), penalty=P, fit_intercept=fit_intercept)
    given.set_mean_curvature(height)
    T = np.linalg.cholesky(P).T
    # Falkon: sums over n rows k(x, B) become sums over the m landmarks, whose rows are P
    H = np.zeros((m + 1, m + 1))
    H[:m, :m] = height * T @ T.T / m + 2 * ALPHA * np.eye(m)
    H[:m, m] = H[m, :m] = height * T.sum(axis=1) / m
    H[m, m] = height
    R = np.random.default_rng(2).normal(size=(m + 1, 2))
    if not fit_intercept:
        H[m], H[:, m], H[m, m], R[m] = 0, 0, 1, 0
    np.testing.assert_allclose(given.solve(R, BOTH), np.linalg.solve(H, R), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_coordinates_in_which_the_penalty_is_the_identity(dtype):
    P = positive(7)
    given = preconditioner(np.zeros((3, 7), dtype), penalty=P)
    given.set_mean_curvature(1.0)
    u, v = np.random.default_rng(2).normal(size=(2, 8, 2)).astype(dtype)
    given.solve(u, BOTH)
    C, G = given.to_rows(u), given.from_rows(v)
    tol = 1e4 * np.finfo(dtype).eps
    np.testing.assert_allclose(C[:-1].T @ P @ C[:-1], u[:-1].T @ u[:-1], rtol=tol, atol=tol)
    np.testing.assert_allclose(np.sum(C * v), np.sum(u * G), rtol=tol)
    assert np.array_equal(C[-1], u[-1])
    assert np.array_equal(G[-1], v[-1])


@pytest.mark.parametrize("penalty", [np.ones((4, 4)), np.diag([1.0, 0, 0, 0])])
def test_singular_penalties_have_an_inverse(penalty):
    given = preconditioner(np.zeros((3, 4)), penalty=penalty)
    given.set_mean_curvature(1.0)
    R = np.ones((5, 1))
    assert np.isfinite(given.solve(R, BOTH)).all()
    assert np.isfinite(given.to_rows(R)).all()
    assert np.sum(R * given.solve(R, BOTH)) > 0


@pytest.mark.parametrize("penalized", [False, True])
def test_rows_that_are_not_curved(penalized):
    X, _, _ = regression(20, 4)
    given = preconditioner(X, penalty=positive(4) if penalized else None)
    given.update(X, np.zeros(20))
    R = np.ones((5, 2))
    np.testing.assert_allclose(given.solve(R, BOTH)[:-1], R[:-1] / (2 * ALPHA), rtol=1e-9)


@pytest.mark.parametrize(
    ("penalty", "message"),
    [
        (np.diag([1.0, 1, 1, -1]), "negative eigenvalue"),
        (np.diag([1.0, -1, 1, -1]), "negative eigenvalue"),
        (np.diag([1.0, 1, 1, np.inf]), "infinity or NaN"),
    ],
    ids=["indefinite", "no trace", "infinite"],
)
def test_bad_penalties_are_refused(penalty, message):
    X, y, _ = regression(20, 4)
    with pytest.raises(ValueError, match=message):
        newton.solve(Problem(open_rows(X, target=y[:, None]), squared, ALPHA, penalty))


def test_penalties_that_overflow_in_the_dtype_of_the_rows_are_refused():
    X, y, _ = regression(20, 4, dtype=np.float32)
    rows = open_rows(X, target=y[:, None])
    with pytest.raises(ValueError, match="infinity or NaN"):
        newton.solve(Problem(rows, squared, ALPHA, 1e60 * np.eye(4)))


@both_solvers
@pytest.mark.parametrize("alpha", [ALPHA, 1e6])
def test_a_penalty_of_zeros_leaves_least_squares(solver, alpha):
    X, y, _ = regression(40, 4)
    found = solver.solve(Problem(open_rows(X, target=y[:, None]), squared, alpha, np.zeros((4, 4))))
    A = np.hstack([X, np.ones((40, 1))])
    expected, (cost,), *_ = np.linalg.lstsq(A, y, rcond=None)
    assert found.converged
    np.testing.assert_allclose(found.coef[:, 0], expected[:-1], atol=1e-5)
    np.testing.assert_allclose(found.intercept, expected[-1:], atol=1e-5)
    np.testing.assert_allclose(found.history[-1], cost / 40, rtol=1e-9)


def test_curvature_that_rounds_to_singular():
    # two columns that are equal in float32, and a penalty below its rounding
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(50, 3)), 2, axis=1).astype(np.float32)
    rows = open_rows(X, target=np.zeros((50, 2)))
    pre = Preconditioner(Problem(rows, squared, 1e-12), rows, LOCAL)
    pre.update_each(X, np.ones((50, 2), np.float32))
    assert np.isfinite(pre.solve(np.ones((7, 2), np.float32), BOTH)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_a_diagonal_that_overflowed_is_refused(dtype, value):
    with pytest.raises(ValueError, match="found infinity or NaN"):
        invert_bordered(np.diag([1.0, value, 1.0, 1.0]), ALPHA, np.dtype(dtype))


def test_an_indefinite_matrix_is_shifted_little():
    R = np.ones((3, 1))
    found = invert_bordered(np.diag([1e3, -0.11, 1.0]), ALPHA, np.dtype(float))(R)
    # the penalty leaves -0.01, which the smallest shift that works turns into at most 0.1
    np.testing.assert_allclose(found[0], 1 / (1e3 + 2 * ALPHA), rtol=1e-3)
    assert found[1] >= 10


@pytest.mark.parametrize("corner", [1 - 1e-7, 1.0, 1 + 1e-15])
def test_an_intercept_that_is_almost_a_feature_keeps_some_curvature(corner):
    G = np.array([[1.0, 1.0], [1.0, corner]])
    found = invert_bordered(G, 1e-18, G.dtype)(np.array([[0.0], [1.0]]))
    assert 1 <= found[-1, 0] <= 1e4
