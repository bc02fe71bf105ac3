"""Errors of random binning models for several numbers of grids; the rows are binned once."""

import numpy as np

from skimp._core._types import Array
from skimp._params._memory import require_memory
from skimp.choice import Task
from skimp.data import ArrayRows, Codes, kept_bytes, split_rows
from skimp.features import FeatureMap
from skimp.solvers import Problem

_HELD_OUT = 0.2


def predict_held_out(
    task: Task, fitted: FeatureMap, sizes: Array, alphas: Array, seed: int
) -> tuple[Array, Array]:
    """Return predictions for held-out rows, of shape (sizes, alphas, s, k), and their targets.

    Each model uses the first grids of a fitted map, with the loss and the solver of the task.
    """
    parts = [part.mapped(fitted) for part in split_rows(task.numbers, _HELD_OUT, seed)]
    needed, limit = sum(kept_bytes(part) for part in parts), task.spec.memory_limit
    what = f"the codes of {task.rows.n_rows:,} rows"
    require_memory(needed, limit, what, "pass fewer rows, or a map with fewer grids")
    training, judging = (part.collect() for part in parts)
    assert training.y is not None, "there are targets"
    assert judging.y is not None, "there are targets"
    spec = task.spec
    outputs = np.empty((len(sizes), len(alphas), *judging.y.shape))
    for i, size in enumerate(sizes):
        rows = ArrayRows(_first_grids(training.X, size), training.y, training.weight)
        for j, alpha in enumerate(alphas):
            problem = Problem(
                rows,
                spec.loss,
                float(alpha),
                fit_intercept=spec.fit_intercept,
                memory_limit=spec.memory_limit,
            )
            solution = spec.solver.solve(problem, task.context)
            outputs[i, j] = _first_grids(judging.X, size) @ solution.coef + solution.intercept
    return outputs, judging.y


def _first_grids(Z: Codes, size: int) -> Codes:
    """Return the features of the first grids, rescaled to their number."""
    groups = len(Z.offsets)
    width = Z.width if size == groups else int(Z.offsets[size])
    value = Z.value * Z.value.dtype.type(np.sqrt(groups / size))
    return Codes(np.ascontiguousarray(Z.codes[:, :size]), Z.offsets[:size], value, width, Z.first)
