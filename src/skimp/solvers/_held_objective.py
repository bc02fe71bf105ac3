"""Objective with the predictions and curvatures of all rows in memory."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np

from skimp._core._blocks import Scratch
from skimp._core._types import Array
from skimp.data import LOCAL, ArrayRows, Block, Codes, Context, Rows
from skimp.solvers._base import Problem
from skimp.solvers._features import as_targets, place_of
from skimp.solvers._objective import Line, Objective, Point, Summary, Sums, add_sums, negligible
from skimp.solvers._strips import add_transposed, fill_outputs, is_plain


@final
@dataclass(frozen=True, kw_only=True)
class HeldPoint(Point):
    """A point with the predictions and curvatures of all rows.

    Attributes
    ----------
    outputs : array of shape (n, k)
        Predictions.
    curvature : array of shape (n, k)
        Second derivatives of the loss, multiplied by normalized weights; negligible ones are zero.
    """

    outputs: Array
    curvature: Array

    @cached_property
    def summary(self) -> Summary:
        """Statistics of the curvatures."""
        D = self.curvature
        rows = int(np.count_nonzero(D.any(axis=1)))
        return Summary(D.sum(axis=0, dtype=np.float64), int(np.count_nonzero(D)), rows)


@final
class HeldObjective(Objective[HeldPoint]):
    """Objective that holds the targets of all rows, and the predictions at each point.

    A line search takes no pass over the rows, and Hessian products need no predictions. Takes 40
    bytes per row and output. ``targets`` and the normalized ``weight`` are available after the
    first evaluation.
    """

    targets: Array
    weight: Array

    def __init__(self, problem: Problem, rows: Rows, context: Context = LOCAL):
        super().__init__(problem, rows, context)
        self._first = True

    @property
    def array(self) -> Array | None:
        """Features of all rows if they are one dense array in memory, else None."""
        return array_of(self.rows)

    def at(self, coef: Array, intercept: Array) -> HeldPoint:
        """Evaluate the objective and its derivatives."""
        if coef.any():
            return self.evaluate(coef, intercept, self.along(np.vstack([coef, intercept])))
        outputs = np.empty((self.rows.n_rows, len(intercept)), self.precision)
        outputs[...] = intercept
        return self.evaluate(coef, intercept, outputs)

    def along(self, step: Array) -> Array:
        """Return the change of the predictions by a step, which is shaped like the gradient."""
        C, b = self.rounded(step[:-1], step[-1])
        outputs = np.empty((self.rows.n_rows, len(b)), self.precision)

        def of_block(block: Block, _: Scratch) -> None:
            fill_outputs(block.X, C, b, outputs[place_of(block)])

        self.context.map_reduce(self.rows, of_block, lambda total, _: total, None)
        return outputs

    def evaluate(self, coef: Array, intercept: Array, outputs: Array) -> HeldPoint:
        """Evaluate the objective from known predictions."""
        curvature = np.empty(outputs.shape, self.rows.dtype)
        first, self._first = self._first, False
        if first:
            self.targets = np.empty(outputs.shape, self.precision)
            self.weight = np.empty((len(outputs), 1))

        def of_block(block: Block, _: Scratch) -> Sums:
            Y, weight = as_targets(block, self.precision)
            rows = place_of(block)
            if first:
                self.targets[rows], self.weight[rows] = Y, weight
            sums, bends = self.evaluated(block.X, Y, weight, outputs[rows])
            curvature[rows] = weight * bends
            return sums

        zeros = self.no_sums(len(intercept))
        sums = self.context.map_reduce(self.rows, of_block, add_sums, zeros)
        values, gradient = self.summed(coef, sums)
        curvature /= sums[0]
        curvature[curvature < negligible(curvature.mean(axis=0))] = 0
        if first:
            self.weight /= sums[0]
        return HeldPoint(
            coef=coef,
            intercept=intercept,
            values=values,
            gradient=gradient,
            outputs=outputs,
            curvature=curvature,
        )

    def at_zero(self) -> float:
        """Return the objective of the zero model, without a pass over the rows."""
        zeros = np.zeros_like(self.targets)
        return float(np.sum(self.weight * self.problem.loss.value(self.targets, zeros)))

    def cautious(self, point: HeldPoint) -> HeldPoint:
        """Return the point with the curvature of a quadratic majorant of the loss."""
        point = replace(point, cautious=True)
        above = self.weight * self.curvature(point, self.targets, point.outputs)
        return replace(point, curvature=above.astype(self.rows.dtype))

    def line(self, point: HeldPoint, step: Array) -> Line[HeldPoint]:
        """Return the objective along a step; takes one pass over the rows."""
        return _HeldLine(self, point, step)

    def curved(self, point: HeldPoint, V: Array, columns: Array) -> Array:
        """Multiply V by the Hessian of the mean loss; see `Objective.curved`."""
        curvature = point.curvature
        if len(columns) < curvature.shape[1]:
            curvature = curvature[:, columns]
        V = V.astype(self.rows.dtype, copy=False)
        joint = self.problem.loss.joint and not point.cautious

        def of_block(block: Block, _: Scratch) -> Array | tuple[Codes, Array]:
            rows = place_of(block)
            exact = self.targets[rows], point.outputs[rows], self.weight[rows]
            return self.multiplied(block.X, V, curvature[rows], exact if joint else None)

        total = self.context.map_reduce(self.rows, of_block, add_transposed, np.zeros(V.shape))
        return total.astype(V.dtype)

    def summands(self, point: HeldPoint, part: Rows) -> tuple[Array, Array]:
        """Return all rows or those in ``part``, and their curvatures."""
        X = self.array
        return self.sampled(point, part) if X is None else (X, point.curvature)


def array_of(rows: Rows) -> Array | None:
    """Return the features of rows that are one dense array in memory, else None."""
    if not isinstance(rows, ArrayRows):
        return None
    X = next(rows.reblocked(rows.n_rows).blocks()).X
    return X if is_plain(X, rows.dtype) else None


@final
class _HeldLine(Line[HeldPoint]):
    """Line search on the change of the predictions, which needs no further pass for slopes."""

    at_once = 1

    def __init__(self, objective: HeldObjective, point: HeldPoint, step: Array):
        self._objective, self._point, self._step = objective, point, step
        self._change = objective.along(step)

    @property
    def end(self) -> Array:
        shape = () if self._objective.problem.loss.joint else self._step.shape[1:]
        return np.asarray(self.slopes(np.ones((1, *shape)))[0])

    def slopes(self, T: Array) -> Array:
        objective, F = self._objective, self._point.outputs
        Y, weight = objective.targets, objective.weight
        rises = [objective.rises(t, Y, weight, F, self._change) for t in T]
        return np.array(rises) + objective.penalty_slopes(self._point, self._step, T)

    def moved(self, t: Array) -> HeldPoint:
        outputs = self._change * t.astype(self._change.dtype)
        outputs += self._point.outputs
        coef, intercept = self._point.coef, self._point.intercept
        coef, intercept = coef + t * self._step[:-1], intercept + t * self._step[-1]
        return self._objective.evaluate(coef, intercept, outputs)
