"""Dual coordinate descent: exact steps in the dual variable of one row after the other."""

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar, final

import numpy as np

from skimp._core._linalg import inverse_root
from skimp._core._threads import single_threaded_blas
from skimp._core._types import Array, DType, Matrix
from skimp._core._work import DOUBLE, MapCost, Size, Stage, Work, gathers, gemm, stream
from skimp._params._memory import require_memory
from skimp._params._rules import Rule, broken, check_params, integer, number
from skimp.data import LOCAL, Context
from skimp.losses import Log, Loss, MulticlassHinge, PiecewiseLoss, Squared
from skimp.solvers._base import Problem, Solution, Solver, Status
from skimp.solvers._costs import count_iterations, outline_of, pass_work, row_bytes
from skimp.solvers._dual import Dual, kept_in_memory, most_shares, needed_bytes
from skimp.solvers._features import as_features

_EPS = float(np.finfo(np.float64).eps)


@final
class DualCD(Solver):
    r"""Dual coordinate descent (SDCA) with shrinking, for losses with kinks as well.

    .. math::
        \max_\beta \; -\sum_i C_i \, \ell^*(y_i, -\beta_i) - \tfrac12 \|v\|^2, \qquad
        v = \sum_i C_i \beta_i x_i, \qquad C_i = \frac{w_i}{2 \alpha \sum_j w_j}

    is the dual of the problem over :math:`2 \alpha`, with x the features in coordinates in which
    the penalty is :math:`\|v\|^2`. A sweep maximises over the slopes :math:`\beta_i` of one row
    after the other, in random order, in 4 n D k operations; slopes that sit at a limit where the
    gradient keeps them are left out until a check of the duality gap finds that they should move.
    An intercept is the coefficient of a constant feature, and penalized like the others.

    Features stay in memory if they fit, n D numbers besides 2 n k for targets and slopes. If
    they do not, they are computed twice in every sweep, rows change places within blocks only, and
    as many active rows as fit are drawn for further steps. Few sweeps are needed if alpha is
    large, many if it is small.

    Parameters
    ----------
    tol : float, default=1e-3
        The duality gap to be reached, relative to the objective.
    max_iter : int, default=1000
        Largest number of sweeps.
    random_state : int, default=0
        Seed of the order of rows.

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
        "random_state": integer(at_least=0),
    }

    def __init__(self, tol: float = 1e-3, max_iter: int = 1000, random_state: int = 0):
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def solve(self, problem: Problem, context: Context = LOCAL) -> Solution:
        """Maximise the dual objective; see `Solver.solve`."""
        check_params(self)
        if not has_dual(problem.loss):
            wording = "piecewise linear or quadratic, 'log' or 'multiclass_hinge'"
            raise broken(type(self).__name__, "loss", wording, problem.loss)
        if not problem.alpha > 0:
            raise broken(type(self).__name__, "alpha", "a number > 0", problem.alpha)
        W, cut = (None, 0) if problem.penalty is None else _inverse_root(problem)
        mapped = problem.rows if W is None else problem.rows.mapped(_Root(W, problem.rows.dtype))
        rows, sample, note = kept_in_memory(mapped, problem, context)
        dual = Dual(rows, problem, context, sample, seed=self.random_state)
        start, history, sweeps, stopped = None, [], 0, False
        if problem.start is not None:
            c, b = (np.asarray(part, np.float64) for part in problem.start)
            with single_threaded_blas():
                start = c if W is None else W.T @ (np.asarray(problem.penalty) @ c), b
        best, gap = dual.start(start)
        if start is not None:
            history.append(best.objective)

        def coef() -> Array:
            with single_threaded_blas():
                return best.coef if W is None else W @ best.coef

        def model() -> tuple[Array, Array]:
            return coef(), best.b

        with context.phase("dual_cd", unit="sweeps", total=self.max_iter) as phase:
            while sweeps < self.max_iter and gap > self.tol and not stopped:
                dual.sweep(sweeps)
                sweeps += 1
                checked = dual.is_due or sweeps == self.max_iter
                if checked:
                    best, gap, _ = dual.check(best)
                    history.append(best.objective)
                    if problem.monitor is not None:
                        stopped = bool(problem.monitor(coef(), best.b.copy()))
                seen = f"duality gap {gap:.1e}" if np.isfinite(gap) else ""
                stopped |= phase.advance(seen, model if checked else None)
        status = Status.CONVERGED if gap <= self.tol else Status.MAX_ITER
        if stopped:
            status = Status.STOPPED_EARLY
            note += ", stopped by the monitor"
        note += ", the intercept is penalized" if problem.fit_intercept else ""
        left_out = f", without {cut} directions that the penalty hardly sees" if cut else ""
        return Solution(
            coef=coef(),
            intercept=best.b.copy(),
            n_iter=sweeps,
            status=status,
            message=f"dual_cd: duality gap {gap:.1e} of the objective after {sweeps} sweeps"
            f"{left_out}{note}",
            history=np.array(history),
            solver="dual_cd",
            intercept_penalized=problem.fit_intercept,
        )

    def cost(self, mapped: MapCost, size: Size, loss: Loss, alpha: float) -> Stage:
        """Return the stage of the sweeps and checks; see `Solver.cost`."""
        outline, row = outline_of(mapped, size), row_bytes(mapped)
        n, k, D, t = size.n_rows, size.n_outputs, mapped.width, size.threads
        held: float = needed_bytes(n, k, D)
        keeping, mapping = n * row, mapped.mapping
        kept = keeping <= size.memory - held
        sweeps = count_iterations(_usual_sweeps(loss, n, alpha), self.tol, 1e-3, self.max_iter)
        block = outline.block_rows * row + mapped.scratch
        if mapped.landmarks:
            # a root of the penalty, and rows times it, in float64
            mapping += gemm(2 * n * D**2, DOUBLE)
            itemsize = 8 + mapped.dtype.itemsize + 8 * (mapped.dtype != DOUBLE)
            block += outline.block_rows * D * itemsize
            held += 24 * D**2
        held += t * block
        # rows that do not fit are sampled, as many as the limit leaves room for
        held += keeping if kept else max(0.0, min(keeping, size.memory - mapped.held - held))
        threads = 1 if loss.joint else min(t, most_shares(k, outline.coded))
        if mapped.groups:
            sweep = gathers(n * mapped.groups * k, threads)
        else:
            sweep = Work(sweeps=n * D * k / threads)
        # checks of the gap, nearly as many as sweeps
        work = sweeps * (sweep + 0.5 * pass_work(mapped, size))
        work += (1.0 if kept else 1 + 2 * sweeps) * mapping + stream(2 * keeping)
        return Stage("solve", work, mapped.held + held)


def _usual_sweeps(loss: Loss, n: int, alpha: float) -> float:
    """Return sweeps over all rows at the default tolerance; many more leave most of them out.

    Seen: 10 for a C of 1, 47 for a C of 25; 147 for the epsilon insensitive loss and a C of 2.5.
    """
    C = 1 / (2 * alpha * n)
    quick = loss.labels or isinstance(loss, Squared)
    return (10 if quick else 100) * sqrt(min(max(C, 0.1), 100.0))


def has_dual(loss: Loss) -> bool:
    """Return whether there are steps for a loss."""
    return isinstance(loss, PiecewiseLoss | Log | MulticlassHinge)


@dataclass(frozen=True)
class _Root:
    """A map of features z to ``z W``, in float64 inside."""

    W: Array
    dtype: DType

    @property
    def width(self) -> int:
        return int(self.W.shape[1])

    def map_block(self, X: Matrix, out: Array) -> None:
        out[...] = as_features(X, DOUBLE) @ self.W


def _inverse_root(problem: Problem) -> tuple[Array, int]:
    """Return W of coordinates v, c = W v, in which the penalty is the identity.

    Also return how many directions it leaves out because the penalty is nearly zero there.
    """
    assert problem.penalty is not None, "there is a penalty"
    width = problem.rows.n_features
    what, remedy = f"the penalty of {width} features", "take a smaller budget or fewer features"
    require_memory(40 * width**2, problem.memory_limit, what, remedy)
    # not the eps of float32 features: their rounding, over the root of an eigenvalue, is small
    # even there, and what would be cut off is worth percents of the objective
    W, _ = inverse_root(problem.penalty, rank=None, eps=_EPS)
    return W, width - W.shape[1]
