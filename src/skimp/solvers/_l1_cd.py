"""Coordinate descent for L1 and elastic-net penalties."""

from dataclasses import replace
from typing import ClassVar, final

import numpy as np

from skimp._core._threads import single_threaded_blas
from skimp._core._types import Array
from skimp._core._work import DOUBLE, MapCost, Size, Stage, gemm, stream
from skimp._params._memory import require_memory
from skimp._params._rules import Rule, broken, check_params, integer, number
from skimp.data import LOCAL, Context, Rows, hold_rows, kept_bytes
from skimp.losses import Loss
from skimp.solvers._base import Problem, Solution, Solver, Status
from skimp.solvers._costs import count_iterations, outline_of, pass_work, row_bytes
from skimp.solvers._features import n_outputs_of
from skimp.solvers._held_objective import HeldObjective, HeldPoint
from skimp.solvers._l1_steps import FIRST, MATRIX, L1Steps
from skimp.solvers._line_search import minimum_along

_LEAST = 16
"""Size of the smallest working set."""
_USUAL = 6
"""Steps at the default tolerance (measured: 2 to 10, more for weaker penalties)."""
_FLAT = 0.1
"""Accept a step if the slope at its end is below this fraction of the initial slope."""
_SHORT, _LONG = 0.25, 0.5
"""If less than the first fraction of a step is taken, raise the curvature; if less than the
second, the model is wrong."""
_RAISE, _FIRST_SHARE, _LAST_SHARE = 10, 1e-3, 1e-9
"""The share of a majorant of the loss below which its curvature is raised: its factor after a
short step, its first value, and the value at which a long step ends it."""
_DOUBT = 1e-3
"""Factor of the tolerance for steps with a wrong model or raised curvature."""
_ZERO = 1e-10
"""Fraction of the initial objective that is treated as zero, for minima of zero."""


