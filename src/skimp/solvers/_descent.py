"""Descent along directions that conjugate gradients find."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from skimp._core._memory import parse_bytes, require_memory
from skimp._core._threads import single_threaded_blas
from skimp._core._types import Array
from skimp.data import ArrayRows, Rows
from skimp.data._kept import keep_rows, kept_bytes
from skimp.solvers._base import Problem, Solution
from skimp.solvers._conjugate_gradients import conjugate_gradients
from skimp.solvers._diagonal import Diagonal
from skimp.solvers._objective import Objective, Point
from skimp.solvers._preconditioner import Preconditioner

_SAMPLE = 16
"""Sampled rows for each feature; landmarks need them to start from only, a quarter at most."""
_WIDE = 2000
"""Columns of codes beyond which the diagonal is the better guide for its price."""
_SMALL = 5000
"""Rows up to which a sample saves nothing."""
_COARSE = 0.05
"""Relative tolerance on the sample, whose minimum is another one than that of all rows."""
_QUARTERINGS, _BISECTIONS = 40, 8
_SUFFICIENT = 1e-4
"""Share of the promised decrease that a step must reach."""
_LITTLE = 0.05
"""Share of a step that tells that curvature was no guide to it."""
_NOTHING = 1e-10
"""Share of the objective at the start that is none: where the minimum is zero, that is the end."""
_INNER = 60
"""Most products for one step."""
_FASTER = 40
"""Operations of a sum over a sample in the time of four of a product, which waits for memory."""
_FEW, _FACTORIZATION = 8, 25
"""Factorizing D features for each output costs about as much as D / 25 products with few rows."""


def descend(
    problem: Problem, *, name: str, tol: float, max_iter: int, forcing: Callable[[float], float]
) -> Solution:
    """Minimise a smooth loss by Newton steps, first over a sample of the rows.

    Parameters
    ----------
    problem : Problem
        The problem.
    name : str
        The solver, for the message.
    tol : float
        The objective's relative decrease below which no further step is taken.
    max_iter : int
        Most steps.
    forcing : callable
        The tolerance of conjugate gradients, given the relative decrease of the last step.
    """
    with single_threaded_blas():
        rows, how = _kept_if_it_fits(problem)
        sample = rows.sample(_sample_size(problem, rows.n_rows), seed=0)
        part = ArrayRows(sample.X, sample.y, sample.weight).copy_with(n_jobs=rows.n_jobs)
        near = Diagonal(problem, rows) if _is_wide(rows) else Preconditioner(problem, part)
        descent = _Descent(problem, near, forcing)
        start = problem.start
        if start is None:
            assert sample.y is not None, "problems have targets"
            n_outputs = sample.y.shape[1]
            start = np.zeros((rows.n_features, n_outputs)), np.zeros(n_outputs)
            if rows.n_rows > max(_SMALL, 2 * part.n_rows):
                everything = np.arange(part.n_rows)
                coarse = descent.run(Objective(problem, part), everything, start, _COARSE, max_iter)
                start = coarse.point.coef, coarse.point.intercept
        end = descent.run(
            Objective(problem, rows), sample.indices, start, tol, max_iter, problem.monitor
        )
    steps, products = len(end.history), end.products
    intercept = end.point.intercept
    return Solution(
        coef=end.point.coef,
        # a joint loss does not see what all of its outputs have in common
        intercept=intercept - intercept.mean() if problem.loss.joint else intercept,
        n_iter=steps,
        converged=end.converged,
        message=f"{name}: {end.reason} after {steps} steps with {products} products, {how}",
        history=np.array(end.history),
    )


@dataclass(frozen=True)
class _End:
    """Where a descent ended, and why."""

    point: Point
    history: list[float]
    products: int
    converged: bool
    reason: str


@dataclass(frozen=True)
class _Descent:
    """Newton steps for a problem, over some rows or over all of them."""

    problem: Problem
    preconditioner: Preconditioner | Diagonal
    forcing: Callable[[float], float]

    def run(
        self,
        objective: Objective,
        indices: Array,
        start: tuple[Array, Array],
        tol: float,
        max_iter: int,
        monitor: Callable[[Array, Array], bool] | None = None,
    ) -> _End:
        """Take Newton steps until the next one promises little.

        ``indices`` are the sampled rows' numbers among the objective's.
        """
        problem, preconditioner = self.problem, self.preconditioner
        joint = problem.loss.joint
        point = objective.at(*start)
        history: list[float] = []
        products, taken, promised, shortened = 0, 0, np.inf, False
        zero = objective.at_zero()
        least = _NOTHING * point.value
        while len(history) < max_iter:
            if shortened or not point.curvature.any(axis=0).all():
                point = objective.cautious(point)
            self._precondition(objective, point, indices, taken)
            gradient = preconditioner.from_rows(point.gradient).astype(objective.rows.dtype)
            direction, taken = conjugate_gradients(
                partial(self._curved, objective, point),
                preconditioner.solve,
                -gradient,
                tol=self.forcing(promised),
                max_iter=_INNER,
                joint=joint,
            )
            step = preconditioner.to_rows(direction).astype(np.float64)
            slope = -np.asarray(np.sum(point.gradient * step, axis=None if joint else 0))
            products += taken
            # no descent although there is a gradient: the curvature is too flat to be a guide
            shortened = not point.cautious and bool(np.any(slope <= 0) and point.gradient.any())
            if shortened:
                continue
            before = point
            point, shortened = _search(objective, point, step, slope)
            rounding = float(objective.rounding(point).sum())
            scale = max(least, _scale(zero, point.value, rounding)) or 1.0
            promised = float(np.sum(slope)) / 2 / scale
            history.append(point.value)
            if monitor is not None and monitor(point.coef, point.intercept):
                return _End(point, history, products, True, "stopped by the monitor")
            if promised <= tol:
                return _End(point, history, products, True, "converged")
            if point is before and point.cautious:
                return _End(point, history, products, False, "rounding allows no further descent")
        reason = f"the last step promised {promised:.1e} of the objective, more than tol,"
        return _End(point, history, products, False, reason)

    def _precondition(self, objective: Objective, point: Point, indices: Array, taken: int) -> None:
        """Adapt the preconditioner: to each output where that costs less than products did."""
        X, near = objective.array, self.preconditioner
        size = point.coef.size * len(point.coef) * objective.rows.dtype.itemsize
        fits = 4 * size <= parse_bytes(self.problem.memory_limit)
        many = taken > max(_FEW, len(point.coef) / _FACTORIZATION)
        if fits and many and X is not None and isinstance(near, Preconditioner):
            near.update_each(X, point.curvature)
        elif taken == 0 or (not near.by_output and taken > self._price_of_sums(objective, point)):
            height = float(point.curvature.sum(axis=0, dtype=np.float64).mean())
            near.update(height, point.curvature[indices])

    def _price_of_sums(self, objective: Objective, point: Point) -> float:
        """Return how many products with all rows take as long as the sums of a sample.

        Zero where these are cheap: steps in the right direction are fewer.
        """
        near, (width, k) = self.preconditioner, point.coef.shape
        if isinstance(near, Diagonal) or near.landmarks:
            return 0.0
        sampled = min(_sample_size(self.problem, objective.n_rows), objective.n_rows)
        products = float(sampled * width / (_FASTER * objective.n_rows * k))
        return products if products > _FEW else 0.0

    def _curved(self, objective: Objective, point: Point, V: Array) -> Array:
        """Return the curvature of the objective times V, in the preconditioner's coordinates."""
        pre = self.preconditioner
        product = pre.from_rows(objective.curved(point, pre.to_rows(V)))
        product[:-1] += V.dtype.type(2 * self.problem.alpha) * V[:-1]
        if not self.problem.fit_intercept:
            product[-1] = 0
        return product


