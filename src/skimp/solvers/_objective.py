"""Objective of a problem, its gradient and its Hessian products, by passes over the rows."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from skimp._core._blocks import Scratch
from skimp._core._linalg import check_representable
from skimp._core._types import Array, DType, Matrix
from skimp._core._work import DOUBLE
from skimp.data import LOCAL, Block, Codes, Context, Rows, no_rows
from skimp.losses import Loss
from skimp.solvers._base import Problem
from skimp.solvers._features import as_dense_features, as_features, as_targets
from skimp.solvers._strips import add_transposed, fill_outputs, is_plain, transposed

_FEW = 0.25
"""Fraction of predictions with nonzero curvature below which they are visited one by one."""
_NEGLIGIBLE = 1e-3
"""Curvatures below this fraction of their mean are ignored in Hessian products."""
_ROUNDINGS = {4: 4, 8: 100}
"""Rounding error of a sum in units of eps, by the size of a number in bytes."""

Sums = tuple[float, Array, Any]
"""Sums over rows: the weights, the losses, and a result of `transposed`."""


@dataclass(frozen=True)
class Summary:
    """Statistics of the curvatures at a point.

    Attributes
    ----------
    heights : array of shape (k,)
        Mean curvature of each output.
    n_curved, n_curved_rows : int
        Number of predictions with a nonzero curvature, and of rows with such predictions.
    """

    heights: Array
    n_curved: int
    n_curved_rows: int


@dataclass(frozen=True, kw_only=True)
class Point(ABC):
    """Coefficients, and the objective and its derivatives there.

    Attributes
    ----------
    coef, intercept : arrays of shape (width, k) and (k,)
        Coefficients and intercepts in float64.
    values : array of shape (k,), or (1,) for a joint loss
        Objective of each output.
    gradient : array of shape (width + 1, k)
        Gradient with respect to the coefficients, then the intercept.
    cautious : bool
        Whether the curvature is that of a quadratic majorant of the loss.
    """

    coef: Array
    intercept: Array
    values: Array
    gradient: Array
    cautious: bool = False

    @property
    def value(self) -> float:
        """Objective, summed over outputs."""
        return float(self.values.sum())

    @property
    @abstractmethod
    def summary(self) -> Summary:
        """Statistics of the curvatures."""


P = TypeVar("P", bound=Point)


class Line(ABC, Generic[P]):
    """The objective along a step from a point, for a line search.

    Step lengths t have the shape of ``end``: one for each output, or a scalar for a joint loss.

    Attributes
    ----------
    at_once : int
        Number of step lengths that `slopes` should get in one call.
    """

    at_once: int

    @property
    @abstractmethod
    def end(self) -> Array:
        """Derivative of each output's objective along the step, after the full step."""

    @abstractmethod
    def slopes(self, T: Array) -> Array:
        """Return the derivatives after each of several step lengths."""

    @abstractmethod
    def moved(self, t: Array) -> P:
        """Evaluate the objective after ``t`` times the step."""


