"""A problem's objective, its gradient and its curvature, by passes over the rows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skimp._core._blocks import Scratch
from skimp._core._linalg import check_representable
from skimp._core._types import Array, DType, Matrix
from skimp._core._work import DOUBLE
from skimp.data import LOCAL, ArrayRows, Block, Codes, Context, Rows, no_rows
from skimp.losses import Loss
from skimp.solvers._base import Problem
from skimp.solvers._features import as_features, as_targets

_STRIP, _ENTRIES = 512, 2**18
"""Most rows, and most numbers in them, that are used forth and back while they are in cache."""
_FEW = 0.25
"""Share of curved predictions below which they are visited one by one."""
_NEGLIGIBLE = 1e-3
"""Curvatures below this share of their mean are left out of products, never of gradients."""
_ROUNDINGS = {4: 4, 8: 100}
"""Rounding errors in a sum, by the bytes of its terms."""


@dataclass(frozen=True)
class Point:
    """Coefficients, and what the objective is there.

    Attributes
    ----------
    coef, intercept : arrays of shape (width, k) and (k,)
        In float64.
    values : array of shape (k,), or (1,) for a joint loss
        The objective of each output.
    gradient : array of shape (width + 1, k)
        The derivative of the objective in the coefficients, then in the intercept.
    outputs : array of shape (n, k)
        Predictions.
    curvature : array of shape (n, k)
        Second derivatives of the loss, times weights over their sum; negligible ones are zero.
    cautious : bool
        Whether they are those of parabolas above the loss instead.
    """

    coef: Array
    intercept: Array
    values: Array
    gradient: Array
    outputs: Array
    curvature: Array
    cautious: bool = False

    @property
    def value(self) -> float:
        """Return the objective, summed over outputs."""
        return float(self.values.sum())


@dataclass(frozen=True)
class _Product:
    """Codes, and what their transpose is multiplied by: they touch few of its many rows."""

    X: Codes
    U: Array


def _add(total: Array, part: Array | _Product) -> Array:
    """Add the sum over a block of features, and of ones behind them, times something."""
    if isinstance(part, _Product):
        part.X.add_transposed(part.U, total[:-1])
        total[-1] += part.U.sum(axis=0)
    else:
        total += part
    return total


class Objective:
    """The objective of a problem over some rows, kept in memory or computed in each pass.

    Gradients of landmark models are summed in float64, since their coefficients are large and
    cancel; products with the curvature are computed in the dtype of the rows. The targets and
    weights of all rows are known once a point was evaluated.
    """

    targets: Array

    def __init__(self, problem: Problem, rows: Rows, context: Context = LOCAL):
        self.rows, self.context, self.n_rows = rows, context, rows.n_rows
        self._loss, self._alpha = problem.loss, problem.alpha
        self._penalty, self._fit_intercept = problem.penalty, problem.fit_intercept
        self._weight = np.empty((self.n_rows, 1))
        self._first = True
        self._dtype: DType = rows.dtype if problem.penalty is None else DOUBLE

    @property
    def array(self) -> Array | None:
        """The features of all rows if they are one dense array in memory."""
        if not isinstance(self.rows, ArrayRows):
            return None
        X = next(self.rows.reblocked(self.n_rows).blocks()).X
        return X if _is_plain(X, self.rows.dtype) else None

    @property
    def weight(self) -> Array:
        """The weights of all rows."""
        return self._weight[:, 0]

    def at(self, coef: Array, intercept: Array) -> Point:
        """Evaluate the objective and its derivatives."""
        if coef.any():
            return self._at(coef, intercept, self.along(np.vstack([coef, intercept])))
        outputs = np.empty((self.n_rows, len(intercept)), self._dtype)
        outputs[...] = intercept
        return self._at(coef, intercept, outputs)

    def moved(self, point: Point, step: Array, t: Array, change: Array) -> Point:
        """Evaluate the objective after t times a step, which changes predictions by ``change``."""
        outputs = change * t.astype(change.dtype)
        outputs += point.outputs
        return self._at(point.coef + t * step[:-1], point.intercept + t * step[-1], outputs)

    def along(self, step: Array) -> Array:
        """Return what a step, of a gradient's shape, adds to the predictions."""
        C, b = step[:-1].astype(self._dtype), step[-1].astype(self._dtype)
        outputs = np.empty((self.n_rows, len(b)), self._dtype)

        def of_block(block: Block, scratch: Scratch) -> None:
            F = outputs[block.start : block.start + block.size]
            if isinstance(block.X, Codes):
                F[...] = block.X @ C + b
                return
            for part in _strips(np.arange(block.size), block):
                F[part] = self._strip(block.X, part, scratch) @ C + b

        self.context.map_reduce(self.rows, of_block, lambda total, _: total, None)
        return outputs

    def _strip(self, X: Matrix, part: Array | slice, scratch: Scratch) -> Any:
        """Return some rows of a block in the dtype of the predictions."""
        if not isinstance(X, np.ndarray) or X.dtype == self._dtype:
            return as_features(X[part], self._dtype)
        Z = X[part]
        buffer = scratch.array("strip", Z.shape, self._dtype)
        buffer[...] = Z
        return buffer

    def _at(self, coef: Array, intercept: Array, outputs: Array) -> Point:
        """Evaluate the objective where predictions are known: rows that cost nothing are free."""
        loss, dtype, first = self._loss, self._dtype, self._first
        curvature = np.empty(outputs.shape, self.rows.dtype)
        if first:
            self.targets = np.empty(outputs.shape, dtype)

        def of_block(block: Block, scratch: Scratch) -> tuple[float, Array, Array | _Product]:
            Y, weight = as_targets(block, dtype)
            rows = slice(block.start, block.start + block.size)
            if first:
                self.targets[rows], self._weight[rows] = Y, weight
            F = outputs[rows]
            slope = weight * loss.gradient(Y, F)
            curvature[rows] = weight * loss.curvature(Y, F)
            values = (weight * loss.value(Y, F)).sum(axis=0, dtype=np.float64)
            total = float(weight.sum(dtype=np.float64))
            if isinstance(block.X, Codes):
                return total, values, _Product(block.X, slope)
            gradient = np.zeros((len(coef) + 1, len(intercept)), dtype)
            for part in _strips(np.flatnonzero(slope.any(axis=1)), block):
                gradient[:-1] += self._strip(block.X, part, scratch).T @ slope[part]
            gradient[-1] = slope.sum(axis=0)
            return total, values, gradient

        def add(total: Any, part: Any) -> Any:
            return total[0] + part[0], total[1] + part[1], _add(total[2], part[2])

        n_values = 1 if loss.joint else len(intercept)
        zeros = 0.0, np.zeros(n_values), np.zeros((len(coef) + 1, len(intercept)))
        weight, values, gradient = self.context.map_reduce(self.rows, of_block, add, zeros)
        check_representable(values, gradient)
        Pc = self._penalized(coef)
        gradient /= weight
        gradient[:-1] += 2 * self._alpha * Pc
        if not self._fit_intercept:
            gradient[-1] = 0
        penalties = self._alpha * np.sum(coef * Pc, axis=0)
        values = values / weight + (penalties.sum() if loss.joint else penalties)
        curvature /= weight
        curvature[curvature < _NEGLIGIBLE * curvature.mean(axis=0)] = 0
        if first:
            self._weight /= weight
            self._first = False
        return Point(coef, intercept, values, gradient, outputs, curvature)

    def _penalized(self, coef: Array) -> Array:
        return coef if self._penalty is None else self._penalty @ coef

    def at_zero(self) -> float:
        """Return the objective at coefficients of zero, which needs no pass."""
        zeros = np.zeros_like(self.targets)
        return float(np.sum(self._weight * self._loss.value(self.targets, zeros)))

    def cautious(self, point: Point) -> Point:
        """Return a point with the curvature of parabolas that lie above the loss."""
        above = self._weight * self._loss.majorant(self.targets, point.outputs)
        return replace(point, curvature=above.astype(self.rows.dtype), cautious=True)

    def rounding(self, point: Point) -> Array:
        """Return how much of the values at a point may be rounding."""
        share = _ROUNDINGS[self._dtype.itemsize] * float(np.finfo(self._dtype).eps)
        rounding: Array = share * np.abs(point.values)
        return rounding

    def slope_along(self, point: Point, step: Array, change: Array) -> Callable[[Array], Array]:
        """Return the derivative of each output's objective after t times a step.

        The step changes predictions by ``change``: no pass over the rows is needed.
        """
        loss, axis, coef = self._loss, None if self._loss.joint else 0, step[:-1]
        Ps = self._penalized(coef)
        at_start, growth = np.sum(point.coef * Ps, axis=axis), np.sum(coef * Ps, axis=axis)

        def slope(t: Array) -> Array:
            F = point.outputs + t.astype(change.dtype) * change
            terms = self._weight * loss.gradient(self.targets, F) * change
            rises = np.sum(terms, axis=axis, dtype=np.float64)
            return np.asarray(rises + 2 * self._alpha * (at_start + t * growth))

        return slope

    def curved(self, point: Point, V: Array, columns: Array) -> Array:
        """Return the second derivative of the mean loss at a point, times V.

        V has the columns of a gradient with these numbers, which are all of them for a joint loss.
        In the dtype of the rows. Rows where the loss is not curved cost nothing.
        """
        loss, dtype = self._loss, self.rows.dtype
        curvature = point.curvature
        if len(columns) < curvature.shape[1]:
            curvature = curvature[:, columns]
        V = V.astype(dtype, copy=False)
        transposed = np.ascontiguousarray(V.T)
        exact = loss.joint and not point.cautious

        def of_block(block: Block, _: Scratch) -> Array | _Product:
            rows = slice(block.start, block.start + block.size)
            D = curvature[rows]
            chosen = np.flatnonzero(D.any(axis=1))
            few = not exact and np.count_nonzero(D) <= _FEW * len(chosen) * D.shape[1]
            if few and _is_plain(block.X, dtype):
                return _few_curved(block.X, transposed, D)
            Y, F = as_targets(block, dtype)[0], point.outputs[rows]
            weight = self._weight[rows].astype(dtype)

            def product(Z: Any, part: Array | slice) -> Array:
                U: Array = Z @ V[:-1] + V[-1]
                if exact:
                    return weight[part] * loss.curved(Y[part], F[part].astype(dtype), U)
                U *= D[part]
                return U

            if isinstance(block.X, Codes):
                return _Product(block.X, product(block.X, slice(None)))
            sums = np.zeros(V.shape, dtype)
            for part in _strips(chosen, block):
                Z = as_features(block.X[part], dtype)
                U = product(Z, part)
                sums[:-1] += Z.T @ U
                sums[-1] += U.sum(axis=0)
            return sums

        total = self.context.map_reduce(self.rows, of_block, _add, np.zeros(V.shape))
        return total.astype(dtype)


