"""Objective whose predictions are computed again in each pass, in constant memory."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, TypeVar, final

import numpy as np

from skimp._core._blocks import Scratch
from skimp._core._types import Array, DType
from skimp.data import LOCAL, Block, Context, Rows
from skimp.solvers._base import Problem
from skimp.solvers._features import as_features, as_targets
from skimp.solvers._objective import Line, Objective, Point, Summary, Sums, add_sums, negligible
from skimp.solvers._strips import add_transposed, strips

T = TypeVar("T")

_Strip = Callable[[Any, Array, Array], T]
"""Function of the features, targets and weights of a strip."""


@final
@dataclass(frozen=True, kw_only=True)
class StreamedPoint(Point):
    """A point that stores only statistics of the rows.

    Attributes
    ----------
    weight : float
        Sum of the weights of all rows.
    floor : array of shape (k,)
        Weighted curvatures below these are ignored.
    level : array of shape (k,), or None
        Curvature of the loss of each output if it is the same for all rows, as with the squared
        loss. Then Hessian products need no predictions.
    """

    weight: float
    floor: Array
    level: Array | None
    summed: Summary

    @property
    def summary(self) -> Summary:
        """Statistics of the curvatures."""
        return self.summed


@final
class StreamedObjective(Objective[StreamedPoint]):
    """Objective that holds nothing of the rows.

    Each pass computes the predictions of a strip of rows just before it needs them, from features
    that are in the cache at that time. The functions that passes apply to blocks depend only on
    their arguments, and the totals consist of numbers and arrays.
    """

    def __init__(self, problem: Problem, rows: Rows, context: Context = LOCAL):
        super().__init__(problem, rows, context)
        self._zero: float | None = None

    @property
    def array(self) -> None:
        """None: rows are only read in passes."""
        return None

    def at(self, coef: Array, intercept: Array) -> StreamedPoint:
        """Evaluate the objective and its derivatives, in one pass."""
        loss, first = self.problem.loss, self._zero is None
        C, b = self.rounded(coef, intercept)

        def of_strip(Z: Any, Y: Array, weight: Array) -> tuple[Sums, _Bends, float]:
            F = Z @ C + b
            sums, curvature = self.evaluated(Z, Y, weight, F)
            zero = np.sum(weight * loss.value(Y, np.zeros_like(Y))) if first else 0.0
            return sums, _bends(curvature, weight), float(zero)

        def add(total: Any, part: Any) -> tuple[Sums, _Bends, float]:
            bends = _add_bends(total[1], part[1])
            return add_sums(total[0], part[0]), bends, total[2] + part[2]

        k = len(intercept)
        zeros = self.no_sums(k), _no_bends(k), 0.0
        sums, bends, zero = self.reduce(of_strip, add, zeros, self.precision)
        weight = sums[0]
        if first:
            self._zero = zero / weight
        values, gradient = self.summed(coef, sums)
        return StreamedPoint(
            coef=coef,
            intercept=intercept,
            values=values,
            gradient=gradient,
            weight=weight,
            floor=negligible(bends[0] / self.rows.n_rows),
            level=_level(bends),
            summed=_summary(bends, weight),
        )

    def reduce(
        self, of_strip: "_Strip[T]", add: Callable[[T, T], T], initial: T, dtype: DType
    ) -> T:
        """Add up a function of strips with features in this dtype, in one pass over the rows."""

        def of_block(block: Block, _: Scratch) -> T:
            Y, weight = as_targets(block, self.precision)
            parts = strips(block.X, dtype)
            return reduce(add, (of_strip(Z, Y[part], weight[part]) for Z, part in parts))

        return self.context.map_reduce(self.rows, of_block, add, initial, record="objective")

    def at_zero(self) -> float:
        """Return the objective of the zero model, which the first evaluation has computed."""
        assert self._zero is not None, "there was an evaluation"
        return self._zero

    def cautious(self, point: StreamedPoint) -> StreamedPoint:
        """Return the point with the curvature of a quadratic majorant; takes one pass."""
        point = replace(point, cautious=True, floor=np.zeros_like(point.floor))
        C, b = self.rounded(point.coef, point.intercept)

        def of_strip(Z: Any, Y: Array, weight: Array) -> _Bends:
            return _bends(self.curvature(point, Y, Z @ C + b), weight)

        zeros = _no_bends(len(b))
        bends = self.reduce(of_strip, _add_bends, zeros, self.precision)
        return replace(point, level=_level(bends), summed=_summary(bends, point.weight))

    def line(self, point: StreamedPoint, step: Array) -> Line[StreamedPoint]:
        """Return the objective along a step; evaluates its end, in one pass over the rows."""
        return _StreamedLine(self, point, step)

    def curved(self, point: StreamedPoint, V: Array, columns: Array) -> Array:
        """Multiply V by the Hessian of the mean loss; see `Objective.curved`."""
        V = V.astype(self.rows.dtype, copy=False)
        C, b = self.rounded(point.coef[:, columns], point.intercept[columns])
        floor, joint = point.floor[columns], self.problem.loss.joint and not point.cautious
        level = None if joint else point.level

        def of_strip(Z: Any, Y: Array, weight: Array) -> Any:
            if level is None:
                Y, F = Y[:, columns], as_features(Z, self.precision) @ C + b
                if joint:
                    return self.multiplied(Z, V, weight, (Y, F, weight))
                curvature = weight * self.curvature(point, Y, F)
            else:
                curvature = weight * level[columns]
            curvature[curvature < floor] = 0
            return self.multiplied(Z, V, curvature.astype(V.dtype, copy=False), None)

        zeros = np.zeros(V.shape)
        total = self.reduce(of_strip, add_transposed, zeros, self.rows.dtype)
        return np.asarray(total / point.weight, V.dtype)

    def summands(self, point: StreamedPoint, part: Rows) -> tuple[Array, Array]:
        """Return the rows in ``part`` and their curvatures."""
        return self.sampled(point, part)


@final
class _StreamedLine(Line[StreamedPoint]):
    """Line search that evaluates the end of the step first: most steps go there."""

    at_once = 7

    def __init__(self, objective: StreamedObjective, point: StreamedPoint, step: Array):
        self._objective, self._point, self._step = objective, point, step
        self._full = objective.at(point.coef + step[:-1], point.intercept + step[-1])

    @property
    def end(self) -> Array:
        axis = None if self._objective.problem.loss.joint else 0
        return np.asarray(np.sum(self._full.gradient * self._step, axis=axis))

    def slopes(self, T: Array) -> Array:
        objective, point, step = self._objective, self._point, self._step
        k = step.shape[1]
        C, b = objective.rounded(
            np.hstack([point.coef, step[:-1]]), np.hstack([point.intercept, step[-1]])
        )

        def of_strip(Z: Any, Y: Array, weight: Array) -> Array:
            F = Z @ C + b
            return np.array([objective.rises(t, Y, weight, F[:, :k], F[:, k:]) for t in T])

        zeros = np.zeros(T.shape)
        sums = objective.reduce(of_strip, lambda a, b: a + b, zeros, objective.precision)
        return sums / point.weight + objective.penalty_slopes(point, step, T)

    def moved(self, t: Array) -> StreamedPoint:
        if np.all(t == 1):
            return self._full
        point, step = self._point, self._step
        return self._objective.at(point.coef + t * step[:-1], point.intercept + t * step[-1])


_Bends = list[Array]
"""The sum of the weighted curvatures of each output, the numbers of nonzero entries and rows, and
the smallest and largest curvature without weights."""


def _bends(curvature: Array, weight: Array) -> _Bends:
    D = weight * curvature
    counts = np.array([np.count_nonzero(D), np.count_nonzero(D.any(axis=1))])
    heights = D.sum(axis=0, dtype=np.float64)
    return [heights, counts, curvature.min(axis=0), curvature.max(axis=0)]


def _no_bends(n_outputs: int) -> _Bends:
    ends = np.full((2, n_outputs), np.inf)
    return [np.zeros(n_outputs), np.zeros(2, np.int64), ends[0], -ends[1]]


def _add_bends(total: _Bends, part: _Bends) -> _Bends:
    sums = [total[0] + part[0], total[1] + part[1]]
    return [*sums, np.minimum(total[2], part[2]), np.maximum(total[3], part[3])]


def _level(bends: _Bends) -> Array | None:
    *_, low, high = bends
    return low if np.array_equal(low, high) else None


def _summary(bends: _Bends, weight: float) -> Summary:
    heights, (n_curved, n_curved_rows), *_ = bends
    return Summary(heights / weight, int(n_curved), int(n_curved_rows))
