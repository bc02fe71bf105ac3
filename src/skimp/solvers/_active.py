"""Active-set Newton steps for losses that are piecewise zero or quadratic.

Active rows are those with a positive loss.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from skimp._core._blocks import Scratch, fold
from skimp._core._linalg import check_representable, triangular_solve
from skimp._core._threads import single_threaded_blas
from skimp._core._types import Array
from skimp._core._work import DOUBLE
from skimp._params._memory import parse_bytes
from skimp.data import LOCAL, Context
from skimp.losses import Loss
from skimp.solvers._base import Problem, Solution, Status
from skimp.solvers._features import as_dense_features
from skimp.solvers._held_objective import HeldObjective, HeldPoint

_MAX_ROWS, _MAX_COLUMNS = 4096, 1024
_STEPS, _EXPECTED = 40, 2.5
"""Maximum number of steps per output, and the expected operations of all steps relative to the
first one: later steps have fewer active rows."""
_MAX_OPERATIONS = 2e10
"""Maximum number of operations for which active sets are faster than conjugate gradients."""
_MIN_FRACTION = 2.0**-29
"""Smallest fraction of a step to try."""
_MEMORY = 4
"""`ActiveSteps` may use the memory limit divided by this number for its rows."""


def solve_active_sets(
    problem: Problem, max_iter: int = 100, context: Context = LOCAL
) -> Solution | None:
    r"""Minimize a small problem exactly, one output at a time.

    Return None if conjugate gradients are faster, or after more than ``max_iter`` steps.

    On the active rows A, those with a positive loss, the loss is :math:`(t_i - f_i)^2`. Let G be
    the inner products of the features in coordinates in which the penalty is the identity. The
    minimum over the active rows is :math:`c = Z_A^T \beta` with

    .. math:: \bigl(G_{AA} + \alpha W \, \mathrm{diag}(1 / w_A)\bigr) \beta + b = t_A, \qquad
        \textstyle\sum_A \beta_i = 0

    or the equivalent primal equations if there are fewer features than active rows. Each step goes
    to this minimum, or to the first half, quarter, ... of the way at which the objective is lower.
    The rows active there are the next A. The method starts from least squares or from
    ``problem.start``, and has reached the minimum when A does not change.

    References
    ----------
    Chapelle (2007), Training a support vector machine in the primal, section 4.
    """
    n, width = problem.rows.n_rows, problem.rows.n_features
    small = n <= _MAX_ROWS and width <= _MAX_COLUMNS and problem.rows.coded is None
    fits = 8 * (n * (3 * width + n) + 3 * width**2) <= parse_bytes(problem.memory_limit)
    known = problem.penalty is None or problem.factor is not None
    if not (small and fits and known and problem.loss.parabolic and problem.monitor is None):
        return None
    try:
        with single_threaded_blas():
            return _solve(problem, max_iter, context)
    except np.linalg.LinAlgError:
        # the penalty is below rounding
        return None


def _solve(problem: Problem, max_iter: int, context: Context) -> Solution | None:
    block, R = problem.rows.collect(), problem.factor
    Z, Y = as_dense_features(block.X, DOUBLE), np.asarray(block.y, np.float64)
    if R is not None:
        Z = triangular_solve(R, Z.T, lower=False, transposed=True).T
    check_representable(Z, Y)
    n, width = Z.shape
    rows = _Rows(np.ascontiguousarray(Z), block.weights(), problem)
    if problem.start is None:
        coefs, intercepts = rows.least_squares(np.arange(n), Y)
    else:
        coefs, intercepts = problem.start
        coefs = coefs if R is None else R @ coefs
    begun = [rows.at(y, c, float(b)) for y, c, b in zip(Y.T, coefs.T, intercepts, strict=True)]
    active = np.array([point.active.sum() for point in begun], float)
    operations = np.minimum(active**3, active * width**2 + width**3) + 4 * n * width
    if _EXPECTED * operations.sum() > _MAX_OPERATIONS:
        return None
    # compute the cached property before the threads start
    _ = rows.products

    def solve(output: int, _: Scratch) -> tuple[_Model, int, bool]:
        return rows.minimum(Y[:, output], begun[output])

    initial: list[Any] = []
    found = fold(range(len(begun)), solve, lambda a, b: [*a, b], initial, context.threads)
    points, taken, done = zip(*found, strict=True)
    steps = max(taken)
    if steps > max_iter or not all(done):
        return None
    coef = np.column_stack([point.coef for point in points])
    return Solution(
        coef=coef if R is None else triangular_solve(R, coef, lower=False),
        intercept=np.array([point.intercept for point in points]),
        n_iter=steps,
        status=Status.CONVERGED,
        message=f"newton: exact minimum after {steps} active-set steps",
        history=np.full(steps, sum(point.value for point in points)),
        solver="newton",
    )


def solve_dual_ridge(A: Array, T: Array, fit_intercept: bool) -> tuple[Array, Array]:
    """Solve ``A beta + b = T``; if there is an intercept b, beta sums to zero."""
    solved = np.linalg.solve(A, np.column_stack([T, np.ones(len(A))]))
    beta, one = solved[:, :-1], solved[:, -1]
    if not fit_intercept:
        return beta, np.zeros(T.shape[1])
    intercept = beta.sum(axis=0) / one.sum()
    return beta - np.outer(one, intercept), intercept


def _vertices(loss: Loss, y: Array, f: Array) -> Array:
    """Return the prediction at which the parabola of the loss has its minimum."""
    vertices: Array = f - loss.gradient(y, f) / loss.curvature(y, f)
    return vertices


@dataclass(frozen=True)
class _Model:
    """Model of one output, with its predictions, objective and active rows."""

    coef: Array
    intercept: float
    fitted: Array
    value: float
    active: Array


class _Rows:
    """Rows in coordinates in which the penalty is the identity."""

    def __init__(self, Z: Array, weight: Array, problem: Problem):
        self.Z, self.weight, self.alpha = Z, weight, problem.alpha
        self.loss, self.fit_intercept = problem.loss, problem.fit_intercept

    @cached_property
    def products(self) -> Array:
        """Inner products of all pairs of rows."""
        return np.asarray(self.Z @ self.Z.T)

    def least_squares(self, active: Array, T: Array) -> tuple[Array, Array]:
        """Return coefficients and intercepts of the ridge regression of T on the active rows."""
        Z, w = self.Z[active], self.weight[active]
        ridge = self.alpha * self.weight.sum()
        if len(active) <= Z.shape[1]:
            A = self.products[np.ix_(active, active)]
            A.flat[:: len(A) + 1] += ridge / w
            beta, intercept = solve_dual_ridge(A, T, self.fit_intercept)
            return Z.T @ beta, intercept
        share = w / w.sum() * self.fit_intercept
        mean, middle = share @ Z, share @ T
        centred = Z - mean
        weighted = centred * w[:, None]
        A = centred.T @ weighted
        A.flat[:: len(A) + 1] += ridge
        coef = np.linalg.solve(A, weighted.T @ (T - middle))
        return coef, middle - mean @ coef

    def at(self, y: Array, coef: Array, intercept: float, fitted: Array | None = None) -> _Model:
        """Evaluate the objective at given coefficients."""
        fitted = self.Z @ coef + intercept if fitted is None else fitted
        losses = self.loss.value(y, fitted)
        value = float(self.weight @ losses / self.weight.sum() + self.alpha * (coef @ coef))
        return _Model(coef, intercept, fitted, value, losses > 0)

    def minimum(self, y: Array, point: _Model) -> tuple[_Model, int, bool]:
        """Step until the active rows stay the same; return model, number of steps and success."""
        for taken in range(1, _STEPS + 1):
            active = np.flatnonzero(point.active)
            if not len(active):
                # without active rows, only the penalty can be lowered: leave that to descent
                return point, taken, False
            vertices = _vertices(self.loss, y[active], point.fitted[active])
            coef, intercept = self.least_squares(active, vertices[:, None])
            there = moved = self.at(y, coef[:, 0], float(intercept[0]))
            if np.array_equal(there.active, point.active):
                return there, taken, True
            # halve the step until the objective falls
            share = 1.0
            while not moved.value < point.value:
                share /= 2
                if share < _MIN_FRACTION:
                    # the remaining decrease is below rounding
                    return point, taken, True
                moved = self.at(
                    y,
                    point.coef + share * (there.coef - point.coef),
                    point.intercept + share * (there.intercept - point.intercept),
                    point.fitted + share * (there.fitted - point.fitted),
                )
            point = moved
        return point, _STEPS, False


class ActiveSteps:
    """Newton steps to the minimum over the active rows, by the dual equations.

    The equations are those of `solve_active_sets`. With a active rows and D features, a step takes
    a^2 D + a^3 operations per output. Rows are transformed to coordinates in which the penalty is
    the identity, in D^2 operations each, and kept for the next steps.
    """

    def __init__(self, problem: Problem, objective: HeldObjective, features: Array):
        self._problem, self._objective, self._features = problem, objective, features
        self._numbers = np.full(len(features), -1)
        self._kept = np.empty((0, features.shape[1]), features.dtype)
        self._most = parse_bytes(problem.memory_limit) // _MEMORY // max(1, features[:1].nbytes)

    @classmethod
    def of(cls, problem: Problem, objective: HeldObjective) -> "ActiveSteps | None":
        """Return the steps for a suitable problem with features in memory, else None."""
        features = objective.array
        known = problem.penalty is None or problem.factor is not None
        if features is None or not (known and problem.loss.parabolic):
            return None
        return cls(problem, objective, features)

    def operations(self, point: HeldPoint) -> float:
        """Return the operations of a step; infinite if the active rows exceed the memory."""
        curved = point.curvature > 0
        D, a = self._features.shape[1], curved.sum(axis=0).astype(float)
        new = np.count_nonzero(curved.any(axis=1) & (self._numbers < 0))
        if point.cautious or a.max() > 2 * D or len(self._kept) + new > self._most:
            return np.inf
        changed = 0.0 if self._problem.factor is None else float(new) * D**2
        return changed + float(np.sum(a**2 * D + a**3))

    def step_within(self, point: HeldPoint, operations: float) -> Array | None:
        """Return the step if it takes fewer operations than these, else None."""
        return self.step(point) if self.operations(point) < operations else None

    def step(self, point: HeldPoint) -> Array | None:
        """Return the step of each output, shaped like a gradient; None if a matrix is singular."""
        problem, objective, R = self._problem, self._objective, self._problem.factor
        new = np.flatnonzero(point.curvature.any(axis=1) & (self._numbers < 0))
        if len(new):
            V = self._features[new]
            if R is not None:
                V = triangular_solve(R, V.T, lower=False, transposed=True).T.astype(V.dtype)
            self._numbers[new] = len(self._kept) + np.arange(len(new))
            self._kept = np.concatenate([self._kept, V])
        ridge = problem.alpha * float(objective.weight.sum())
        coefs, intercepts = np.zeros_like(point.coef), point.intercept.copy()

        def solve(output: int, _: Scratch) -> None:
            active = np.flatnonzero(point.curvature[:, output])
            if not len(active):
                return
            V = self._kept[self._numbers[active]]
            A = (V @ V.T).astype(np.float64)
            A.flat[:: len(A) + 1] += ridge / objective.weight[active, 0]
            y, f = objective.targets[active, output], point.outputs[active, output]
            vertices = _vertices(problem.loss, y, f)[:, None]
            beta, intercept = solve_dual_ridge(A, vertices, problem.fit_intercept)
            coefs[:, output] = V.T @ beta[:, 0].astype(V.dtype)
            intercepts[output] = intercept[0]

        outputs, threads = range(len(intercepts)), objective.context.threads
        try:
            fold(outputs, solve, lambda total, _: total, None, threads)
        except np.linalg.LinAlgError:
            return None
        if R is not None:
            coefs = triangular_solve(R, coefs, lower=False)
        return np.vstack([coefs - point.coef, intercepts - point.intercept])
