"""Exact Newton steps for outputs that few rows cost anything."""

import numpy as np

from skimp._core._blocks import Scratch, fold
from skimp._core._linalg import triangular_solve
from skimp._core._types import Array
from skimp._params._memory import parse_bytes
from skimp.solvers._active_sets import solve_dual_ridge
from skimp.solvers._base import Problem
from skimp.solvers._objective import Objective, Point

_MEMORY = 4
"""Part of the memory limit that rows may take."""


class ActiveSteps:
    r"""Newton steps to the minimum over the rows that cost something, solved in their number.

    As `solve_active_sets` says it. Of a rows, each output takes a^2 D + a^3 operations for D
    features, where conjugate gradients would take many products. Rows are changed to coordinates
    in which the penalty is the identity, in D^2 operations each, and kept for the next step.

    Parameters
    ----------
    problem : Problem
        With a loss that is a parabola where it is not zero.
    objective : Objective
        Its objective over all rows.
    features : array of shape (n, D)
        Features of all rows.
    """

    def __init__(self, problem: Problem, objective: Objective, features: Array):
        self._problem, self._objective, self._features = problem, objective, features
        self._numbers = np.full(len(features), -1)
        self._kept = np.empty((0, features.shape[1]), features.dtype)
        self._most = parse_bytes(problem.memory_limit) // _MEMORY // max(1, features[:1].nbytes)

    @classmethod
    def of(cls, problem: Problem, objective: Objective) -> "ActiveSteps | None":
        """Return the steps of a problem that has some, else None."""
        features = objective.array
        known = problem.penalty is None or problem.factor is not None
        if features is None or not (problem.loss.parabolic and known):
            return None
        return cls(problem, objective, features)

    def operations(self, point: Point) -> float:
        """Return the operations of a step, infinite if its rows do not fit."""
        curved = point.curvature > 0
        D, a = self._features.shape[1], curved.sum(axis=0).astype(float)
        new = np.count_nonzero(curved.any(axis=1) & (self._numbers < 0))
        if point.cautious or a.max() > 2 * D or len(self._kept) + new > self._most:
            return np.inf
        changed = 0.0 if self._problem.factor is None else float(new) * D**2
        return changed + float(np.sum(a**2 * D + a**3))

    def step(self, point: Point) -> Array | None:
        """Return the step of each output, of a gradient's shape; None if rounding allows none."""
        problem, objective = self._problem, self._objective
        self._keep(np.flatnonzero(point.curvature.any(axis=1)))
        ridge = problem.alpha * float(objective.weight.sum())
        n_outputs = point.curvature.shape[1]
        coefs, intercepts = np.zeros_like(point.coef), np.zeros(n_outputs)

        def solve(output: int, _: Scratch) -> None:
            active = np.flatnonzero(point.curvature[:, output])
            if not len(active):
                intercepts[output] = point.intercept[output]
                return
            V = self._kept[self._numbers[active]]
            A = (V @ V.T).astype(np.float64)
            A.flat[:: len(A) + 1] += ridge / objective.weight[active]
            bottoms = objective.bottoms(point, active, output)[:, None]
            beta, intercept = solve_dual_ridge(A, bottoms, problem.fit_intercept)
            coefs[:, output] = V.T @ beta[:, 0].astype(V.dtype)
            intercepts[output] = intercept[0]

        n_threads = objective.context.threads
        try:
            fold(range(n_outputs), solve, lambda total, _: total, None, n_threads)
        except np.linalg.LinAlgError:
            return None
        if problem.factor is not None:
            coefs = triangular_solve(problem.factor, coefs, lower=False)
        return np.vstack([coefs - point.coef, intercepts - point.intercept])

    def _keep(self, rows: Array) -> None:
        """Change rows that are new."""
        new = rows[self._numbers[rows] < 0]
        if not len(new):
            return
        V = self._features[new]
        if self._problem.factor is not None:
            changed = triangular_solve(self._problem.factor, V.T, lower=False, transposed=True)
            V = changed.T.astype(V.dtype)
        self._numbers[new] = len(self._kept) + np.arange(len(new))
        self._kept = np.concatenate([self._kept, V])
