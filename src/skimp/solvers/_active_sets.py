"""Newton's method on small data for losses that are parabolas where they are not zero."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from skimp._core._blocks import Scratch, fold
from skimp._core._linalg import check_representable, triangular_solve
from skimp._core._threads import single_threaded_blas
from skimp._core._types import Array
from skimp._params._memory import parse_bytes
from skimp.data import LOCAL, Context
from skimp.losses import Loss
from skimp.solvers._base import Problem, Solution, Status
from skimp.solvers._features import as_dense_features

_MOST_ROWS, _MOST_COLUMNS = 4096, 1024
_STEPS, _EXPECTED = 40, 2.5
"""Most steps of an output, and operations of all steps over those of the first: rows that cost
something soon become few."""
_WORTH = 2e10
"""Operations up to which this is the faster way."""
_HALVINGS = 30
_DOUBLE = np.dtype(np.float64)


def solve_active_sets(
    problem: Problem, max_iter: int = 100, context: Context = LOCAL
) -> Solution | None:
    r"""Minimise exactly, output by output.

    Return None if conjugate gradients are faster, or if it takes more steps than ``max_iter``.

    On the rows A that cost something the loss is :math:`(t_i - f_i)^2`. With G the inner products
    of features in coordinates in which the penalty is the identity, the minimum over these rows is
    :math:`c = Z_A^T \beta` with

    .. math:: \bigl(G_{AA} + \alpha W \, \mathrm{diag}(1 / w_A)\bigr) \beta + b = t_A, \qquad
        \textstyle\sum_A \beta_i = 0

    or the same in the space of the features if these are fewer than rows. A step goes there, or as
    far as the objective falls, and the rows that then cost something are the next A. It ends when A
    stays the same: that is the minimum. It starts from least squares, or from where it is told.

    References
    ----------
    Chapelle (2007), Training a support vector machine in the primal, section 4.
    """
    try:
        with single_threaded_blas():
            return _solved(problem, max_iter, context)
    except np.linalg.LinAlgError:
        # a penalty that is lost in rounding
        return None


def _solved(problem: Problem, max_iter: int, context: Context) -> Solution | None:
    rows = problem.rows
    small = rows.n_rows <= _MOST_ROWS and rows.n_features <= _MOST_COLUMNS and rows.coded is None
    if not (small and problem.loss.parabolic and problem.monitor is None):
        return None
    size = rows.n_rows * (3 * rows.n_features + rows.n_rows) + 3 * rows.n_features**2
    if 8 * size > parse_bytes(problem.memory_limit):
        return None
    if problem.penalty is not None and problem.factor is None:
        return None
    with single_threaded_blas():
        block = rows.collect()
        Z, Y = as_dense_features(block.X, _DOUBLE), np.asarray(block.y, np.float64)
        if problem.factor is not None:
            Z = triangular_solve(problem.factor, Z.T, lower=False, transposed=True).T
        check_representable(Z, Y)
        weight = block.weights()
        data = _Data(np.ascontiguousarray(Z), weight, problem.alpha, problem.fit_intercept)
        if problem.start is None:
            coefs, intercepts = data.least_squares(np.arange(len(Z)), Y)
        else:
            coefs, intercepts = problem.start
            coefs = coefs if problem.factor is None else problem.factor @ coefs
    outputs = [_Output(data, problem.loss, y) for y in Y.T]
    begun = [
        output.at(coef, float(intercept))
        for output, coef, intercept in zip(outputs, coefs.T, intercepts, strict=True)
    ]
    operations = sum(data.operations(int(point.active.sum())) for point in begun)
    if _EXPECTED * operations > _WORTH:
        return None

    # before threads look for them
    _ = data.products

    def solve(number: int, _: Scratch) -> tuple["_Point", int, bool]:
        return outputs[number].minimum(begun[number])

    def append(found: list[Any], one: tuple["_Point", int, bool]) -> list[Any]:
        return [*found, one]

    initial: list[Any] = []
    found = fold(range(len(outputs)), solve, append, initial, context.threads)
    if not all(done for _, _, done in found):
        return None
    coef = np.column_stack([point.coef for point, _, _ in found])
    if problem.factor is not None:
        coef = triangular_solve(problem.factor, coef, lower=False)
    steps = max(taken for _, taken, _ in found)
    if steps > max_iter:
        return None
    return Solution(
        coef=coef,
        intercept=np.array([point.intercept for point, _, _ in found]),
        n_iter=steps,
        status=Status.CONVERGED,
        message=f"newton: exact after {steps} steps, rows that cost nothing left out",
        solver="newton",
        history=np.full(steps, sum(point.value for point, _, _ in found)),
    )


def solve_dual_ridge(A: Array, T: Array, fit_intercept: bool) -> tuple[Array, Array]:
    """Solve ``A beta + b = T``, with sums of zero over beta if there is an intercept b."""
    solved = np.linalg.solve(A, np.column_stack([T, np.ones(len(A))]))
    beta, one = solved[:, :-1], solved[:, -1]
    if not fit_intercept:
        return beta, np.zeros(T.shape[1])
    intercept = beta.sum(axis=0) / one.sum()
    return beta - np.outer(one, intercept), intercept


@dataclass(frozen=True)
class _Data:
    """Rows in coordinates in which the penalty is the identity, and what all outputs share."""

    Z: Array
    weight: Array
    alpha: float
    fit_intercept: bool

    @cached_property
    def products(self) -> Array:
        """Inner products of all rows."""
        return np.asarray(self.Z @ self.Z.T)

    def operations(self, active: int) -> float:
        """Return the operations of a step with some active rows."""
        width = self.Z.shape[1]
        return float(min(active**3, active * width**2 + width**3) + 4 * self.Z.size)

    def least_squares(self, active: Array, T: Array) -> tuple[Array, Array]:
        """Return coefficients and intercepts of ridge regression of T on some rows."""
        Z, w = self.Z[active], self.weight[active]
        ridge = self.alpha * self.weight.sum()
        if len(active) <= Z.shape[1]:
            A = self.products[np.ix_(active, active)]
            A.flat[:: len(A) + 1] += ridge / w
            beta, intercept = solve_dual_ridge(A, T, self.fit_intercept)
            return Z.T @ beta, intercept
        share = w / w.sum()
        mean, middle = np.zeros(Z.shape[1]), np.zeros(T.shape[1])
        if self.fit_intercept:
            mean, middle = share @ Z, share @ T
        centred = Z - mean
        weighted = centred * w[:, None]
        A = centred.T @ weighted
        A.flat[:: len(A) + 1] += ridge
        coef = np.linalg.solve(A, weighted.T @ (T - middle))
        return coef, middle - mean @ coef


@dataclass(frozen=True)
class _Point:
    """A model of one output, and what the objective is there."""

    coef: Array
    intercept: float
    fitted: Array
    value: float
    active: Array


@dataclass(frozen=True)
class _Output:
    """The objective of one output."""

    data: _Data
    loss: Loss
    y: Array

    def at(self, coef: Array, intercept: float, fitted: Array | None = None) -> _Point:
        """Return the objective at a model."""
        data = self.data
        fitted = data.Z @ coef + intercept if fitted is None else fitted
        losses = self.loss.value(self.y, fitted)
        value = float(data.weight @ losses / data.weight.sum() + data.alpha * (coef @ coef))
        return _Point(coef, intercept, fitted, value, losses > 0)

    def minimum(self, point: _Point) -> tuple[_Point, int, bool]:
        """Take steps until the rows that cost something stay the same; say if that was reached."""
        for taken in range(1, _STEPS + 1):
            active = np.flatnonzero(point.active)
            if not len(active):
                # a smaller model may cost nothing, too: this is not the way to it
                return point, taken, False
            y, f = self.y[active], point.fitted[active]
            # the bottom of the parabola of each row
            bottom = f - self.loss.gradient(y, f) / self.loss.curvature(y, f)
            coef, intercept = self.data.least_squares(active, bottom[:, None])
            there = self.at(coef[:, 0], float(intercept[0]))
            if np.array_equal(there.active, point.active):
                return there, taken, True
            moved = self._towards(point, there)
            if moved is None:
                # nothing but rounding is left to gain
                return point, taken, True
            point = moved
        return point, _STEPS, False

    def _towards(self, point: _Point, there: _Point) -> _Point | None:
        """Return the first of the end, the middle, ... of a step at which the objective falls."""
        share, found = 1.0, there
        for _ in range(_HALVINGS):
            if found.value < point.value:
                return found
            share /= 2
            coef = point.coef + share * (there.coef - point.coef)
            intercept = point.intercept + share * (there.intercept - point.intercept)
            fitted = point.fitted + share * (there.fitted - point.fitted)
            found = self.at(coef, intercept, fitted)
        return None
