"""Newton descent with directions from conjugate gradients."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from skimp._core._threads import single_threaded_blas
from skimp._core._types import Array
from skimp._params._memory import require_memory
from skimp.data import ArrayRows, Context, Phase, Rows, hold_rows
from skimp.solvers._active import ActiveSteps
from skimp.solvers._base import SAMPLE, STATE, Outline, Problem, Solution, Status
from skimp.solvers._conjugate_gradients import conjugate_gradients
from skimp.solvers._features import n_outputs_of
from skimp.solvers._held_objective import HeldObjective, array_of
from skimp.solvers._line_search import search
from skimp.solvers._objective import Objective, P, Point
from skimp.solvers._preconditioner import Diagonal, Preconditioner
from skimp.solvers._streamed_objective import StreamedObjective

SUMMED = 4
"""Rows of nonzero curvature per landmark that the preconditioner sums."""
SMALL = 5000
"""Number of rows up to which a first descent on a sample does not pay off."""
_COARSE = 0.05
"""Relative tolerance on the sample, whose minimum differs from that of all rows."""
_ZERO = 1e-10
"""Fraction of the initial objective that is treated as zero, for minima of zero."""
_MAX_PRODUCTS = 60
"""Maximum number of products per step."""
_CHEAP_PRODUCTS = 8
"""Number of products that is always cheaper than a better preconditioner."""
_FIRST_PRODUCTS = 20
"""Expected products of the first steps with the Falkon preconditioner."""
_LATE_PRODUCTS = 60
"""Expected products near the minimum that one exact step saves."""
_SLOWER, _CALL = 4, 2e6
"""Speed of SYRK on the sample relative to a memory-bound product, and operations in the time of a
call."""


def descend(
    problem: Problem,
    context: Context,
    *,
    name: str,
    tol: float,
    max_iter: int,
    forcing: Callable[[float], float],
) -> Solution:
    """Minimize a smooth loss by Newton steps, first on a sample of the rows.

    Parameters
    ----------
    problem : Problem
        The problem.
    context : Context
        Number of threads and progress reports.
    name : str
        Name of the solver, for the message.
    tol : float
        Stop if the expected relative decrease of the objective is at most this.
    max_iter : int
        Maximum number of steps.
    forcing : callable
        Returns the tolerance of conjugate gradients, given the relative decrease of the last step.
    """
    with single_threaded_blas():
        rows, start, outline = problem.rows, problem.start, problem.outline(context)
        n_outputs = n_outputs_of(rows)
        # passes that fill arrays leave no totals to resume from
        aside = replace(context, journal=None)
        rows, streamed, how = _kept(rows, outline, n_outputs, aside, context.journal is not None)
        price = _Price(outline, n_outputs)
        whole = None if streamed else array_of(rows)
        rough, part = start is None and not price.summed and rows.n_rows > SMALL, rows
        if rough or (whole is None and not outline.wide):
            sample = rows.sample(outline.sample_size(n_outputs), 0, context)
            part = ArrayRows(sample.X, sample.y, sample.weight)
        near: Preconditioner | Diagonal
        if outline.wide:
            near = Diagonal(problem, rows, context)
        else:
            near = Preconditioner(problem, rows, context, falkon=not price.summed)
        descent = _Descent(problem, near, forcing, price, part, max_iter)
        if start is None:
            start = np.zeros((rows.n_features, n_outputs)), np.zeros(n_outputs)
            if rough and rows.n_rows > 2 * part.n_rows:
                quietly = HeldObjective(problem, part, aside.quiet)
                coarse = descent.run_held(quietly, start, _COARSE, Phase(name))
                start = coarse.coef, coarse.intercept
        with context.phase(name, unit="steps", total=max_iter) as steps:
            if streamed:
                objective = StreamedObjective(problem, rows, context)
                found = descent.run(objective, start, tol, steps, problem.monitor)
            else:
                held = HeldObjective(problem, rows, context)
                found = descent.run_held(held, start, tol, steps, problem.monitor)
    intercept = found.intercept
    return replace(
        found,
        # a joint loss does not depend on a constant common to all outputs
        intercept=intercept - intercept.mean() if problem.loss.joint else intercept,
        message=f"{name}: {found.message}, {how}",
        solver=name,
    )


def _kept(
    rows: Rows, outline: Outline, n_outputs: int, context: Context, streamed: bool
) -> tuple[Rows, bool, str]:
    """Keep features in memory if they fit together with what the descent holds.

    Returns the rows, whether predictions have to be streamed as well, and a message. If they are
    ``streamed`` anyway, only the features have to fit.
    """
    least, what = least_bytes(outline, n_outputs), f"a solver with {outline.width} features"
    require_memory(least, outline.memory, what, "use a smaller budget or fewer features")
    own = least if streamed else held_bytes(outline, n_outputs)
    held = hold_rows(rows, outline.memory - own, context)
    if held.in_memory:
        return held.rows, streamed, "features kept in memory"
    how = "features in memory" if rows.stored else held.note.removeprefix(", ")
    return held.rows, True, how


class _Price:
    """Cost of preconditioners, in units of one product with the Hessian.

    Sums and factorizations take less time than products for the same number of operations.
    """

    def __init__(self, outline: Outline, n_outputs: int):
        self._width, self._k, self._landmarks = outline.width, n_outputs, outline.penalized
        self._itemsize, self._room = outline.dtype.itemsize, outline.memory // 4
        self.most_rows = (SUMMED if self._landmarks else SAMPLE) * self._width
        first = self._sums(outline.n_rows) / self._product(outline.n_rows * n_outputs)
        self._fits = 16 * self._width**2 <= self._room
        self.summed = self._landmarks and first <= _FIRST_PRODUCTS and self._fits
        """Whether the first steps sum over rows instead of using Falkon's preconditioner."""

    def of_sums(self, point: Point) -> float:
        """Return the price of one factor for all outputs, summed over rows; zero if it is cheap."""
        if self._landmarks and not self._fits:
            return np.inf
        summary = point.summary
        price = self._sums(summary.n_curved_rows) / self._product(summary.n_curved)
        # a better preconditioner also saves steps
        return price if price > _CHEAP_PRODUCTS else 0.0

    def of_each(self, point: Point) -> float:
        """Return the price of one factor per output."""
        if self._k * self._width**2 * self._itemsize > self._room:
            return np.inf
        curved = point.summary.n_curved
        operations = self._row() * curved + self._k * self._width**3 / 3
        return max(_CHEAP_PRODUCTS, operations / self._product(curved))

    def of_step(self, point: Point) -> float:
        """Return the operations in the time of a step near the minimum."""
        return _LATE_PRODUCTS * self._product(point.summary.n_curved)

    def _sums(self, n_rows: int) -> float:
        return self._row() * min(n_rows, self.most_rows) + self._width**3 / 3

    def _row(self) -> float:
        """Return the operations to add a row; landmarks need a change of coordinates first."""
        return (3 if self._landmarks else 1) * self._width**2

    def _product(self, curved: int) -> float:
        """Return the operations in the time of a product, which is bound by memory."""
        solves = (4 if self._landmarks else 2) * self._width**2 * self._k
        return _SLOWER * (4 * self._width * curved + solves) + _CALL


