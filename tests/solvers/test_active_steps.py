"""Exact Newton steps by the rows that cost something."""

import numpy as np
import pytest

from skimp.losses import log, squared_hinge
from skimp.solvers._active import ActiveSteps
from skimp.solvers._held_objective import HeldObjective
from tests.pairs import pairwise
from tests.solvers.test_active_sets import problem

D = 20
ROOT = np.asfortranarray(np.triu(np.random.default_rng(1).uniform(0.5, 1.5, (D, D))) + np.eye(D))


def steps_of(given):
    objective = HeldObjective(given, given.rows)
    return ActiveSteps.of(given, objective), objective


def naive_end(given, point, output):
    """Minimum of the parabolas of the active rows, from the equations of coef and intercept."""
    (block,) = given.rows.blocks()
    w = np.ones(block.size) if block.weight is None else block.weight
    active = point.curvature[:, output] > 0
    Z = np.column_stack([block.X, np.ones(block.size)])[active]
    P = np.zeros((D + 1, D + 1))
    P[:D, :D] = np.eye(D) if given.penalty is None else given.penalty
    S = Z.T @ (w[active, None] * Z) / w.sum() + given.alpha * P
    if not given.fit_intercept:
        S[-1], S[:, -1], S[-1, -1] = 0, 0, 1
        Z[:, -1] = 0
    return np.linalg.solve(S, Z.T @ (w[active] * block.y[active, output]) / w.sum())


@pairwise(root=[None, ROOT], fit_intercept=[False, True], weighted=[False, True])
def test_a_step_ends_where_active_rows_cost_least(root, fit_intercept, weighted):
    given = problem(width=D, root=root, fit_intercept=fit_intercept, weighted=weighted)
    active, objective = steps_of(given)
    point = objective.at(np.zeros((D, 2)), np.zeros(2))
    for _ in range(2):
        step = active.step(point)
        end = np.vstack([point.coef, point.intercept]) + step
        expected = np.column_stack([naive_end(given, point, output) for output in range(2)])
        np.testing.assert_allclose(end, expected, atol=1e-9)
        # rows that were kept are used again
        point = objective.at(end[:-1] / 2, end[-1] / 2)


def test_rows_that_do_not_fit_are_left_to_conjugate_gradients():
    given = problem(width=D, memory_limit=8 * D * 4 * 10)
    active, objective = steps_of(given)
    assert active.operations(objective.at(np.zeros((D, 2)), np.zeros(2))) == np.inf


@pytest.mark.parametrize("given", [problem(log), problem(squared_hinge, root=None)])
def test_other_losses_have_no_such_steps(given):
    assert (steps_of(given)[0] is None) is (given.loss is log)
