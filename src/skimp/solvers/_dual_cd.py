"""Dual coordinate descent."""

from math import sqrt
from typing import Any, ClassVar, final

import numpy as np

from skimp._core._types import Array
from skimp._core._work import DOUBLE, MapCost, Size, Stage, Work, gathers, gemm, stream
from skimp._params._rules import BOOLEAN, Rule, broken, check_params, integer, number
from skimp.data import LOCAL, Context
from skimp.losses import Log, Loss, MulticlassHinge, PiecewiseLoss, Squared
from skimp.solvers._base import Problem, Solution, Solver, Status
from skimp.solvers._coordinates import Coordinates
from skimp.solvers._costs import count_iterations, outline_of, pass_work, row_bytes
from skimp.solvers._dual import Dual, DualPoint, most_shares
from skimp.solvers._dual_memory import hold_dual, needed_bytes, streamed_rows, streaming_bytes
from skimp.solvers._monitors import monitor_state, restore_monitor
from skimp.solvers._row_buffer import buffered_bytes
from skimp.solvers._slopes import slope_bytes


@final
class DualCD(Solver):
    r"""Dual coordinate descent (SDCA) with shrinking, also for losses that are not smooth.

    Maximizes the dual of the problem, divided by :math:`2 \alpha`:

    .. math::
        \max_\beta \; -\sum_i C_i \, \ell^*(y_i, -\beta_i) - \tfrac12 \|v\|^2, \qquad
        v = \sum_i C_i \beta_i x_i, \qquad C_i = \frac{w_i}{2 \alpha \sum_j w_j}

    where x are the features in coordinates in which the penalty is :math:`\|v\|^2`. A sweep visits
    the rows in random order and maximizes exactly over each dual variable :math:`\beta_i`.
    Variables that are optimal at a bound are skipped (shrinking) until a check of the duality gap
    finds that they should move.

    The intercept is not penalized, so the dual has the constraint
    :math:`\sum_i C_i \beta_i = 0`. Sweeps treat the intercept as the coefficient of a constant
    feature, with a weak penalty around a point that moves after each check until the constraint
    holds (method of multipliers). For the duality gap, dual variables are scaled down until they
    satisfy the constraint. With ``penalize_intercept=True`` the penalty is that of the other
    coefficients, around zero, and there is no constraint.

    A sweep takes 4 n D k operations for D features and k outputs. The number of sweeps grows as
    alpha becomes smaller. If the features fit into memory, they take n D numbers, plus 2 n k for
    targets and dual variables. Otherwise the memory does not depend on n: rows are shuffled only
    within blocks, a sample of active rows gets additional steps, and dual variables may be in a
    temporary file, of 9 n k bytes. Codes are computed once and kept in such a file too; other
    features are computed twice in every sweep.

    Parameters
    ----------
    tol : float, default=1e-3
        Stop if the duality gap, relative to the objective, is at most this.
    max_iter : int, default=1000
        Maximum number of sweeps.
    penalize_intercept : bool, default=False
        Whether to penalize the intercept like the coefficients, as scikit-learn's ``LinearSVC``
        does. False solves the problem of the other solvers and of ``SVC``.
    random_state : int, default=0
        Seed of the row order.

    References
    ----------
    Hsieh, Chang, Lin, Keerthi and Sundararajan (2008), A dual coordinate descent method for
    large-scale linear SVM, algorithm 3 (shrinking).

    Shalev-Shwartz and Zhang (2013), Stochastic dual coordinate ascent methods for regularized loss
    minimization.

    Yu, Huang and Lin (2011), Dual coordinate descent methods for logistic regression and maximum
    entropy models, algorithm 5 (the step of the logistic loss).

    Crammer and Singer (2001), On the algorithmic implementation of multiclass kernel-based vector
    machines (the step of the multi-class hinge loss).

    Rockafellar (1976), Augmented Lagrangians and applications of the proximal point algorithm in
    convex programming (the intercept without a penalty).

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.data import open_rows
    >>> from skimp.losses import hinge
    >>> from skimp.solvers import DualCD, Problem
    >>> Z = np.array([[-2.0], [-1.0], [1.0], [3.0]])
    >>> rows = open_rows(Z, target=np.sign(Z))
    >>> solution = DualCD(tol=1e-9).solve(Problem(rows, hinge, alpha=1e-3))
    >>> solution.coef.round(6).item(), abs(solution.intercept).round(6).item()
    (1.0, 0.0)
    """

    rules: ClassVar[dict[str, Rule]] = {
        "tol": number(above=0),
        "max_iter": integer(at_least=1),
        "penalize_intercept": BOOLEAN,
        "random_state": integer(at_least=0),
    }

    def __init__(
        self,
        tol: float = 1e-3,
        max_iter: int = 1000,
        penalize_intercept: bool = False,
        random_state: int = 0,
    ):
        self.tol = tol
        self.max_iter = max_iter
        self.penalize_intercept = penalize_intercept
        self.random_state = random_state

    def solve(self, problem: Problem, context: Context = LOCAL) -> Solution:
        """Maximize the dual objective; see `Solver.solve`."""
        check_params(self)
        if not has_dual(problem.loss):
            wording = "piecewise linear or quadratic, 'log' or 'multiclass_hinge'"
            raise broken(type(self).__name__, "loss", wording, problem.loss)
        if not problem.alpha > 0:
            raise broken(type(self).__name__, "alpha", "a number > 0", problem.alpha)
        coordinates = Coordinates.of(problem)
        mapped = coordinates.features(problem.rows)
        memory = hold_dual(mapped, problem, context)
        free, note = not self.penalize_intercept, memory.note
        dual = Dual(memory, problem, context, seed=self.random_state, free_intercept=free)
        history: list[float] = []
        sweeps, stopped = 0, False

        def state() -> dict[str, Any]:
            point = [best.objective, best.coef, best.b]
            found = {"best": point, "gap": gap, "history": history, "sweeps": sweeps}
            found |= {"stopped": stopped, "monitor": monitor_state(problem.monitor)}
            return {"dual": dual.state(), **found}

        def model() -> tuple[Array, Array]:
            return coordinates.to_coef(best.coef), best.b.copy()

        with (
            context.resumable("dual_cd") as loop,
            context.phase("dual_cd", unit="sweeps", total=self.max_iter) as phase,
        ):
            before = loop.take()
            if before is not None:
                dual.restore(before["dual"])
                best, gap = DualPoint(*before["best"]), before["gap"]
                history, sweeps = list(before["history"]), before["sweeps"]
                stopped = before["stopped"]
                restore_monitor(problem.monitor, before["monitor"])
                # it has a copy of the dual variables
                del before
            else:
                start = None
                if problem.start is not None:
                    c, b = problem.start
                    start = coordinates.from_coef(c), np.asarray(b, np.float64)
                best, gap = dual.start(start, self.tol)
                history = [] if start is None else [best.objective]
            while sweeps < self.max_iter and gap > self.tol and not stopped:
                dual.sweep(sweeps)
                sweeps += 1
                checked = dual.is_due or sweeps == self.max_iter
                if checked:
                    best, gap, _ = dual.check(best, self.tol)
                    history.append(best.objective)
                    if problem.monitor is not None:
                        stopped = bool(problem.monitor(*model()))
                seen = f"duality gap {gap:.1e}" if np.isfinite(gap) else ""
                stopped |= phase.advance(seen, model if checked else None)
                loop.keep(state)
        gap = dual.certify(best) if gap > self.tol else gap
        status = Status.CONVERGED if gap <= self.tol else Status.MAX_ITER
        if stopped:
            status = Status.STOPPED_EARLY
            note += ", stopped early"
        penalized = problem.fit_intercept and self.penalize_intercept
        note += ", the intercept is penalized" if penalized else ""
        coef, intercept = model()
        seen = f"relative duality gap {gap:.1e} after {sweeps} sweeps"
        return Solution(
            coef=coef,
            intercept=intercept,
            n_iter=sweeps,
            status=status,
            message=f"dual_cd: {seen}{coordinates.note}{note}",
            history=np.array(history),
            solver="dual_cd",
            intercept_penalized=penalized,
        )

    def cost(self, mapped: MapCost, size: Size, loss: Loss, alpha: float) -> Stage:
        """Return the cost of the sweeps and checks; see `Solver.cost`."""
        outline, row = outline_of(mapped, size), row_bytes(mapped)
        n, k, D, t = size.n_rows, size.n_outputs, mapped.width, size.threads
        keeping, mapping = n * row, mapped.mapping
        block = t * (outline.block_rows * row + mapped.scratch)
        if mapped.landmarks:
            # the inverse root of the penalty, and its product with the rows, in float64
            mapping += gemm(2 * n * D**2, DOUBLE)
            itemsize = 8 + mapped.dtype.itemsize + 8 * (mapped.dtype != DOUBLE)
            block += t * outline.block_rows * D * itemsize + 24 * D**2
        needed = needed_bytes(n, k, D)
        kept = keeping <= size.memory - needed
        if kept:
            held = needed + block + keeping
        else:
            own = streaming_bytes(0, row, k, D)
            rows = streamed_rows(outline.block_rows, row, k, size.memory - own)
            held = streaming_bytes(rows, row, k, D) + block
            # rows that do not fit are buffered and sampled, as many as the memory limit allows
            more = slope_bytes(n, k) + n * buffered_bytes(row, k)
            held += max(0.0, min(more, size.memory - mapped.held - held))
        sweeps = count_iterations(_usual_sweeps(loss, n, alpha), self.tol, 1e-3, self.max_iter)
        threads = 1 if loss.joint else min(t, most_shares(k, outline.coded))
        if mapped.groups:
            sweep = gathers(n * mapped.groups * k, threads)
        else:
            sweep = Work(sweeps=n * D * k / threads)
        # nearly one check of the gap per sweep
        work = sweeps * (sweep + 0.5 * pass_work(mapped, size))
        # codes that do not fit are read from a file
        once = kept or outline.coded
        work += (1.0 if once else 1 + 2 * sweeps) * mapping + stream(2 * keeping)
        return Stage("solve", work, mapped.held + held)


def _usual_sweeps(loss: Loss, n: int, alpha: float) -> float:
    """Return the expected number of sweeps over all rows at the default tolerance.

    Sweeps over few active rows are not counted. Measured: 10 for C = 1 and 47 for C = 25; 147 for
    the epsilon-insensitive loss with C = 2.5.
    """
    C = 1 / (2 * alpha * n)
    quick = loss.labels or isinstance(loss, Squared)
    return (10 if quick else 100) * sqrt(min(max(C, 0.1), 100.0))


def has_dual(loss: Loss) -> bool:
    """Return whether dual coordinate descent supports the loss."""
    return isinstance(loss, PiecewiseLoss | Log | MulticlassHinge)
