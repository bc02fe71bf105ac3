"""Normal equations of the squared loss, in one pass over the rows."""

from dataclasses import replace
from typing import final

import numpy as np

from skimp._core._linalg import (
    check_representable,
    cholesky,
    reciprocal_condition,
    solve_positive,
)
from skimp._core._types import Array
from skimp._params._memory import require_memory
from skimp._params._rules import broken
from skimp.data import LOCAL, Context
from skimp.losses import Squared
from skimp.solvers._base import Problem, Solution, Solver, Status
from skimp.solvers._moments import Covariance, covariance
from skimp.solvers._path import Path, ridge_path


@final
class Direct(Solver):
    r"""Least squares by normal equations and Cholesky.

    .. math:: (S + \alpha P) \, c = s, \qquad b = \bar y - c^T \bar z

    with S the weighted covariance of the features and s that with the targets (second moments
    where no intercept is fitted): n D^2 operations and D^2 float64 numbers for n rows and D
    features, then O(D^3).

    S is summed by SYRK within row blocks and in float64 across them. float32 features are summed
    in float32 within blocks, at twice the speed; where the equations turn out so ill conditioned
    that its rounding would show, they are summed again in float64, and the solution's message says
    so. A penalty matrix, which can be nearly singular, asks for float64 from the start.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.data import open_rows
    >>> from skimp.losses import squared
    >>> from skimp.solvers import Direct, Problem
    >>> Z = np.array([[0.0], [1.0], [2.0]])
    >>> rows = open_rows(Z, target=3 * Z + 1)
    >>> solution = Direct().solve(Problem(rows, squared, alpha=1e-12))
    >>> solution.coef.round(6).item(), solution.intercept.round(6).item()
    (3.0, 1.0)
    """

    def needed_bytes(self, problem: Problem, context: Context = LOCAL) -> int:
        """Return the memory that `solve` takes besides the rows."""
        rows, width = problem.rows, problem.rows.n_features
        threads = context.threads
        # S, H and its factor; a penalty with its own; a sum and a block for each thread
        squares = 24 + (0 if problem.penalty is None else 24) + 8 * threads
        # a factorization in each thread, and whitened equations
        squares += 0 if problem.alphas is None else 8 + 24 * threads
        return squares * width**2 + 16 * threads * rows.block_rows * width

    def solve(self, problem: Problem, context: Context = LOCAL) -> Solution:
        """Solve the normal equations; see `Solver.solve`."""
        if not isinstance(problem.loss, Squared):
            raise broken(type(self).__name__, "loss", "'squared'", problem.loss)
        width = problem.rows.n_features
        require_memory(
            self.needed_bytes(problem, context),
            problem.memory_limit,
            f"the direct solver with {width} features",
            "take a smaller budget or fewer features",
        )
        plain = problem.penalty is None and problem.rows.coded is None
        dtype = problem.rows.dtype if plain else _DOUBLE
        S = covariance(problem, dtype, context)
        check_representable(S.within, S.across)
        dimension = None
        if problem.alphas is not None:
            path = _path(S, problem, context)
            best = path.best(trusted=_trusted(S, path))
            problem = replace(problem, alpha=float(path.alphas[best]))
            dimension = float(path.dimensions[-1, best])
        H = _penalized(S, problem)
        note = ""
        if dtype != _DOUBLE and _condition(H) > _LARGEST_CONDITION * np.sqrt(S.n_rows):
            note = ", summed in float64 because they are ill conditioned for float32"
            S = covariance(problem, _DOUBLE, context)
            H = _penalized(S, problem)
        coef, how = solve_positive(H, S.across)
        objective = S.target - 2 * np.sum(coef * S.across) + np.sum(coef * (H @ coef))
        return Solution(
            coef=coef,
            intercept=S.target_mean - S.mean @ coef,
            n_iter=1,
            status=Status.CONVERGED,
            message=f"direct: {how} of {width} normal equations{note}",
            history=np.array([objective]),
            alpha=problem.alpha,
            dimension=dimension,
            solver="direct",
        )


_DOUBLE = np.dtype(np.float64)
_CONSTANT = 1e-12
_FARTHEST = 5.0
"""Standard deviations of the targets that an intercept may be away from their mean."""
_JITTERS = (0.0, 1e-12, 1e-8)

_LARGEST_CONDITION = 2.5e-4 / np.finfo(np.float32).eps
"""Up to here, times the root of n because the rows' rounding averages out, float32 sums that were
differently blocked moved predictions by less than 5e-5 of their size."""


def _path(S: Covariance, problem: Problem, context: Context) -> Path:
    P, factor = problem.penalty, problem.factor
    if P is not None and factor is None:
        factor = next(R for R in (cholesky(P, jitter=j) for j in _JITTERS) if R is not None)
    assert problem.alphas is not None, "there are penalties to choose from"
    return ridge_path(
        S,
        problem.alphas,
        intercept=problem.fit_intercept,
        factor=factor,
        context=context,
    )


def _trusted(S: Covariance, path: Path) -> Array:
    """Return which penalties have intercepts near the targets: a model predicts them far away."""
    away = np.abs(np.einsum("i,aik->ak", S.mean, path.coefs[-1]))
    # an output that is constant to rounding has no deviation
    varies = S.targets > _CONSTANT * S.target_mean**2
    near: Array = np.all(away[:, varies] <= _FARTHEST * np.sqrt(S.targets[varies]), axis=1)
    return near


def _condition(H: Array) -> float:
    R = cholesky(H)
    return np.inf if R is None else 1 / reciprocal_condition(R, H)


def _penalized(S: Covariance, problem: Problem) -> Array:
    if problem.penalty is not None:
        return S.within + problem.alpha * problem.penalty
    H = S.within.copy()
    H.flat[:: len(H) + 1] += problem.alpha
    return H
