"""Exact minima of small problems."""

import numpy as np
import pytest

from skimp.data import ArrayRows
from skimp.losses import SquaredEpsilonInsensitive, log, squared_hinge
from skimp.solvers import Problem
from skimp.solvers._active import solve_active_sets
from tests.pairs import pairwise

N, D, K = 60, 5, 2


def problem(loss=squared_hinge, *, n=N, width=D, alpha=1e-2, weighted=False, root=None, **options):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(n, width))
    Y = Z @ rng.normal(size=(width, K)) + rng.normal(size=(n, K))
    Y = np.where(Y > 0, 1.0, -1.0) if loss.labels else Y
    weight = rng.integers(0, 3, n).astype(float) if weighted else None
    penalty = None if root is None else root.T @ root
    rows = ArrayRows(Z, Y, weight)
    return Problem(rows, loss, alpha=alpha, penalty=penalty, factor=root, **options)


def slope(problem, found):
    """Derivative of the objective in the coefficients and the intercept, from its definition."""
    block = problem.rows.collect()
    w = np.ones(block.size) if block.weight is None else block.weight
    F = block.X @ found.coef + found.intercept
    g = problem.loss.gradient(block.y, F) * w[:, None] / w.sum()
    P = np.eye(len(found.coef)) if problem.penalty is None else problem.penalty
    return block.X.T @ g + 2 * problem.alpha * P @ found.coef, g.sum(axis=0)


@pairwise(
    width=[3, 50, 90],
    loss=[squared_hinge, SquaredEpsilonInsensitive(0.3)],
    weighted=[False, True],
    fit_intercept=[False, True],
)
def test_the_gradient_vanishes(loss, weighted, fit_intercept, width):
    # least squares, from which it starts, must leave errors larger than epsilon
    given = problem(loss, weighted=weighted, fit_intercept=fit_intercept, width=width, alpha=1.0)
    found = solve_active_sets(given)
    in_coef, in_intercept = slope(given, found)
    assert np.abs(in_coef).max() <= 1e-10
    assert not fit_intercept or np.abs(in_intercept).max() <= 1e-10
    assert fit_intercept or not found.intercept.any()


def test_the_penalty_may_be_a_matrix():
    root = np.triu(np.random.default_rng(1).uniform(0.5, 1.5, (D, D)))
    given = problem(root=np.asfortranarray(root))
    in_coef, in_intercept = slope(given, solve_active_sets(given))
    assert max(np.abs(in_coef).max(), np.abs(in_intercept).max()) <= 1e-10


def test_separated_rows_converge():
    given = problem(width=90, alpha=1e-9)
    found = solve_active_sets(given)
    assert np.abs(slope(given, found)[0]).max() <= 1e-10
    assert (
        given.rows.collect().y * (given.rows.collect().X @ found.coef + found.intercept)
    ).min() > 0


@pytest.mark.parametrize(
    "given",
    [
        problem(log),
        problem(n=5000),
        problem(memory_limit=1000),
        problem(monitor=lambda coef, intercept: False),
        problem(SquaredEpsilonInsensitive(100.0)),
    ],
)
def test_other_problems_are_left_to_conjugate_gradients(given):
    assert solve_active_sets(given) is None