@final
class L1CD(Solver):
    r"""Coordinate descent for L1 and elastic-net penalties, with exact zeros in the coefficients.

    Minimizes, for a smooth loss and each output separately,

    .. math::
        \frac{1}{\sum_i w_i} \sum_i w_i \, \ell(y_i, c^T z_i + b) + \alpha \rho \|c\|_1
        + \alpha (1 - \rho) \, c^T P c

    where :math:`\rho` is ``l1_ratio``, and c are the coefficients of the features as given: an
    exact zero means that a landmark or feature is not used. The intercept is not penalized. All
    coefficients are zero if :math:`\alpha \rho` is at least the largest
    :math:`|\sum_i w_i \, \ell'_i \, z_{ij}| / \sum_i w_i` of a constant model.

    Each step minimizes a quadratic model of the loss over a working set of features: those in use,
    and those that promise the largest decrease. Coordinate descent in random order sets

    .. math:: c_j \leftarrow \frac{S(\beta_j c_j - g_j, \; \alpha \rho)}{\beta_j}, \qquad
        S(u, \lambda) = \operatorname{sign}(u) \max(|u| - \lambda, 0)

    where g is the gradient of the model and :math:`\beta_j` its second derivative. The Hessian of
    the model is summed once per step, so that sweeps do not read the rows. Between sweeps, all
    nonzero coefficients move together to the minimum for their signs. A line search ends the step.
    If it takes only a small part of the step, because many rows have no curvature, the next steps
    raise their curvature.

    The solver stops after a step of which the model expects a decrease of at most ``tol`` times
    the objective. Since the model becomes exact near the minimum, this estimates the distance to
    the minimum before the step. The tolerance is a thousand times smaller for a step whose decrease
    differs from the expected one by more than half of it. For the squared loss, the model is exact
    everywhere.

    A step takes three passes over the rows, with n (4 D k + a^2 k) operations for n rows, D
    features, k outputs and a features in the working set; rows with a curvature of zero are
    skipped. The squared loss shares the n a^2 operations among outputs. The features take n D
    numbers of memory if the memory limit allows it; otherwise they are recomputed in each pass.

    Parameters
    ----------
    l1_ratio : float, default=1.0
        Share :math:`\rho` of the L1 norm in the penalty, from 0 (ridge) to 1 (lasso).
    tol : float, default=1e-4
        Relative tolerance of the objective.
    max_iter : int, default=500
        Maximum number of steps.
    random_state : int, default=0
        Seed of the order of coordinates.

    References
    ----------
    Shalev-Shwartz and Tewari (2011), Stochastic methods for l1-regularized loss minimization. A
    step of theirs uses a bound of the curvature; here it is the curvature itself.

    Friedman, Hastie and Tibshirani (2010), Regularization paths for generalized linear models via
    coordinate descent, section 2.2 (sums over rows in place of rows).

    Yuan, Ho and Lin (2012), An improved GLMNET for L1-regularized logistic regression.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.data import open_rows
    >>> from skimp.losses import squared
    >>> from skimp.solvers import L1CD, Problem
    >>> rng = np.random.default_rng(0)
    >>> Z = rng.normal(size=(200, 30))
    >>> y = 2 * Z[:, [3]] - Z[:, [8]]
    >>> solution = L1CD().solve(Problem(open_rows(Z, target=y), squared, alpha=0.1))
    >>> np.flatnonzero(solution.coef).tolist()
    [3, 8]
    """

    rules: ClassVar[dict[str, Rule]] = {
        "l1_ratio": number(at_least=0, at_most=1),
        "tol": number(above=0),
        "max_iter": integer(at_least=1),
        "random_state": integer(at_least=0),
    }

    def __init__(
        self,
        l1_ratio: float = 1.0,
        tol: float = 1e-4,
        max_iter: int = 500,
        random_state: int = 0,
    ):
        self.l1_ratio = l1_ratio
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @property
    def ridge(self) -> bool:
        """Whether the penalty has no L1 norm."""
        return self.l1_ratio == 0

    def solve(self, problem: Problem, context: Context = LOCAL) -> Solution:
        """Minimize the objective; see `Solver.solve`."""
        check_params(self)
        owner, loss = type(self).__name__, problem.loss
        if loss.joint or not np.isfinite(loss.max_curvature):
            wording = "a smooth loss with separate outputs and a finite max_curvature"
            raise broken(owner, "loss", f"{wording}, such as 'squared_hinge' or 'log'", loss)
        if not problem.alpha > 0:
            raise broken(owner, "alpha", "a number > 0", problem.alpha)
        with single_threaded_blas():
            return self._descend(problem, context)

    def _descend(self, problem: Problem, context: Context) -> Solution:
        threshold = problem.alpha * self.l1_ratio
        k = n_outputs_of(problem.rows)
        rows, taken, how = _kept_in_memory(problem, k, context)
        width = rows.n_features
        start = problem.start or (np.zeros((width, k)), np.zeros(k))
        smooth = replace(problem, alpha=problem.alpha * (1 - self.l1_ratio))
        objective = HeldObjective(smooth, rows, context)
        point = objective.at(*(np.array(part, np.float64) for part in start))
        steps = L1Steps(smooth, objective, threshold, taken)
        history: list[float] = []
        expected, raised, status = np.inf, 0.0, Status.MAX_ITER

        def value(point: HeldPoint) -> float:
            return point.value + threshold * float(np.abs(point.coef).sum())

        def model() -> tuple[Array, Array]:
            return point.coef, point.intercept

        least = _ZERO * value(point)
        with context.phase("l1_cd", unit="steps", total=self.max_iter) as phase:
            while len(history) < self.max_iter and status is Status.MAX_ITER:
                if raised or not point.curvature.any(axis=0).all():
                    point = _raise_curvature(objective, point, raised or 1.0)
                step, decrease = steps.step(point, [self.random_state, len(history)])
                moved, share = _search(objective, point, step, threshold)
                expected = decrease / (max(least, value(moved)) or 1.0)
                rounding = float(objective.rounding(point).sum())
                fallen = value(point) - value(moved)
                falls = fallen >= -rounding
                right = share >= _LONG and abs(fallen - decrease) <= decrease / 2 + rounding
                goal = self.tol * (1.0 if right and not point.cautious else _DOUBT)
                stalled = not falls and raised == 1
                if share < _SHORT or not falls:
                    raised = min(1.0, max(_RAISE * raised, _FIRST_SHARE))
                elif share == 1:
                    raised = raised / _RAISE if raised > _LAST_SHARE else 0.0
                point = moved if falls else point
                history.append(value(point))
                stop = phase.advance(f"objective {history[-1]:.5g}", model)
                if stop or (problem.monitor is not None and problem.monitor(*model())):
                    status = Status.STOPPED_EARLY
                elif expected <= goal:
                    status = Status.CONVERGED
                elif stalled:
                    status = Status.STALLED
        used = int(np.count_nonzero(point.coef.any(axis=1)))
        seen = f"expected decrease {expected:.1e} in step {len(history)}"
        return Solution(
            coef=point.coef,
            intercept=point.intercept,
            n_iter=len(history),
            status=status,
            message=f"l1_cd: {status.value}, {seen}, {used} of {width} features used{how}",
            history=np.array(history),
            # unbiased for the lasso (Zou, Hastie and Tibshirani 2007)
            dimension=None if self.ridge else float(used),
            solver="l1_cd",
        )

    def cost(self, mapped: MapCost, size: Size, loss: Loss, alpha: float) -> Stage:
        """Return the cost of the steps; see `Solver.cost`."""
        n, k, D, t = size.n_rows, size.n_outputs, mapped.width, size.threads
        steps = count_iterations(_USUAL, self.tol, 1e-4, self.max_iter)
        a = min(D, 2 * FIRST)
        keeping = n * row_bytes(mapped)
        own = _needed_bytes(n, k, D) + 8 * (t + 2) * k * a**2
        kept = keeping + own <= size.memory
        block = outline_of(mapped, size).block_rows * (row_bytes(mapped) + 16 * a) + mapped.scratch
        work = steps * (2 * pass_work(mapped, size, exact=True) + gemm(n * k * a**2, DOUBLE))
        once = kept or mapped.groups
        work += (1.0 if once else 2 + 3 * steps) * mapped.mapping + stream(2 * keeping)
        return Stage("solve", work, mapped.held + own + t * block + (keeping if kept else 0))


