"""Normal equations of the squared loss."""

from dataclasses import dataclass, replace
from typing import ClassVar, final

import numpy as np

from skimp._core._linalg import check_representable, condition_number, solve_positive
from skimp._core._types import Array
from skimp._core._work import DOUBLE, MapCost, Size, Stage, factor, gathers, gemm, stream
from skimp._params._memory import require_memory
from skimp._params._rules import broken
from skimp.data import LOCAL, Context, Rows
from skimp.losses import Loss, Squared
from skimp.solvers._base import Learner, Outline, Problem, Solution, Solver, Status
from skimp.solvers._costs import outline_of
from skimp.solvers.ridge import Covariance, Path, covariance, penalty_factor, ridge_path


@final
class Direct(Solver):
    r"""Least squares by normal equations and Cholesky factorization.

    .. math:: (S + \alpha P) \, c = s, \qquad b = \bar y - c^T \bar z

    where S is the weighted covariance of the features and s their covariance with the targets.
    Without an intercept, they are second moments.

    Takes one pass over the rows, n D^2 + O(D^3) operations and O(D^2) memory for n rows and D
    features.

    Sums across row blocks are in float64. Within a block, float32 features are summed in float32,
    which is twice as fast. If the equations turn out to be too ill-conditioned for float32, they
    are summed again in float64 and the solution's message says so. Problems with a penalty matrix
    or coded features always use float64.

    With ``partial_fit``, each call adds its rows to the equations, in float64, and solves them. The
    solution is that of all rows at once, to rounding. If there are several penalties, the first
    call chooses one of them.

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

    incremental: ClassVar[bool] = True

    def needed_bytes(self, outline: Outline) -> int:
        """Return the memory of `solve` in addition to the rows, in bytes."""
        width, threads = outline.width, outline.threads
        # S, H and its factor; the penalty and its factor; a sum and a block per thread
        squares = 24 + 24 * outline.penalized + 8 * threads
        # a factorization per thread, and the whitened equations
        squares += (8 + 24 * threads) * outline.several
        return squares * width**2 + 16 * threads * outline.block_rows * width

    def solve(self, problem: Problem, context: Context = LOCAL) -> Solution:
        """Solve the normal equations; see `Solver.solve`."""
        self._check(problem, self.needed_bytes(problem.outline(context)))
        plain = problem.penalty is None and problem.rows.coded is None
        dtype = problem.rows.dtype if plain else DOUBLE
        total = problem.rows.n_rows
        with context.phase("moments", unit="rows", total=total):
            S = covariance(problem.rows, problem.fit_intercept, dtype, context)
        check_representable(S.within, S.across)
        problem, dimension = _choose_penalty(S, problem, context)
        H = _penalized(S, problem)
        note = ""
        if dtype != DOUBLE and condition_number(H) > _MAX_CONDITION * np.sqrt(S.n_rows):
            note = ", summed in float64 because they are ill-conditioned in float32"
            with context.phase("moments", unit="rows", total=total):
                S = covariance(problem.rows, problem.fit_intercept, DOUBLE, context)
            H = _penalized(S, problem)
        with context.phase("equations"):
            return _solve_equations(S, H, problem.alpha, dimension, note)

    def learner(self, problem: Problem) -> Learner:
        """Return the sums of no rows; see `Solver.learner`."""
        # the covariances of the rows so far, of new rows, and of both
        added = 16 * problem.rows.n_features**2
        self._check(problem, self.needed_bytes(problem.outline()) + added)
        return _Sums(problem)

    def _check(self, problem: Problem, needed: int) -> None:
        """Raise for another loss, or if the equations do not fit in memory."""
        if not isinstance(problem.loss, Squared):
            raise broken(type(self).__name__, "loss", "'squared'", problem.loss)
        require_memory(
            needed,
            problem.memory_limit,
            f"the direct solver with {problem.rows.n_features} features",
            "use a smaller budget or fewer features",
        )

    def cost(self, mapped: MapCost, size: Size, loss: Loss, alpha: float) -> Stage:
        """Return the cost of summing and solving the equations; see `Solver.cost`."""
        n, D, t = size.n_rows, mapped.width, size.threads
        dtype = DOUBLE if mapped.landmarks or mapped.groups else mapped.dtype
        work = mapped.mapping + factor(D**3) + stream(100 * D**2)
        if mapped.groups:
            work += gathers(n * mapped.groups**2 / 8, t)
            return Stage("solve", work, mapped.held + (1 + 2 * t) * 8 * D**2)
        block_rows = outline_of(mapped, size).block_rows
        # SYRK computes half of the products; blocks are added one at a time in float64
        work += gemm(n * D**2, dtype)
        work += n / block_rows * 0.5 * stream((16 + dtype.itemsize) * D**2)
        block = block_rows * D * (mapped.dtype.itemsize + dtype.itemsize)
        blocks = t * (block + mapped.scratch)
        summing = 8 * D**2 + t * dtype.itemsize * D**2 + blocks
        # covariances, equations, factor and one temporary matrix; the allocator keeps some of the
        # blocks
        return Stage("solve", work, mapped.held + max(summing, 32 * D**2 + blocks / 4))


@dataclass(frozen=True)
class _Sums(Learner):
    """Sums of the normal equations over the rows so far."""

    problem: Problem
    S: Covariance | None = None
    dimension: float | None = None

    def learn(self, rows: Rows, context: Context = LOCAL) -> "_Sums":
        with context.phase("moments", unit="rows", total=rows.known_n_rows):
            # float64, because float32 sums that lose digits cannot be repeated
            S = covariance(rows, self.problem.fit_intercept, DOUBLE, context)
        check_representable(S.within, S.across)
        if self.S is not None:
            return replace(self, S=self.S.merged(S), dimension=None)
        problem, dimension = _choose_penalty(S, self.problem, context)
        return _Sums(replace(problem, alphas=None), S, dimension)

    def solution(self) -> Solution:
        assert self.S is not None, "it has learnt from rows"
        H = _penalized(self.S, self.problem)
        return _solve_equations(self.S, H, self.problem.alpha, self.dimension)


_CONSTANT = 1e-12
_MAX_DISTANCE = 5.0
"""Maximum distance of an intercept from the targets' mean, in their standard deviations."""