class Objective(ABC, Generic[P]):
    """Objective of a problem over some rows, whose features may be recomputed in each pass.

    Gradients of landmark models are summed in float64, because their coefficients are large and
    cancel. Hessian products use the dtype of the rows.

    Attributes
    ----------
    precision : dtype
        Precision of predictions and gradients.
    """

    def __init__(self, problem: Problem, rows: Rows, context: Context = LOCAL):
        self.rows, self.context, self.problem = rows, context, problem
        self.precision: DType = rows.dtype if problem.penalty is None else DOUBLE

    @property
    @abstractmethod
    def array(self) -> Array | None:
        """Features of all rows if the objective may use them as one dense array, else None."""

    @abstractmethod
    def at(self, coef: Array, intercept: Array) -> P:
        """Evaluate the objective and its derivatives."""

    @abstractmethod
    def at_zero(self) -> float:
        """Return the objective of the zero model; needs an earlier evaluation, but no pass."""

    @abstractmethod
    def cautious(self, point: P) -> P:
        """Return the point with the curvature of a quadratic majorant of the loss."""

    @abstractmethod
    def line(self, point: P, step: Array) -> Line[P]:
        """Return the objective along a step, which is shaped like the gradient."""

    @abstractmethod
    def curved(self, point: P, V: Array, columns: Array) -> Array:
        """Multiply V by the Hessian of the mean loss at a point, in the dtype of the rows.

        V has the shape of a gradient, restricted to the outputs ``columns``; a joint loss needs
        all of them. Rows of zero curvature are skipped.
        """

    @abstractmethod
    def summands(self, point: P, part: Rows) -> tuple[Array, Array]:
        """Return rows whose sum, weighted by their curvatures, approximates the Hessian.

        These are all rows if the objective has an `array` of them, and those in ``part`` otherwise.
        Curvatures have one column per output and any scale.
        """

    def rounding(self, point: Point) -> Array:
        """Return the possible rounding error of the values at a point."""
        share = _ROUNDINGS[self.precision.itemsize] * float(np.finfo(self.precision).eps)
        return np.asarray(share * np.abs(point.values))

    def sampled(self, point: Point, part: Rows) -> tuple[Array, Array]:
        """Return the rows in ``part``, which are in memory, and their curvatures at a point."""
        whole = next(part.reblocked(part.n_rows).blocks())
        Y, weight = as_targets(whole, self.precision)
        F = np.empty(Y.shape, self.precision)
        coef, intercept = self.rounded(point.coef, point.intercept)
        fill_outputs(whole.X, coef, intercept, F)
        curvature = weight * self.curvature(point, Y, F)
        curvature[curvature < negligible(curvature.mean(axis=0))] = 0
        return as_dense_features(whole.X, self.rows.dtype), curvature

    def rounded(self, *arrays: Array) -> tuple[Array, ...]:
        """Return arrays in the precision of predictions."""
        return tuple(array.astype(self.precision) for array in arrays)

    def curvature(self, point: Point, Y: Array, F: Array) -> Array:
        """Return the curvatures of the loss, or of its majorant, that belong to a point."""
        loss = self.problem.loss
        return (loss.majorant if point.cautious else loss.curvature)(Y, F)

    def evaluated(self, X: Matrix, Y: Array, weight: Array, F: Array) -> tuple[Sums, Array]:
        """Return the sums over some rows with predictions F, and the curvatures of the loss.

        Rows without a loss are skipped.
        """
        loss = self.problem.loss
        slope = weight * loss.gradient(Y, F)
        values = (weight * loss.value(Y, F)).sum(axis=0, dtype=np.float64)
        chosen = np.flatnonzero(slope.any(axis=1))
        gradient = transposed(X, chosen, slope, lambda _, part: slope[part])
        total = float(weight.sum(dtype=np.float64))
        return (total, values, gradient), loss.curvature(Y, F)

    def no_sums(self, n_outputs: int) -> Sums:
        """Return the sums over no rows."""
        values = np.zeros(1 if self.problem.loss.joint else n_outputs)
        return 0.0, values, np.zeros((self.rows.n_features + 1, n_outputs))

    def summed(self, coef: Array, sums: Sums) -> tuple[Array, Array]:
        """Return the values and the gradient of the objective from the sums over all rows."""
        weight, values, gradient = sums
        check_representable(values, gradient)
        alpha, Pc = self.problem.alpha, self.penalized(coef)
        gradient = gradient / weight
        gradient[:-1] += 2 * alpha * Pc
        if not self.problem.fit_intercept:
            gradient[-1] = 0
        penalties = alpha * np.sum(coef * Pc, axis=0)
        penalty = penalties.sum() if self.problem.loss.joint else penalties
        return values / weight + penalty, gradient

    def penalized(self, coef: Array) -> Array:
        """Multiply by the penalty matrix."""
        return coef if self.problem.penalty is None else self.problem.penalty @ coef

    def rises(self, t: Array, Y: Array, weight: Array, F: Array, change: Array) -> Array:
        """Return the derivative of each output's weighted losses along ``F + t * change``."""
        loss = self.problem.loss
        terms = weight * loss.gradient(Y, F + t.astype(change.dtype) * change) * change
        return np.asarray(np.sum(terms, axis=None if loss.joint else 0, dtype=np.float64))

    def penalty_slopes(self, point: Point, step: Array, T: Array) -> Array:
        """Return the derivatives of each output's penalty along a step, at step lengths T."""
        coef, axis = step[:-1], None if self.problem.loss.joint else 0
        Ps = self.penalized(coef)
        at_start, growth = np.sum(point.coef * Ps, axis=axis), np.sum(coef * Ps, axis=axis)
        return np.asarray(2 * self.problem.alpha * (at_start + T * growth))

    def multiplied(
        self, X: Matrix, V: Array, D: Array, exact: tuple[Array, Array, Array] | None
    ) -> Array | tuple[Codes, Array]:
        """Return the product of V with the Hessian of some rows with curvatures D.

        For a joint loss, ``exact`` are its targets, predictions and weights, and D only says which
        rows to skip.
        """
        loss, dtype = self.problem.loss, self.rows.dtype
        chosen = np.flatnonzero(D.any(axis=1))
        few = exact is None and np.count_nonzero(D) <= _FEW * len(chosen) * D.shape[1]
        if few and is_plain(X, dtype):
            return _few_curved(X, V, D)

        def product(Z: Any, part: Array | slice) -> Array:
            U: Array = Z @ V[:-1] + V[-1]
            if exact is not None:
                y, f, w = (A[part].astype(dtype, copy=False) for A in exact)
                return w * loss.curved(y, f, U)
            U *= D[part]
            return U

        return transposed(X, chosen, V, product)


def negligible(mean: Array) -> Array:
    """Return the curvature below which Hessian products ignore it, given its mean."""
    return _NEGLIGIBLE * mean


def add_sums(total: Sums, part: Sums) -> Sums:
    """Add the sums over two parts of the rows."""
    return total[0] + part[0], total[1] + part[1], add_transposed(total[2], part[2])


def _few_curved(Z: Array, V: Array, D: Array) -> Array:
    from skimp._core.loops._active import add_curved

    sums = np.zeros(V.shape[::-1], V.dtype)
    add_curved(Z, np.ascontiguousarray(V.T), D, sums)
    return sums.T


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
