"""Newton descent with directions from conjugate gradients."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from skimp._core._threads import single_threaded_blas
from skimp._core._types import Array
from skimp._params._memory import require_memory
from skimp.data import ArrayRows, Context, Phase, Rows, keep_rows, kept_bytes
from skimp.solvers._active import ActiveSteps
from skimp.solvers._base import SAMPLE, Outline, Problem, Solution, Status
from skimp.solvers._conjugate_gradients import conjugate_gradients
from skimp.solvers._features import as_dense_features, n_outputs_of
from skimp.solvers._objective import Objective, Point
from skimp.solvers._preconditioner import Diagonal, Preconditioner

SUMMED = 4
"""Rows of nonzero curvature per landmark that the preconditioner sums."""
SMALL = 5000
"""Number of rows up to which a first descent on a sample does not pay off."""
_COARSE = 0.05
"""Relative tolerance on the sample, whose minimum differs from that of all rows."""
_DOUBLINGS, _QUARTERINGS, _BISECTIONS = 6, 40, 6
_EARLY = 2
"""Number of first steps without extrapolation."""
_FLAT = 0.1
"""Accept a step if the slope at its end is below this fraction of the initial slope."""
_SHORT = 0.05
"""If less than this fraction of a step is taken, replace the curvature by a majorant."""
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
        own, what = least_bytes(outline, n_outputs), f"a solver with {outline.width} features"
        require_memory(own, outline.memory, what, "use a smaller budget or fewer features")
        how = "features recomputed in each pass"
        if own + kept_bytes(rows) <= outline.memory:
            with context.phase("features", unit="rows", total=rows.n_rows):
                rows = keep_rows(rows, context)
            how = "features kept in memory"
        price = _Price(outline, n_outputs)
        objective = Objective(problem, rows, context)
        rough = start is None and not price.summed and rows.n_rows > SMALL
        part, indices = rows, np.arange(rows.n_rows)
        if rough or objective.array is None:
            sample = rows.sample(outline.sample_size, 0, context)
            part, indices = ArrayRows(sample.X, sample.y, sample.weight), sample.indices
        near: Preconditioner | Diagonal
        if outline.wide:
            near = Diagonal(problem, rows, context)
        else:
            near = Preconditioner(problem, rows, context, falkon=not price.summed)
        descent = _Descent(problem, near, forcing, price, part, indices, max_iter)
        if start is None:
            start = np.zeros((rows.n_features, n_outputs)), np.zeros(n_outputs)
            if rough and rows.n_rows > 2 * part.n_rows:
                quietly = Objective(problem, part, context.quiet)
                coarse = descent.run(quietly, start, _COARSE, Phase(name))
                start = coarse.coef, coarse.intercept
        with context.phase(name, unit="steps", total=max_iter) as steps:
            found = descent.run(objective, start, tol, steps, problem.monitor)
    intercept = found.intercept
    return replace(
        found,
        # a joint loss does not depend on a constant common to all outputs
        intercept=intercept - intercept.mean() if problem.loss.joint else intercept,
        message=f"{name}: {found.message}, {how}",
        solver=name,
    )


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
        rows = int(np.count_nonzero(point.curvature.any(axis=1)))
        price = self._sums(rows) / self._product(int(np.count_nonzero(point.curvature)))
        # a better preconditioner also saves steps
        return price if price > _CHEAP_PRODUCTS else 0.0

    def of_each(self, point: Point) -> float:
        """Return the price of one factor per output."""
        if self._k * self._width**2 * self._itemsize > self._room:
            return np.inf
        curved = int(np.count_nonzero(point.curvature))
        operations = self._row() * curved + self._k * self._width**3 / 3
        return max(_CHEAP_PRODUCTS, operations / self._product(curved))

    def of_step(self, point: Point) -> float:
        """Return the operations in the time of a step near the minimum."""
        return _LATE_PRODUCTS * self._product(int(np.count_nonzero(point.curvature)))

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
    indices: Array
    max_iter: int

    def run(
        self,
        objective: Objective,
        start: tuple[Array, Array],
        tol: float,
        steps: Phase,
        monitor: Callable[[Array, Array], bool] | None = None,
    ) -> Solution:
        """Take Newton steps until the expected decrease is at most ``tol``."""
        problem, near, joint = self.problem, self.preconditioner, self.problem.loss.joint
        # early stopping needs the intermediate models of short steps
        active = ActiveSteps.of(problem, objective) if monitor is None else None
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
            if shortened or not point.curvature.any(axis=0).all():
                point = objective.cautious(point)
            taken, step = 0, None
            if active is not None and active.operations(point) < self.price.of_step(point):
                step = active.step(point)
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
            point, shortened = _search(objective, point, step, slope, len(history))
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
        self, objective: Objective, point: Point, since: int, since_each: int
    ) -> tuple[int, int]:
        """Update the preconditioner if that costs less than the products since the last update.

        An update uses either the mean curvature of the outputs or the curvature of each output.
        ``since`` counts the products since any update, ``since_each`` since one of the second kind.
        Returns both counts, reset to zero by an update.
        """
        near, price = self.preconditioner, self.price
        height = float(point.curvature.sum(axis=0, dtype=np.float64).mean())
        if isinstance(near, Diagonal) or (near.landmarks and not price.summed and since == 0):
            near.set_mean_curvature(height)
            return since, since_each
        if objective.array is not None and since_each > price.of_each(point):
            near.update_each(objective.array, point.curvature)
            return 0, 0
        if near.by_output or 0 < since <= price.of_sums(point):
            if near.height > 0:
                near.set_mean_curvature(height)
            return since, since_each
        near.update(*self._chosen(objective, point, height))
        return 0, since_each

    def _chosen(self, objective: Objective, point: Point, height: float) -> tuple[Array, Array]:
        """Return rows for the preconditioner and their curvatures."""
        X, D = objective.array, point.curvature.mean(axis=1, dtype=np.float64)
        if X is None:
            whole = next(self.part.reblocked(self.part.n_rows).blocks())
            X = as_dense_features(whole.X, objective.rows.dtype)
            D = D[self.indices] if objective.rows.n_rows > len(self.indices) else D
        curved = np.flatnonzero(D)
        left_out = np.ones(len(D), bool)
        left_out[curved[:: max(1, -(-len(curved) // self.price.most_rows))]] = False
        D[left_out] = 0
        D *= height / (D.sum() or 1.0)
        return X, D


def _model(point: Point) -> tuple[Array, Array]:
    return point.coef, point.intercept


def least_bytes(outline: Outline, n_outputs: int) -> int:
    """Return the minimum memory of a descent in addition to the features, in bytes."""
    n_rows, width, itemsize = outline.n_rows, outline.width, outline.dtype.itemsize
    # targets, and predictions and curvatures of two points
    own = 40 * n_rows * n_outputs
    if outline.wide:
        # gradients, steps, directions and the diagonal
        return own + (64 * n_outputs + 16) * width
    # T, its inverse, their copies and the sample
    own += (16 + 2 * itemsize) * width**2
    return own + min(n_rows, outline.sample_size) * width * itemsize


def _search(
    objective: Objective, point: Point, step: Array, slope: Array, number: int
) -> tuple[Point, bool]:
    """Search along a step for the approximate minimum of each output.

    Takes one pass for the change of the predictions and one for the gradient. The minimum lies
    beyond the full step if many rows become inactive on the way. The first steps do not go beyond
    it, because early stopping chooses among their smooth models. Also returns whether only a small
    part of the step was taken.
    """
    change = objective.along(step)
    slopes = objective.slope_along(point, step, change)
    early = number < _EARLY
    rounding = objective.rounding(point).reshape(slope.shape)
    flat = np.maximum(rounding, (1.0 if early else _FLAT) * slope)
    t = minimum_along(slopes, flat, 0 if early else _DOUBLINGS)
    moved = objective.moved(point, step, t, change)
    falls = moved.value <= point.value + objective.rounding(point).sum()
    return moved if falls else point, bool(t.min() < _SHORT)


def minimum_along(slope: Callable[[Array], Array], flat: Array, doublings: int) -> Array:
    """Return the step length at which the slope of each output is about zero.

    Return 1 if the slope there is at most ``flat``. If the slope is still negative after all
    doublings, return the longest step.
    """
    high = np.ones(flat.shape)
    end = slope(high)
    low, done = np.zeros_like(high), np.abs(end) <= flat
    for _ in range(doublings):
        falling = (end < 0) & ~done
        if not falling.any():
            break
        low, high = np.where(falling, high, low), np.where(falling, 2 * high, high)
        end = slope(high)
    falling = (end < 0) & ~done
    low, done = np.where(falling, high, low), done | falling
    low = np.where(done, high, np.where(low > 0, low, high / 4))
    for _ in range(_QUARTERINGS):
        rising = (slope(low) > 0) & ~done
        if not rising.any():
            break
        high, low = np.where(rising, low, high), np.where(rising, low / 4, low)
    for _ in range(_BISECTIONS):
        if done.all():
            break
        middle = (low + high) / 2
        rising = slope(middle) > 0
        low = np.where(rising | done, low, middle)
        high = np.where(rising & ~done, middle, high)
    return low