_MAX_CONDITION = 2.5e-4 / np.finfo(np.float32).eps
"""Maximum condition number for float32 sums, to be multiplied by sqrt(n) because rounding errors of
rows average out. Up to it, different block sizes changed predictions by less than 5e-5."""


def _choose_penalty(
    S: Covariance, problem: Problem, context: Context
) -> tuple[Problem, float | None]:
    """Choose one of several penalties; return the problem and its effective dimension."""
    if problem.alphas is None:
        return problem, None
    with context.phase("penalties"):
        root = penalty_factor(problem)
        path = ridge_path(S, problem.alphas, factor=root, context=context)
    best = path.best(trusted=_trusted(S, path))
    alpha, dimension = float(path.alphas[best]), float(path.dimensions[-1, best])
    return replace(problem, alpha=alpha), dimension


def _solve_equations(
    S: Covariance, H: Array, alpha: float, dimension: float | None, note: str = ""
) -> Solution:
    """Solve H c = s; return the solution with its objective."""
    coef, how = solve_positive(H, S.across)
    objective = S.target - 2 * np.sum(coef * S.across) + np.sum(coef * (H @ coef))
    return Solution(
        coef=coef,
        intercept=S.target_mean - S.mean @ coef,
        n_iter=1,
        status=Status.CONVERGED,
        message=f"direct: {how} of {len(H)} normal equations{note}",
        history=np.array([objective]),
        alpha=alpha,
        dimension=dimension,
        solver="direct",
    )


def _trusted(S: Covariance, path: Path) -> Array:
    """Return which penalties have an intercept near the targets.

    A model predicts its intercept far away from all rows.
    """
    away = np.abs(np.einsum("i,aik->ak", S.mean, path.coefs[-1]))
    # an output that is constant up to rounding has no standard deviation
    varies = S.targets > _CONSTANT * S.target_mean**2
    near: Array = np.all(away[:, varies] <= _MAX_DISTANCE * np.sqrt(S.targets[varies]), axis=1)
    return near


def _penalized(S: Covariance, problem: Problem) -> Array:
    if problem.penalty is not None:
        return S.within + problem.alpha * problem.penalty
    H = S.within.copy()
    H.flat[:: len(H) + 1] += problem.alpha
    return H