@dataclass(frozen=True)
class _Descent:
    """Newton steps for a problem, on a sample or on all rows."""

    problem: Problem
    preconditioner: Preconditioner | Diagonal
    forcing: Callable[[float], float]
    price: _Price
    part: Rows
    max_iter: int

    def run_held(
        self,
        objective: HeldObjective,
        start: tuple[Array, Array],
        tol: float,
        steps: Phase,
        monitor: Callable[[Array, Array], bool] | None = None,
    ) -> Solution:
        """Do the same as `run`, with exact steps where they are faster."""
        # early stopping needs the intermediate models of short steps
        active = ActiveSteps.of(self.problem, objective) if monitor is None else None
        exact = None if active is None else active.step_within
        return self.run(objective, start, tol, steps, monitor, exact)

    def run(
        self,
        objective: Objective[P],
        start: tuple[Array, Array],
        tol: float,
        steps: Phase,
        monitor: Callable[[Array, Array], bool] | None = None,
        exact: Callable[[P, float], Array | None] | None = None,
    ) -> Solution:
        """Take Newton steps until the expected decrease is at most ``tol``.

        ``exact`` returns a step to the minimum, if that takes fewer operations than given.
        """
        problem, near, joint = self.problem, self.preconditioner, self.problem.loss.joint
        point = objective.at(*start)
        history: list[float] = []
        products, since, since_each = 0, 0, 0
        expected, shortened, status = np.inf, False, Status.MAX_ITER
        zero, least = objective.at_zero(), _ZERO * point.value

        def curved(V: Array, columns: Array) -> Array:
            """Multiply by the Hessian of some outputs, in the preconditioner's coordinates."""
            product = near.from_rows(objective.curved(point, near.to_rows(V), columns))
            product[:-1] += V.dtype.type(2 * problem.alpha) * V[:-1]
            if not problem.fit_intercept:
                product[-1] = 0
            return product

        while len(history) < self.max_iter and status is Status.MAX_ITER:
            if shortened or not point.summary.heights.all():
                point = objective.cautious(point)
            taken, step = 0, None
            if exact is not None:
                step = exact(point, self.price.of_step(point))
            if step is None:
                since, since_each = self._precondition(objective, point, since, since_each)
                gradient = near.from_rows(point.gradient).astype(objective.rows.dtype)
                goal = self.forcing(expected)
                direction, taken = conjugate_gradients(
                    curved, near.solve, -gradient, tol=goal, max_iter=_MAX_PRODUCTS, joint=joint
                )
                step = near.to_rows(direction).astype(np.float64)
            slope = -np.asarray(np.sum(point.gradient * step, axis=None if joint else 0))
            products, since, since_each = products + taken, since + taken, since_each + taken
            # no descent despite a nonzero gradient: the curvature is too small to be useful
            shortened = not point.cautious and bool(np.any(slope <= 0) and point.gradient.any())
            if shortened:
                continue
            before = point
            point, shortened = search(objective, point, step, slope, len(history))
            # outliers that no model fits inflate the objective: relate to its decrease instead
            fallen, rounding = zero - point.value, float(objective.rounding(point).sum())
            scale = fallen if 10 * rounding < fallen < point.value else point.value
            expected = float(np.sum(slope)) / 2 / (max(least, scale) or 1.0)
            history.append(point.value)
            stop = steps.advance(f"objective {point.value:.5g}", partial(_model, point))
            if stop or (monitor is not None and monitor(point.coef, point.intercept)):
                status = Status.STOPPED_EARLY
            elif expected <= tol:
                status = Status.CONVERGED
            elif point is before and point.cautious:
                status = Status.STALLED
        reason = {
            Status.STOPPED_EARLY: "stopped early",
            Status.CONVERGED: "converged",
            Status.STALLED: "stopped at rounding level",
            Status.MAX_ITER: f"not converged (relative decrease {expected:.1e}, tol {tol:.1e})",
        }[status]
        taken = len(history)
        message = f"{reason} after {taken} steps with {products} Hessian products"
        return Solution(
            point.coef, point.intercept, taken, status, message, history=np.array(history)
        )

    def _precondition(
        self, objective: Objective[P], point: P, since: int, since_each: int
    ) -> tuple[int, int]:
        """Update the preconditioner if that costs less than the products since the last update.

        An update uses either the mean curvature of the outputs or the curvature of each output.
        ``since`` counts the products since any update, ``since_each`` since one of the second kind.
        Returns both counts, reset to zero by an update.
        """
        near, price = self.preconditioner, self.price
        height = float(point.summary.heights.mean())
        if isinstance(near, Diagonal) or (near.landmarks and not price.summed and since == 0):
            near.set_mean_curvature(height)
            return since, since_each
        if objective.array is not None and since_each > price.of_each(point):
            near.update_each(*objective.summands(point, self.part))
            return 0, 0
        if near.by_output or 0 < since <= price.of_sums(point):
            if near.height > 0:
                near.set_mean_curvature(height)
            return since, since_each
        near.update(*self._chosen(*objective.summands(point, self.part), height))
        return 0, since_each

    def _chosen(self, X: Array, curvature: Array, height: float) -> tuple[Array, Array]:
        """Return rows for the preconditioner and their curvatures, whose sum is ``height``."""
        D = curvature.mean(axis=1, dtype=np.float64)
        curved = np.flatnonzero(D)
        left_out = np.ones(len(D), bool)
        left_out[curved[:: max(1, -(-len(curved) // self.price.most_rows))]] = False
        D[left_out] = 0
        D *= height / (D.sum() or 1.0)
        return X, D


def _model(point: Point) -> tuple[Array, Array]:
    return point.coef, point.intercept


def least_bytes(outline: Outline, n_outputs: int) -> int:
    """Return the memory of a descent that holds nothing of the rows but a sample, in bytes."""
    width, itemsize = outline.width, outline.dtype.itemsize
    sampled = min(outline.n_rows, outline.sample_size(n_outputs))
    own = STATE * sampled * n_outputs
    if outline.wide:
        # gradients, steps, directions and the diagonal
        return own + (64 * n_outputs + 16) * width + sampled * outline.row_bytes
    # T, its inverse, their copies and the sample
    return own + (16 + 2 * itemsize) * width**2 + sampled * width * itemsize


def held_bytes(outline: Outline, n_outputs: int) -> int:
    """Return the memory of a descent that holds the state of all rows, in bytes."""
    # the state of the sample is released before
    others = outline.n_rows - min(outline.n_rows, outline.sample_size(n_outputs))
    return least_bytes(outline, n_outputs) + STATE * others * n_outputs
