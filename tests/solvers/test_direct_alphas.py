from dataclasses import replace

import numpy as np
import pytest

from skimp.data import ArrayRows, Codes, open_rows
from skimp.losses import squared
from skimp.solvers import PCG, Auto, Direct, Problem
from tests.pairs import pairwise
from tests.problems import regression
from tests.reference import naive
from tests.sources import ChunkedRows

ALPHAS = np.logspace(-8, 2, 21)


def data(n=40, width=8, dtype=np.float64):
    X, y, weight = regression(n, width, dtype=dtype)
    return X, np.column_stack([y, X[:, 0] + 0.5 * y]), weight


def penalty(width=8, seed=1):
    A = np.random.default_rng(seed).normal(size=(width, 2 * width))
    return A @ A.T / width


def naive_gcv(Z, Y, alpha, *, weight, penalty, fit_intercept):
    """The formula that alphas are chosen by, with the matrix that turns y into fitted values."""
    n = len(Z)
    model = {"weight": weight, "penalty": penalty, "fit_intercept": fit_intercept}
    coef, constant = naive.ridge(Z, np.eye(n), alpha=alpha, **model)
    H = Z @ coef + constant
    w = np.ones(n) if weight is None else weight
    residual = w @ ((Y - H @ Y) ** 2).sum(axis=1) / w.sum()
    size = w.sum() ** 2 / (w**2).sum()
    return residual / (1 - 1.4 * np.trace(H) / size) ** 2, np.trace(H) - fit_intercept


@pairwise(
    penalized=["", "matrix", "factor"],
    solver=[Direct(), Auto()],
    fit_intercept=[False, True],
    weighted=[False, True],
)
def test_the_alpha_of_the_least_error(solver, fit_intercept, weighted, penalized):
    Z, Y, weight = data()
    P = penalty() if penalized else None
    R = np.asfortranarray(np.linalg.cholesky(P).T) if penalized == "factor" else None
    model = {
        "weight": weight if weighted else None,
        "penalty": P,
        "fit_intercept": fit_intercept,
    }
    judged = [naive_gcv(Z, Y, alpha, **model) for alpha in ALPHAS]
    errors = np.array([error for error, _ in judged])
    best = int(errors.argmin())
    assert 0 < best < len(ALPHAS) - 1
    given = Problem(
        ChunkedRows(Z, Y, model["weight"]),
        squared,
        alpha=123.0,
        penalty=P,
        factor=R,
        fit_intercept=fit_intercept,
        alphas=ALPHAS,
    )
    found = solver.solve(given)
    assert found.alpha == ALPHAS[best]
    assert found.dimension == pytest.approx(judged[best][1], rel=1e-8)
    coef, constant = naive.ridge(Z, Y, alpha=ALPHAS[best], **model)
    np.testing.assert_allclose(found.coef, coef, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found.intercept, constant, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_solution_is_that_of_the_chosen_alpha(dtype):
    Z, Y, weight = data(dtype=dtype)
    chosen = Problem(open_rows(Z, target=Y, weight=weight), squared, 1.0, alphas=ALPHAS)
    found = Direct().solve(chosen)
    given = Direct().solve(replace(chosen, alpha=found.alpha, alphas=None))
    assert np.array_equal(found.coef, given.coef)
    assert np.array_equal(found.intercept, given.intercept)
    assert np.array_equal(found.history, given.history)
    assert found.message == given.message
    assert given.dimension is None


def test_codes_choose_as_their_matrix_does():
    codes = np.random.default_rng(0).integers(0, 5, (100, 3)).astype(np.uint8)
    Z = Codes(codes, np.array([0, 5, 10]), np.float64(0.6), 15, first=1)
    noise = np.random.default_rng(1).normal(size=(100, 1))
    Y = (codes[:, :1] == 2) + 0.5 * noise
    X = Z.tocsr().toarray()
    judged = [
        naive_gcv(X, Y, alpha, weight=None, penalty=None, fit_intercept=True) for alpha in ALPHAS
    ]
    found = Direct().solve(Problem(ArrayRows(Z, Y), squared, 1.0, alphas=ALPHAS))
    best = int(np.argmin([error for error, _ in judged]))
    assert found.alpha == ALPHAS[best]
    assert found.dimension == pytest.approx(judged[best][1], rel=1e-8)


def test_other_solvers_take_alpha():
    Z, Y, _ = data()
    given = Problem(open_rows(Z, target=Y), squared, 1e-2, alphas=ALPHAS)
    found, expected = PCG().solve(given), PCG().solve(replace(given, alphas=None))
    assert np.array_equal(found.coef, expected.coef)
    assert (found.alpha, found.dimension) == (None, None)


def test_a_choice_needs_more_memory():
    Z, Y, _ = data()
    given = Problem(open_rows(Z, target=Y), squared, 1e-2)
    several = replace(given, alphas=ALPHAS)
    enough = Direct().needed_bytes(given.outline())
    assert Direct().needed_bytes(several.outline()) > enough
    assert Direct().solve(replace(given, memory_limit=enough)).converged
    with pytest.raises(MemoryError, match="direct solver with 8 features"):
        Direct().solve(replace(several, memory_limit=enough))
    assert Auto().solve(replace(several, memory_limit=enough)).message.startswith("auto chose pcg")
