"""Objective of a problem, its gradient and its Hessian products, by passes over the rows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from skimp._core._blocks import Scratch
from skimp._core._linalg import check_representable
from skimp._core._types import Array, DType, Matrix
from skimp._core._work import DOUBLE
from skimp.data import LOCAL, ArrayRows, Block, Codes, Context, Rows, no_rows
from skimp.losses import Loss
from skimp.solvers._base import Problem
from skimp.solvers._features import as_features, as_targets, place_of

_STRIP, _ENTRIES = 512, 2**18
"""Maximum number of rows and of entries per strip, so that a strip stays in the cache."""
_FEW = 0.25
"""Fraction of predictions with nonzero curvature below which they are visited one by one."""
_NEGLIGIBLE = 1e-3
"""Curvatures below this fraction of their mean are ignored in Hessian products."""
_ROUNDINGS = {4: 4, 8: 100}
"""Rounding error of a sum in units of eps, by the size of a number in bytes."""


@dataclass(frozen=True)
class Point:
    """Coefficients, and the objective and its derivatives there.

    Attributes
    ----------
    coef, intercept : arrays of shape (width, k) and (k,)
        Coefficients and intercepts in float64.
    values : array of shape (k,), or (1,) for a joint loss
        Objective of each output.
    gradient : array of shape (width + 1, k)
        Gradient with respect to the coefficients, then the intercept.
    outputs : array of shape (n, k)
        Predictions.
    curvature : array of shape (n, k)
        Second derivatives of the loss, multiplied by normalized weights; negligible ones are zero.
    cautious : bool
        Whether the curvature is that of a quadratic majorant of the loss.
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
        """Objective, summed over outputs."""
        return float(self.values.sum())


class Objective:
    """Objective of a problem over some rows, whose features may be recomputed in each pass.

    Gradients of landmark models are summed in float64, because their coefficients are large and
    cancel. Hessian products use the dtype of the rows. ``targets`` and the normalized ``weight``
    are available after the first evaluation.
    """

    targets: Array

    def __init__(self, problem: Problem, rows: Rows, context: Context = LOCAL):
        self.rows, self.context, self._problem = rows, context, problem
        self.weight = np.empty((rows.n_rows, 1))
        self._first = True
        self._dtype: DType = rows.dtype if problem.penalty is None else DOUBLE

    @property
    def array(self) -> Array | None:
        """Features of all rows if they are one dense array in memory, else None."""
        if not isinstance(self.rows, ArrayRows):
            return None
        X = next(self.rows.reblocked(self.rows.n_rows).blocks()).X
        return X if _is_plain(X, self.rows.dtype) else None

    def at(self, coef: Array, intercept: Array) -> Point:
        """Evaluate the objective and its derivatives."""
        if coef.any():
            return self._at(coef, intercept, self.along(np.vstack([coef, intercept])))
        outputs = np.empty((self.rows.n_rows, len(intercept)), self._dtype)
        outputs[...] = intercept
        return self._at(coef, intercept, outputs)

    def moved(self, point: Point, step: Array, t: Array, change: Array) -> Point:
        """Evaluate after ``t * step``; the full step changes predictions by ``change``."""
        outputs = change * t.astype(change.dtype)
        outputs += point.outputs
        return self._at(point.coef + t * step[:-1], point.intercept + t * step[-1], outputs)

    def along(self, step: Array) -> Array:
        """Return the change of the predictions by a step, which is shaped like the gradient."""
        C, b = step[:-1].astype(self._dtype), step[-1].astype(self._dtype)
        outputs = np.empty((self.rows.n_rows, len(b)), self._dtype)

        def of_block(block: Block, _: Scratch) -> None:
            F = outputs[place_of(block)]
            for Z, part in _strips(block, self._dtype):
                F[part] = Z @ C + b

        self.context.map_reduce(self.rows, of_block, lambda total, _: total, None)
        return outputs

    def _at(self, coef: Array, intercept: Array, outputs: Array) -> Point:
        """Evaluate the objective from known predictions; rows without a loss are skipped."""
        loss, alpha, dtype = self._problem.loss, self._problem.alpha, self._dtype
        curvature = np.empty(outputs.shape, self.rows.dtype)
        first, self._first = self._first, False
        if first:
            self.targets = np.empty(outputs.shape, dtype)

        def of_block(block: Block, _: Scratch) -> tuple[Any, ...]:
            Y, weight = as_targets(block, dtype)
            rows = place_of(block)
            if first:
                self.targets[rows], self.weight[rows] = Y, weight
            F = outputs[rows]
            slope = weight * loss.gradient(Y, F)
            curvature[rows] = weight * loss.curvature(Y, F)
            values = (weight * loss.value(Y, F)).sum(axis=0, dtype=np.float64)
            chosen = np.flatnonzero(slope.any(axis=1))
            gradient = _transposed(block, chosen, slope, lambda _, part: slope[part])
            return float(weight.sum(dtype=np.float64)), values, gradient

        def add(total: Any, part: Any) -> Any:
            return total[0] + part[0], total[1] + part[1], _add(total[2], part[2])

        n_values = 1 if loss.joint else len(intercept)
        zeros = 0.0, np.zeros(n_values), np.zeros((len(coef) + 1, len(intercept)))
        weight, values, gradient = self.context.map_reduce(self.rows, of_block, add, zeros)
        check_representable(values, gradient)
        Pc = self._penalized(coef)
        gradient /= weight
        gradient[:-1] += 2 * alpha * Pc
        if not self._problem.fit_intercept:
            gradient[-1] = 0
        penalties = alpha * np.sum(coef * Pc, axis=0)
        values = values / weight + (penalties.sum() if loss.joint else penalties)
        curvature /= weight
        curvature[curvature < _NEGLIGIBLE * curvature.mean(axis=0)] = 0
        if first:
            self.weight /= weight
        return Point(coef, intercept, values, gradient, outputs, curvature)

    def _penalized(self, coef: Array) -> Array:
        return coef if self._problem.penalty is None else self._problem.penalty @ coef

    def at_zero(self) -> float:
        """Return the objective of the zero model, without a pass over the rows."""
        zeros = np.zeros_like(self.targets)
        return float(np.sum(self.weight * self._problem.loss.value(self.targets, zeros)))

    def cautious(self, point: Point) -> Point:
        """Return the point with the curvature of a quadratic majorant of the loss."""
        above = self.weight * self._problem.loss.majorant(self.targets, point.outputs)
        return replace(point, curvature=above.astype(self.rows.dtype), cautious=True)

    def rounding(self, point: Point) -> Array:
        """Return the possible rounding error of the values at a point."""
        share = _ROUNDINGS[self._dtype.itemsize] * float(np.finfo(self._dtype).eps)
        return np.asarray(share * np.abs(point.values))

    def slope_along(self, point: Point, step: Array, change: Array) -> Callable[[Array], Array]:
        """Return a function of t: the derivative of each output's objective along the step.

        It needs no pass over the rows, because a full step changes the predictions by ``change``.
        """
        loss, coef = self._problem.loss, step[:-1]
        axis, Ps = None if loss.joint else 0, self._penalized(coef)
        at_start, growth = np.sum(point.coef * Ps, axis=axis), np.sum(coef * Ps, axis=axis)

        def slope(t: Array) -> Array:
            F = point.outputs + t.astype(change.dtype) * change
            terms = self.weight * loss.gradient(self.targets, F) * change
            rises = np.sum(terms, axis=axis, dtype=np.float64)
            return np.asarray(rises + 2 * self._problem.alpha * (at_start + t * growth))

        return slope

    def curved(self, point: Point, V: Array, columns: Array) -> Array:
        """Multiply V by the Hessian of the mean loss at a point, in the dtype of the rows.

        V has the shape of a gradient, restricted to the outputs ``columns``; a joint loss needs
        all of them. Rows of zero curvature are skipped.
        """
        loss, dtype = self._problem.loss, self.rows.dtype
        curvature = point.curvature
        if len(columns) < curvature.shape[1]:
            curvature = curvature[:, columns]
        V = V.astype(dtype, copy=False)
        transposed = np.ascontiguousarray(V.T)
        exact = loss.joint and not point.cautious

        def of_block(block: Block, _: Scratch) -> Any:
            rows = place_of(block)
            D = curvature[rows]
            chosen = np.flatnonzero(D.any(axis=1))
            few = not exact and np.count_nonzero(D) <= _FEW * len(chosen) * D.shape[1]
            if few and _is_plain(block.X, dtype):
                return _few_curved(block.X, transposed, D)
            Y, F, weight = self.targets[rows], point.outputs[rows], self.weight[rows]

            def product(Z: Any, part: Array | slice) -> Array:
                U: Array = Z @ V[:-1] + V[-1]
                if exact:
                    w, y, f = (A[part].astype(dtype, copy=False) for A in (weight, Y, F))
                    return w * loss.curved(y, f, U)
                U *= D[part]
                return U

            return _transposed(block, chosen, V, product)

        total = self.context.map_reduce(self.rows, of_block, _add, np.zeros(V.shape))
        return total.astype(dtype)