def _scale(zero: float, value: float, rounding: float) -> float:
    """Return what a decrease is compared with: the objective, or what it has fallen by if less.

    Next to outliers, which no model gets rid of, the objective is large and says little.
    """
    fallen = zero - value
    return fallen if 10 * rounding < fallen < value else value


def _kept_if_it_fits(problem: Problem) -> tuple[Rows, str]:
    rows, width = problem.rows, problem.rows.n_features
    n_outputs = np.asarray(next(rows.copy_with(block_rows=1).blocks()).y).shape[1]
    n_rows = rows.n_rows
    # targets, and predictions and curvature of two points
    own = 40 * n_rows * n_outputs
    if _is_wide(rows):
        # gradients, steps and directions; the diagonal
        own += (64 * n_outputs + 16) * width
    else:
        # T and its copies; the sample
        own += (16 + rows.dtype.itemsize) * width**2
        own += min(n_rows, _sample_size(problem, n_rows)) * width * rows.dtype.itemsize
    require_memory(
        own,
        problem.memory_limit,
        f"a solver with {width} features",
        "take a smaller budget or fewer features",
    )
    if own + kept_bytes(rows) <= parse_bytes(problem.memory_limit):
        return keep_rows(rows), "features kept in memory"
    return rows, "features computed in each pass"


def _is_wide(rows: Rows) -> bool:
    """Tell whether features are codes of too many columns for a matrix of them."""
    return rows.coded is not None and rows.n_features > _WIDE


def _sample_size(problem: Problem, n_rows: int) -> int:
    """Return how many rows to sample: no more than a third of the memory has room for."""
    if _is_wide(problem.rows):
        return max(1, n_rows // 4)
    if problem.penalty is not None:
        return max(1, min(_SAMPLE * problem.rows.n_features, n_rows // 4))
    room = parse_bytes(problem.memory_limit) // (3 * problem.rows.dtype.itemsize)
    width = problem.rows.n_features
    return max(1, min(_SAMPLE * width, room // width))


def _search(objective: Objective, point: Point, step: Array, slope: Array) -> tuple[Point, bool]:
    """Take a step, the whole of it if the objective falls enough, to its minimum if not.

    Also tell whether little of it was taken.
    """
    trial = objective.at(point.coef + step[:-1], point.intercept + step[-1])
    enough = trial.values <= point.values - _SUFFICIENT * slope + objective.rounding(point)
    if enough.all():
        return trial, False
    t = np.where(enough, 1.0, _minimum_between(objective.slope_between(point, trial), enough))
    nearer = objective.at(point.coef + t * step[:-1], point.intercept + t * step[-1])
    falls = nearer.value <= point.value + objective.rounding(point).sum()
    return nearer if falls else point, bool(t.min() < _LITTLE)


def _minimum_between(slope: Callable[[Array], Array], skipped: Array) -> Array:
    """Return where the slope of each output is zero, or a little before, between 0 and 1."""
    high = np.ones(skipped.shape)
    low = high / 4
    for _ in range(_QUARTERINGS):
        rising = (slope(low) > 0) & ~skipped
        if not rising.any():
            break
        high, low = np.where(rising, low, high), np.where(rising, low / 4, low)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        rising = slope(middle) > 0
        low, high = np.where(rising, low, middle), np.where(rising, middle, high)
    return low
