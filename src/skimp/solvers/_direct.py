"""Normal equations of the squared loss, in one pass over the rows."""

from dataclasses import replace
from typing import final

import numpy as np

from skimp._core._linalg import check_representable, condition_number, solve_positive
from skimp._core._types import Array
from skimp._core._work import DOUBLE, MapCost, Size, Stage, factor, gathers, gemm, stream
from skimp._params._memory import require_memory
from skimp._params._rules import broken
from skimp.data import LOCAL, Context
from skimp.losses import Loss, Squared
from skimp.solvers._base import Outline, Problem, Solution, Solver, Status
from skimp.solvers._costs import outline_of
from skimp.solvers.ridge import Covariance, Path, covariance, penalty_factor, ridge_path


@final
class Direct(Solver):
    r"""Least squares by normal equations and Cholesky.

    .. math:: (S + \alpha P) \, c = s, \qquad b = \bar y - c^T \bar z

    with S the weighted covariance of the features and s that with the targets (second moments
    if no intercept is fitted): n D^2 operations and D^2 float64 numbers for n rows and D
    features, then O(D^3).

    S is summed by SYRK within row blocks and in float64 across them. float32 features are summed
    in float32 within blocks, at twice the speed; if the equations turn out so ill conditioned
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

    def needed_bytes(self, outline: Outline) -> int:
        """Return the memory that `solve` takes besides the rows."""
        width, threads = outline.width, outline.threads
        # S, H and its factor; a penalty with its own; a sum and a block for each thread
        squares = 24 + 24 * outline.penalized + 8 * threads
        # a factorization in each thread, and whitened equations
        squares += (8 + 24 * threads) * outline.several
        return squares * width**2 + 16 * threads * outline.block_rows * width

    def solve(self, problem: Problem, context: Context = LOCAL) -> Solution:
        """Solve the normal equations; see `Solver.solve`."""
        if not isinstance(problem.loss, Squared):
            raise broken(type(self).__name__, "loss", "'squared'", problem.loss)
        width = problem.rows.n_features
        require_memory(
            self.needed_bytes(problem.outline(context)),
            problem.memory_limit,
            f"the direct solver with {width} features",
            "take a smaller budget or fewer features",
        )
        plain = problem.penalty is None and problem.rows.coded is None
        dtype = problem.rows.dtype if plain else DOUBLE
        total = problem.rows.n_rows
        with context.phase("moments", unit="rows", total=total):
            S = covariance(problem.rows, problem.fit_intercept, dtype, context)
        check_representable(S.within, S.across)
        dimension = None
        if problem.alphas is not None:
            with context.phase("penalties"):
                root = penalty_factor(problem)
                path = ridge_path(S, problem.alphas, factor=root, context=context)
            best = path.best(trusted=_trusted(S, path))
            problem = replace(problem, alpha=float(path.alphas[best]))
            dimension = float(path.dimensions[-1, best])
        H = _penalized(S, problem)
        note = ""
        if dtype != DOUBLE and condition_number(H) > _LARGEST_CONDITION * np.sqrt(S.n_rows):
            note = ", summed in float64 because they are ill conditioned for float32"
            with context.phase("moments", unit="rows", total=total):
                S = covariance(problem.rows, problem.fit_intercept, DOUBLE, context)
            H = _penalized(S, problem)
        with context.phase("equations"):
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

    def cost(self, mapped: MapCost, size: Size, loss: Loss, alpha: float) -> Stage:
        """Return the stage of the equations, summed and solved; see `Solver.cost`."""
        n, D, t = size.n_rows, mapped.width, size.threads
        dtype = DOUBLE if mapped.landmarks or mapped.groups else mapped.dtype
        work = mapped.mapping + factor(D**3) + stream(100 * D**2)
        if mapped.groups:
            work += gathers(n * mapped.groups**2 / 8, t)
            return Stage("solve", work, mapped.held + (1 + 2 * t) * 8 * D**2)
        block_rows = outline_of(mapped, size).block_rows
        # SYRK computes half of the products; blocks are added up one at a time, in float64
        work += gemm(n * D**2, dtype)
        work += n / block_rows * 0.5 * stream((16 + dtype.itemsize) * D**2)
        block = block_rows * D * (mapped.dtype.itemsize + dtype.itemsize)
        blocks = t * (block + mapped.scratch)
        summing = 8 * D**2 + t * dtype.itemsize * D**2 + blocks
        # covariances, equations, their factor, and one more while they are made; the allocator
        # keeps some of the blocks
        return Stage("solve", work, mapped.held + max(summing, 32 * D**2 + blocks / 4))


_CONSTANT = 1e-12
_FARTHEST = 5.0
"""Standard deviations of the targets that an intercept may be away from their mean."""

_LARGEST_CONDITION = 2.5e-4 / np.finfo(np.float32).eps
"""Up to here, times the root of n because the rows' rounding averages out, float32 sums that were
differently blocked moved predictions by less than 5e-5 of their size."""


def _trusted(S: Covariance, path: Path) -> Array:
    """Return which penalties have intercepts near the targets: a model predicts them far away."""
    away = np.abs(np.einsum("i,aik->ak", S.mean, path.coefs[-1]))
    # an output that is constant to rounding has no deviation
    varies = S.targets > _CONSTANT * S.target_mean**2
    near: Array = np.all(away[:, varies] <= _FARTHEST * np.sqrt(S.targets[varies]), axis=1)
    return near


def _penalized(S: Covariance, problem: Problem) -> Array:
    if problem.penalty is not None:
        return S.within + problem.alpha * problem.penalty
    H = S.within.copy()
    H.flat[:: len(H) + 1] += problem.alpha
    return H