def _few_curved(Z: Array, transposed: Array, D: Array) -> Array:
    from skimp._core.loops._active import add_curved

    sums = np.zeros_like(transposed)
    add_curved(Z, transposed, D, sums)
    return sums.T


def _is_plain(X: Matrix, dtype: DType) -> bool:
    return isinstance(X, np.ndarray) and X.dtype == dtype and X.flags.c_contiguous


def _strips(chosen: Array, block: Block) -> Iterator[Array | slice]:
    """Yield the chosen rows of a block, a few at a time, as slices if all are chosen."""
    size = max(1, min(_STRIP, _ENTRIES // block.X.shape[1]))
    for start in range(0, len(chosen), size):
        if len(chosen) == block.size:
            yield slice(start, start + size)
        else:
            yield chosen[start : start + size]


def mean_loss(
    rows: Rows, loss: Loss, coef: Array, intercept: Array, context: Context = LOCAL
) -> float:
    """Return the weighted mean loss of the rows, summed over outputs."""

    def of_block(block: Block, _: Scratch) -> Array:
        Y, weight = as_targets(block, coef.dtype)
        F = as_features(block.X, coef.dtype) @ coef + intercept
        return np.array([np.sum(weight * loss.value(Y, F)), weight.sum()])

    total, weight = context.map_reduce(rows, of_block, lambda a, b: a + b, np.zeros(2))
    if weight == 0:
        raise no_rows()
    return float(total / weight)