def _needed_bytes(n: int, k: int, width: int) -> int:
    """Return the memory of a descent in addition to features and working sets, in bytes."""
    # targets, and predictions and curvatures of two points; gradients and steps
    return 40 * n * k + 64 * width * k


def _kept_in_memory(problem: Problem, k: int, context: Context) -> tuple[Rows, int, str]:
    """Return rows with features in memory if they fit, the bytes in use and a message."""
    rows, memory = problem.rows, problem.outline(context).memory
    own = _needed_bytes(rows.n_rows, k, rows.n_features)
    least, first = (MATRIX * k * min(rows.n_features, size) ** 2 for size in (_LEAST, FIRST))
    what = f"l1_cd on {rows.n_rows} rows with {rows.n_features} features and {k} outputs"
    require_memory(own + least, memory, what, "use fewer rows or fewer features")
    held = hold_rows(rows, memory - own - first, context)
    if held.in_memory:
        return held.rows, own + kept_bytes(rows), ", features kept in memory"
    return held.rows, own, held.note


def _raise_curvature(objective: HeldObjective, point: HeldPoint, share: float) -> HeldPoint:
    """Return the point with a curvature of at least a share of a majorant's."""
    above = objective.cautious(point)
    return replace(above, curvature=np.maximum(point.curvature, share * above.curvature))


def _search(
    objective: HeldObjective, point: HeldPoint, step: Array, threshold: float
) -> tuple[HeldPoint, float]:
    """Go to the minimum of each output along a step, at most to its end, which has exact zeros.

    Returns the new point and the smallest fraction of the step that an output took.
    """
    line = objective.line(point, step)
    c, d = point.coef, step[:-1]

    def penalty_slope(t: Array) -> Array:
        """Return the derivative from below: at zero, a coefficient keeps its sign."""
        at = c + t * d
        signs = np.where(at == 0, -np.sign(d), np.sign(at))
        return np.asarray(threshold * np.sum(signs * d, axis=0))

    def slopes(T: Array) -> Array:
        return np.asarray(line.slopes(T) + [penalty_slope(t) for t in T])

    initial = np.sum(point.gradient * step, axis=0)
    initial += threshold * np.sum(np.where(c == 0, np.abs(d), np.sign(c) * d), axis=0)
    flat = np.maximum(objective.rounding(point), -_FLAT * initial)
    end = line.end + penalty_slope(np.ones_like(initial))
    t = minimum_along(slopes, end, flat, 0, line.at_once)
    return line.moved(t), float(t.min())