def _strips(
    block: Block, dtype: DType, chosen: Array | None = None
) -> Iterator[tuple[Any, Array | slice]]:
    """Yield strips of a block's rows in this dtype, with their numbers; codes in one strip."""
    if isinstance(block.X, Codes):
        yield block.X, slice(None)
        return
    width = block.X.shape[1]
    if sparse.issparse(block.X):
        width = 1 + block.X.nnz // block.size
    size = max(1, min(_STRIP, _ENTRIES // width))
    if chosen is None or len(chosen) == block.size:
        parts: list[Any] = [slice(i, i + size) for i in range(0, block.size, size)]
    else:
        parts = [chosen[i : i + size] for i in range(0, len(chosen), size)]
    for part in parts:
        yield as_features(block.X[part], dtype), part


def _transposed(
    block: Block, chosen: Array, like: Array, rows_of: Callable[[Any, Array | slice], Array]
) -> Array | tuple[Codes, Array]:
    """Return the product of the transposed features, with a column of ones, and ``rows_of``.

    Codes are returned with their rows, to be added by `_add`.
    """
    if isinstance(block.X, Codes):
        # codes touch few of the many features
        return block.X, rows_of(block.X, slice(None))
    sums = np.zeros((block.X.shape[1] + 1, like.shape[1]), like.dtype)
    for Z, part in _strips(block, like.dtype, chosen):
        U = rows_of(Z, part)
        sums[:-1] += Z.T @ U
        sums[-1] += U.sum(axis=0)
    return sums


def _add(total: Array, part: Array | tuple[Codes, Array]) -> Array:
    """Add a result of `_transposed` to the total."""
    if isinstance(part, tuple):
        X, U = part
        X.add_transposed(U, total[:-1])
        total[-1] += U.sum(axis=0)
    else:
        total += part
    return total


def _few_curved(Z: Array, transposed: Array, D: Array) -> Array:
    from skimp._core.loops._active import add_curved

    sums = np.zeros_like(transposed)
    add_curved(Z, transposed, D, sums)
    return sums.T


def _is_plain(X: Matrix, dtype: DType) -> bool:
    return isinstance(X, np.ndarray) and X.dtype == dtype and X.flags.c_contiguous


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
