"""Descent along directions that conjugate gradients find."""

from collections.abc import Callable

import numpy as np

from skimp._core._memory import parse_bytes, require_memory
from skimp._core._threads import single_threaded_blas
from skimp._core._types import Array
from skimp.data import Rows
from skimp.data._kept import keep_rows, kept_bytes
from skimp.solvers._base import Problem, Solution
from skimp.solvers._conjugate_gradients import conjugate_gradients
from skimp.solvers._objective import Objective, Point
from skimp.solvers._preconditioner import Preconditioner

_HALVINGS = 30
_SUFFICIENT = 1e-4
"""Share of the promised decrease that a step must reach."""
_INNER = 60
"""Most conjugate gradients for one step."""


def descend(
    problem: Problem,
    *,
    name: str,
    tol: float,
    max_iter: int,
    forcing: Callable[[float], float],
) -> Solution:
    """Minimise a smooth loss by Newton steps.

    Parameters
    ----------
    problem : Problem
        The problem.
    name : str
        The solver, for the message.
    tol : float
        The objective's relative decrease below which no further step is taken.
    max_iter : int
        Most steps.
    forcing : callable
        The tolerance of conjugate gradients, given the relative decrease of the last step.
    """
    with single_threaded_blas():
        return _descend(problem, name, tol, max_iter, forcing)


def _descend(
    problem: Problem, name: str, tol: float, max_iter: int, forcing: Callable[[float], float]
) -> Solution:
    rows, how = _kept_if_it_fits(problem)
    objective = Objective(problem, rows)
    preconditioner = Preconditioner(problem, rows)
    point = objective.at(*_start(problem, rows))
    history, products, promised = [], 0, np.inf
    converged = stopped = False
    while len(history) < max_iter and not converged and not stopped:
        preconditioner.update(point)
        direction, taken = conjugate_gradients(
            lambda V, at=point: _curvature(problem, objective, preconditioner, at, V),
            preconditioner.solve,
            -preconditioner.from_rows(point.gradient).astype(rows.dtype),
            tol=forcing(promised),
            max_iter=_INNER,
            joint=problem.loss.joint,
        )
        products += taken
        step = preconditioner.to_rows(direction).astype(np.float64)
        slope = -np.sum(point.gradient * step, axis=None if problem.loss.joint else 0)
        promised = float(np.sum(slope)) / 2 / (abs(point.value) or 1.0)
        point = _search(objective, point, step, slope)
        history.append(point.value)
        converged = promised <= tol
        stopped = problem.monitor is not None and problem.monitor(point.coef, point.intercept)
    ending = "stopped by the monitor" if stopped else f"next step promises {promised:.1e}"
    return Solution(
        coef=point.coef,
        intercept=point.intercept,
        n_iter=len(history),
        converged=converged or stopped,
        message=f"{name}: {len(history)} steps, {products} products with the curvature of {how}",
        history=np.array(history),
    )


def _kept_if_it_fits(problem: Problem) -> tuple[Rows, str]:
    rows, width = problem.rows, problem.rows.n_features
    own = (16 + rows.dtype.itemsize) * width**2 + 24 * rows.n_rows
    require_memory(
        own,
        problem.memory_limit,
        f"a solver with {width} features",
        "take a smaller budget or fewer features",
    )
    if own + kept_bytes(rows) <= parse_bytes(problem.memory_limit):
        return keep_rows(rows), "features kept in memory"
    return rows, "features computed in each pass"


def _start(problem: Problem, rows: Rows) -> tuple[Array, Array]:
    if problem.start is not None:
        return problem.start
    first = next(rows.blocks())
    n_outputs = np.shape(first.y)[1]
    return np.zeros((rows.n_features, n_outputs)), np.zeros(n_outputs)


def _curvature(
    problem: Problem,
    objective: Objective,
    preconditioner: Preconditioner,
    point: Point,
    V: Array,
) -> Array:
    """Return the curvature of the objective times V, in the preconditioner's coordinates."""
    product = preconditioner.from_rows(objective.curved(point, preconditioner.to_rows(V)))
    product[:-1] += V.dtype.type(2 * problem.alpha) * V[:-1]
    if not problem.fit_intercept:
        product[-1] = 0
    return product


def _search(objective: Objective, point: Point, step: Array, slope: Array) -> Point:
    """Halve the step of each output until its objective falls; stay where none does."""
    rounding = np.finfo(objective.rows.dtype).eps * np.abs(point.values)
    t = np.ones_like(slope)
    for _ in range(_HALVINGS):
        trial = objective.at(point.coef + t * step[:-1], point.intercept + t * step[-1])
        enough = trial.values <= point.values - _SUFFICIENT * t * slope + rounding
        if enough.all():
            return trial
        t = np.where(enough, t, t / 2)
    return point
