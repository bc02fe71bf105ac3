from dataclasses import replace

import numpy as np
import pytest

from skimp.data import ArrayRows, Codes, Context, NoRows
from skimp.losses import squared
from skimp.solvers import Problem, direct
from tests.pairs import pairwise
from tests.problems import regression
from tests.reference import naive
from tests.sources import ChunkedRows


class Identity:
    """A feature map that leaves the rows as they are."""

    def __init__(self, width, dtype):
        self.width, self.dtype = width, np.dtype(dtype)

    def map_block(self, X, out):
        out[...] = X


def problem(*, n=150, width=6, dtype=np.float64, weighted=False, penalty=None, alpha=1e-3, **kw):
    X, y, weight = regression(n, width, dtype=dtype)
    Y = np.column_stack([y, X[:, 0] ** 2])
    rows = ChunkedRows(X, Y, weight if weighted else None).mapped(Identity(width, dtype))
    return X, Y, weight if weighted else None, Problem(rows, squared, alpha, penalty, **kw)


def penalty_matrix(width, seed=0):
    A = np.random.default_rng(seed).normal(size=(width, 2 * width))
    return A @ A.T / width


@pairwise(
    alpha=[0.0, 1e-3, 10.0],
    weighted=[False, True],
    fit_intercept=[False, True],
    penalized=[False, True],
)
def test_equals_its_naive_twin(weighted, fit_intercept, penalized, alpha):
    P = penalty_matrix(6) if penalized else None
    X, Y, weight, given = problem(
        weighted=weighted, fit_intercept=fit_intercept, penalty=P, alpha=alpha
    )
    solution = direct.solve(given)
    coef, intercept = naive.ridge(
        X, Y, alpha=alpha, weight=weight, penalty=P, fit_intercept=fit_intercept
    )
    np.testing.assert_allclose(solution.coef, coef, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(solution.intercept, intercept, rtol=1e-9, atol=1e-11)
    norm = np.trace(coef.T @ (np.eye(6) if P is None else P) @ coef)
    expected = naive.objective(Y, X @ coef + intercept, alpha=alpha, norm=norm, weight=weight)
    np.testing.assert_allclose(solution.history, [expected], rtol=1e-9)
    assert solution.converged


@pytest.mark.parametrize("weighted", [False, True])
def test_float32_rows_that_are_ill_conditioned_are_summed_in_float64(weighted):
    X, y, weight = regression(500, 5, dtype=np.float32)
    X = np.hstack([X, X + np.float32(1e-4) * X[:, ::-1] ** 2])
    rows = ChunkedRows(X, y[:, None], weight if weighted else None)
    given = Problem(rows.mapped(Identity(10, np.float32)), squared, 1e-12)
    solution = direct.solve(given)
    assert "float64" in solution.message
    coef, intercept = naive.ridge(
        X.astype(np.float64), y[:, None], alpha=1e-12, weight=weight if weighted else None
    )
    X = X.astype(np.float64)
    np.testing.assert_allclose(
        X @ solution.coef + solution.intercept, X @ coef + intercept, atol=1e-3
    )


def test_float32_rows_that_are_well_conditioned_say_nothing():
    _, _, _, given = problem(dtype=np.float32, alpha=1e-2)
    assert "float64" not in direct.solve(given).message


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_and_constant_columns_without_a_penalty(dtype):
    X, y, _ = regression(100, 2, dtype=dtype)
    Z = np.hstack([X, X, np.ones((100, 1), dtype)])
    given = Problem(ChunkedRows(Z, y[:, None]).mapped(Identity(5, dtype)), squared, 0.0)
    solution = direct.solve(given)
    coef, intercept = naive.ridge(X.astype(np.float64), y[:, None], alpha=0.0)
    fitted = Z.astype(np.float64) @ solution.coef + solution.intercept
    np.testing.assert_allclose(fitted, X @ coef + intercept, atol=1e-4)


def test_memory_limit():
    _, _, _, given = problem(memory_limit=100)
    with pytest.raises(MemoryError, match="direct solver with 6 features"):
        direct.solve(given)


def learn(given, cuts):
    """Return the solution of a learner that sees the rows up to each cut."""
    rows = given.rows.collect()
    learner = direct.learner(replace(given, rows=NoRows(given.rows)))
    for part in np.split(np.arange(rows.size), cuts):
        block = rows[part]
        learner = learner.learn(ArrayRows(block.X, block.y, block.weight))
    return learner.solution()


@pairwise(
    weighted=[False, True],
    fit_intercept=[False, True],
    penalized=[False, True],
    dtype=[np.float32, np.float64],
    cuts=[[1, 2, 3], range(10, 90, 10)],
)
def test_rows_added_later_equal_rows_at_once(weighted, fit_intercept, penalized, dtype, cuts):
    P = penalty_matrix(6) if penalized else None
    *_, given = problem(weighted=weighted, fit_intercept=fit_intercept, penalty=P, dtype=dtype)
    # a learner sums in float64, from the first row on
    rows = given.rows.collect()
    wide = ArrayRows(rows.X.astype(np.float64), rows.y, rows.weight)
    expected, found = direct.solve(replace(given, rows=wide)), learn(given, cuts)
    np.testing.assert_allclose(found.coef, expected.coef, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.intercept, expected.intercept, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.history, expected.history, rtol=1e-10)


def test_a_learner_keeps_the_penalty_of_its_first_rows():
    *_, given = problem(alphas=np.logspace(-8, 2, 11))
    rows = given.rows.collect()
    first = ArrayRows(rows.X[:40], rows.y[:40])
    chosen = direct.solve(replace(given, rows=first))
    found = learn(given, [40, 90])
    assert (found.alpha, found.dimension) == (chosen.alpha, None)
    expected = direct.solve(replace(given, alpha=chosen.alpha, alphas=None))
    np.testing.assert_allclose(found.coef, expected.coef, rtol=1e-9)


def test_a_learner_respects_the_memory_limit():
    *_, given = problem(memory_limit=100)
    with pytest.raises(MemoryError, match="direct solver with 6 features"):
        direct.learner(given)


def coded(n=150, *, dtype=np.uint8, value=0.4, seed=0):
    codes = np.random.default_rng(seed).integers(0, 5, (n, 3)).astype(dtype)
    return Codes(codes, np.array([0, 5, 10]), value, 15, first=1)


@pairwise(
    weighted=[False, True],
    fit_intercept=[False, True],
    penalized=[False, True],
    dtype=[np.uint8, np.uint16],
)
def test_codes_equal_the_naive_twin(weighted, fit_intercept, penalized, dtype):
    Z = coded(dtype=dtype, value=np.float64(0.4 if dtype is np.uint8 else 3.0))
    _, y, weight = regression(150)
    Y, weight = np.column_stack([y, y**2]), weight if weighted else None
    P = penalty_matrix(15) if penalized else None
    rows = ArrayRows(Z, Y, weight, block_rows=64)
    solution = direct.solve(Problem(rows, squared, 1e-3, P, fit_intercept=fit_intercept))
    X = Z.tocsr().toarray()
    coef, intercept = naive.ridge(
        X, Y, alpha=1e-3, weight=weight, penalty=P, fit_intercept=fit_intercept
    )
    np.testing.assert_allclose(solution.coef, coef, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(solution.intercept, intercept, rtol=1e-9, atol=1e-10)
    norm = np.trace(coef.T @ (np.eye(15) if P is None else P) @ coef)
    expected = naive.objective(Y, X @ coef + intercept, alpha=1e-3, norm=norm, weight=weight)
    np.testing.assert_allclose(solution.history, [expected], rtol=1e-9)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_float32_codes_are_summed_in_float64(fit_intercept):
    Z, y = coded(value=np.float32(0.4)), regression(150)[1][:, None]
    X = Z.tocsr().toarray().astype(np.float64)
    found, expected = (
        direct.solve(Problem(ArrayRows(rows, y), squared, 1e-3, fit_intercept=fit_intercept))
        for rows in (Z, X)
    )
    # the square of the value may be rounded, the sums are not
    S = X.T @ X / 150
    H = (np.cov(X.T, bias=True) if fit_intercept else S) + 1e-3 * np.eye(15)
    rounding = np.finfo(np.float32).eps * np.linalg.norm(S, 2) * np.linalg.norm(expected.coef)
    bound = 2 * rounding / np.linalg.eigvalsh(H)[0]
    assert np.linalg.norm(found.coef - expected.coef) <= bound


def test_bits_of_codes_do_not_depend_on_threads():
    y = regression(150)[1][:, None]
    rows = ArrayRows(coded(value=np.float32(0.4)), y, block_rows=16)
    one, many = (direct.solve(Problem(rows, squared, 1e-4), Context(n)) for n in (1, 2))
    assert np.array_equal(one.coef, many.coef)
    assert np.array_equal(one.intercept, many.intercept)


def test_codes_are_never_made_a_matrix(monkeypatch):
    monkeypatch.delattr(Codes, "tocsr")
    y = regression(150)[1][:, None]
    rows = ArrayRows(coded(value=np.float64(0.4)), y)
    assert direct.solve(Problem(rows, squared, 1e-4)).converged
