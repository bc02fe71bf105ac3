"""Stochastic gradient steps: the state that `Pegasos` and `SGD` share."""

import copy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np

from skimp._core._blocks import Scratch, fold
from skimp._core._linalg import check_representable, dense
from skimp._core._types import Array, Matrix
from skimp._core._work import DOUBLE
from skimp._params._memory import parse_bytes, require_memory
from skimp.data import LOCAL, ArrayRows, Context, Loop, Rows, kept_bytes
from skimp.losses import Hinge
from skimp.solvers._base import Learner, Problem, Solution, Status
from skimp.solvers._compiled import as_layout, compiled_loss
from skimp.solvers._coordinates import Coordinates
from skimp.solvers._costs import steps_bytes, visit_bytes
from skimp.solvers._features import n_outputs_of
from skimp.solvers._monitors import monitor_state, restore_monitor
from skimp.solvers._objective import mean_loss
from skimp.solvers._passes import LEAST, Passes, Visits, buffered_bytes

_SAMPLED, _LEAST_SAMPLED = 2**14, 2**10
"""Most and least rows on which the objective is measured if features do not fit into memory."""
_THREADED = 2**18
"""Numbers in the rows of a share above which threads pay off."""
_DISTANCE = {True: 1.0, False: 1 / (np.sqrt(2) - 1)}
"""Suboptimality in units of the change since half of the passes, by the kind of step sizes."""
_LEAST_STEPS = 64
"""Least number of steps before the solver may stop, and in a pass over the sample below."""
_TUNED, _LEAST_TUNED, _TRIAL_VISITS = 2048, 64, 2**14
"""Rows of a trial of theta, rows below which trials say little, and visits of rows in a trial."""
_LARGEST = 4.0**10
"""Largest theta, in units of the guess."""


@dataclass(frozen=True)
class StepRule:
    r"""How a solver takes its steps.

    Attributes
    ----------
    name : str
        The name of the solver.
    batch_size : int
        Rows per step.
    average : bool
        Whether the result is the average of the coefficients after each step t, with weights t,
        rather than the last coefficients.
    order : str
        Order of the rows; see `Passes`.
    seed : int
        Seed of the order.
    inverse : bool
        Whether step t has the size :math:`\theta / (1 + 2 \alpha \theta t)` rather than
        :math:`\theta / \sqrt t`. If theta is infinite, this is :math:`1 / (2 \alpha t)`.
    theta : float or None
        The first step size; None to estimate it on a sample of the rows.
    free : bool
        Whether the intercept is not penalized.
    project : bool
        Whether to project the coefficients onto a ball that contains the minimum.
    delay : int
        Number of steps by which gradients are late.
    raw : bool
        Whether to step in the coefficients as they are, with gradients of the penalty matrix.
    """

    name: str
    batch_size: int
    average: bool
    order: str
    seed: int
    inverse: bool
    theta: float | None
    free: bool = False
    project: bool = False
    delay: int = 0
    raw: bool = False


class Steps(Learner):
    """Coefficients that learn by stochastic gradient steps.

    Parameters
    ----------
    problem : Problem
        The problem; its rows only describe the features.
    rule : StepRule
        How to take steps.
    """

    def __init__(self, problem: Problem, rule: StepRule, coordinates: Coordinates | None = None):
        self.problem, self.rule = problem, rule
        if coordinates is None:
            coordinates = Coordinates.of(replace(problem, penalty=None) if rule.raw else problem)
        self.coordinates = coordinates
        self.penalty = problem.penalty if rule.raw else None
        self._t, self._passes, self._k = 0, 0, 0
        self._largest = np.inf
        if self.penalty is not None:
            # longer steps would overshoot on the penalty; a row sum bounds its eigenvalues
            steepest = 2 * problem.alpha * np.abs(self.penalty).sum(axis=0).max()
            self._largest = 1 / steepest if steepest > 0 else np.inf
        self._visits = Visits()

    def centre(self, rows: Rows, context: Context) -> None:
        """Centre computed features at the mean of a sample, if the intercept is free.

        Features of a wide kernel are nearly constant. Their mean would take most of a step.
        """
        free = self.rule.free and self.problem.fit_intercept and not self.rule.raw
        features = self.coordinates.features(rows)
        scattered = rows.coded is not None or rows.entries is not None
        if not free or kept_bytes(features) == 0 or scattered:
            return
        drawn = features.sample(min(_TUNED, rows.n_rows), self.rule.seed, context)
        mean = np.average(dense(drawn.X, DOUBLE), axis=0, weights=drawn.weight)
        self.coordinates = replace(self.coordinates, centre=mean)

    def begin(self, n_outputs: int, start: tuple[Array, Array] | None, t: int = 0) -> None:
        """Start from zero coefficients, or from others as if after t steps."""
        problem, rule, coordinates = self.problem, self.rule, self.coordinates
        coded = problem.rows.coded is not None and coordinates.W is None
        width = problem.rows.n_features if coordinates.W is None else coordinates.W.shape[1]
        self._k, self._t = n_outputs, t
        self._loss = compiled_loss(problem.loss, n_outputs, owner=rule.name)
        n_shares = 1 if problem.loss.joint else n_outputs
        # codes sum a single output in a different order than several
        n_shares = max(1, n_shares // 2) if coded else n_shares
        self._shares = list(pairwise(n_outputs * i // n_shares for i in range(n_shares + 1)))
        sizes = [last - first for first, last in self._shares]
        # store the outputs of a coded feature side by side: one cache miss serves all of them
        self._V = [np.zeros((size, width), order="F" if coded else "C") for size in sizes]
        self._U = [np.zeros_like(V) for V in self._V]
        # s, C, intercepts and their weighted sums; see `skimp._core.loops._stochastic`
        self._scalars = np.zeros((4, n_outputs))
        self._scalars[0] = 1
        self._weight = 0.0
        n_values = 1 if problem.loss.joint else n_outputs
        # weighted sums of the loss of the zero model, and of the weights
        self._zero = np.zeros((2, n_values))
        if start is not None:
            coef, intercept = start
            v = coordinates.from_coef(coef)
            for share, V in zip(self._shares, self._V, strict=True):
                V[...] = v[:, slice(*share)].T
            self._scalars[2] = intercept + coordinates.offset(v)

    def learn(self, rows: Rows, context: Context = LOCAL) -> Self:
        """Return steps that have also passed once over these rows."""
        other = self._copy()
        room = parse_bytes(self.problem.memory_limit)
        if other._k == 0:
            other.centre(rows, context)
        features = other.coordinates.features(rows)
        passes = Passes(features, self.rule.order, self.rule.seed, room, context, other._visits)
        if other._k == 0:
            n_outputs = n_outputs_of(rows)
            other.tune(passes, n_outputs, context)
            other.begin(n_outputs, self.problem.start)
        other.run(passes, context)
        return other

    def _copy(self) -> Self:
        other = copy.copy(self)
        other._visits = copy.copy(self._visits)
        if self._k:
            other._V, other._U = ([A.copy("K") for A in part] for part in (self._V, self._U))
            other._scalars, other._zero = self._scalars.copy(), self._zero.copy()
        return other

    def tune(self, passes: Passes, n_outputs: int, context: Context) -> None:
        """Estimate theta, if it is not given, on a sample of the rows.

        Starting from a guess by the norms of the rows, theta is quadrupled as long as that lowers
        the objective after a few passes over the sample. Smaller values than the guess may suit a
        short run on rows of nearly one class, but not a long one.
        """
        rule, problem, rows = self.rule, self.problem, passes.rows
        if rule.theta is not None:
            return
        size = max(_TUNED, _LEAST_STEPS * rule.batch_size)
        drawn = rows.sample(min(size, rows.n_rows), rule.seed, context)
        sample = ArrayRows(drawn.X, drawn.y, drawn.weight)
        few = Passes(sample, "fixed", rule.seed, 2**62, context.quiet)
        bend = min(problem.loss.max_curvature, problem.loss.max_slope)
        guess = 4 / (bend * (mean_square(drawn.X) + problem.fit_intercept))
        n_passes = -(-_TRIAL_VISITS // len(drawn.weight))

        def value(theta: float) -> float:
            steps = Steps(problem, replace(rule, theta=theta), self.coordinates)
            steps.begin(n_outputs, None)
            for _ in range(n_passes):
                steps.run(few, context.quiet)
            return steps.objective(sample, context.quiet)

        theta = guess
        varies = np.ptp(np.asarray(drawn.y), axis=0) > 0
        if rows.n_rows >= _LEAST_TUNED and varies.all():
            best, next_one = value(theta), value(4 * theta)
            while next_one < best and theta < _LARGEST * guess:
                theta, best = 4 * theta, next_one
                next_one = value(4 * theta)
        self.rule = replace(rule, theta=theta)

    def run(self, passes: Passes, context: Context) -> None:
        """Take the steps of one pass over the rows."""
        from skimp._core.loops._stochastic import steps

        rule, problem = self.rule, self.problem
        alpha, constant = problem.alpha, float(problem.fit_intercept)
        assert rule.theta is not None, "it was given or estimated"
        size, shift = (0.0, 1 / (2 * alpha * rule.theta)) if rule.inverse else (rule.theta, 0.0)
        P = np.zeros((0, 0)) if self.penalty is None else self.penalty

        def visit(X: Any, Y: Array, factor: Array, order: Array) -> None:
            if not len(order):
                return
            before, limits = self._t, self._limits(Y, factor, order)
            self._bound_steps(X, factor)
            batch = min(rule.batch_size, len(order))
            # with more steps of delay, all gradients are still those of the first coefficients
            delay = min(rule.delay, (len(order) - 1) // batch)
            sizes = (alpha, size, shift, self._largest, constant)
            numbers = (batch, delay, *sizes, rule.free, rule.average)

            def step(number: int, _: Scratch) -> int:
                first, last = share = self._shares[number]
                scalars = self._scalars[:, first:last]
                bound = limits if problem.loss.joint else limits[first:last]
                rows = X, order, share, Y, factor
                state = before, self._V[number], self._U[number], scalars
                return int(steps(*rows, self._loss, numbers, bound, P, *state))

            numbers_of_shares = range(len(self._shares))
            threads = context.threads if len(order) * self._V[0].size > _THREADED else 1
            self._t = fold(numbers_of_shares, step, lambda _, t: t, before, threads)
            # the sum of t over the steps
            self._weight += (self._t - before) * (self._t + before + 1) / 2

        passes.run(self._passes, visit)
        self._passes += 1
        check_representable(*self._V, self._scalars)

    def _bound_steps(self, X: Any, factor: Array) -> None:
        """Limit the step size if the slope of the loss has no bound.

        Longer steps would overshoot on the row with the largest squared norm times factor.
        """
        from skimp._core.loops._rows import squared_norms

        loss = self.problem.loss
        if loss.max_slope < np.inf:
            return
        Q = np.zeros(len(factor))
        squared_norms(X, Q)
        steepest = loss.max_curvature * (factor * (Q + self.problem.fit_intercept)).max()
        if steepest > 0:
            self._largest = min(self._largest, 1 / (steepest * (1 + self.rule.delay)))

    def _limits(self, Y: Array, factor: Array, order: Array) -> Array:
        """Return the radius of the ball that contains the minimum, for each output."""
        loss = self.problem.loss
        if not self.rule.project:
            return np.full(1 if loss.joint else self._k, np.inf)
        values = loss.value(Y, np.zeros_like(Y))
        # duality gives a smaller ball for the hinge loss
        values = values / 2 if isinstance(loss, Hinge) else values
        weight = factor * np.bincount(order, minlength=len(Y))
        self._zero[0] += weight @ values
        self._zero[1] += weight.sum()
        return np.asarray(np.sqrt(self._zero[0] / self._zero[1] / self.problem.alpha))

    def _state(self, passes: Passes) -> dict[str, Any]:
        """Return all that later passes depend on."""
        return {
            "theta": self.rule.theta,
            "V": self._V,
            "U": self._U,
            "scalars": self._scalars,
            "zero": self._zero,
            "weight": self._weight,
            "largest": self._largest,
            "t": self._t,
            "passes": self._passes,
            "visits": passes.visits.state(),
        }

    def _restore(self, state: dict[str, Any], passes: Passes) -> None:
        """Continue from an earlier state, after `begin`."""
        for own, other in zip(self._V + self._U, [*state["V"], *state["U"]], strict=True):
            own[...] = other
        self._scalars[...], self._zero[...] = state["scalars"], state["zero"]
        self._weight, self._largest = state["weight"], state["largest"]
        self._t, self._passes = state["t"], state["passes"]
        passes.visits.restore(state["visits"])

    def point(self) -> tuple[Array, Array]:
        """Return the coefficients in the coordinates of the steps, and the intercepts."""
        s, C, b, sums = self._scalars
        average = self.rule.average and self._weight > 0
        parts = []
        for (first, last), V, U in zip(self._shares, self._V, self._U, strict=True):
            factor = C[first:last] / self._weight if average else s[first:last]
            parts.append(factor * V.T - (U.T / self._weight if average else 0.0))
        return np.hstack(parts), sums / self._weight if average else b.copy()

    def model(self) -> tuple[Array, Array]:
        """Return the coefficients and the intercepts."""
        v, b = self.point()
        b = b - self.coordinates.offset(v)
        if self.problem.loss.joint and self.rule.free:
            # a joint loss does not depend on a constant common to all outputs
            b = b - b.mean()
        return self.coordinates.to_coef(v), b

    def objective(self, rows: Rows, context: Context) -> float:
        """Return the objective, with the loss measured on these rows of features."""
        v, b = self.point()
        P, dtype = self.penalty, rows.dtype
        squares = np.sum(v * (v if P is None else P @ v)) + (0.0 if self.rule.free else b @ b)
        loss = mean_loss(rows, self.problem.loss, v.astype(dtype), b.astype(dtype), context)
        return float(loss + self.problem.alpha * squares)

    @property
    def _least_steps(self) -> float:
        """Number of steps before the solver may stop.

        While the step size is at its upper limit, averages do not converge.
        """
        rule, alpha = self.rule, self.problem.alpha
        assert rule.theta is not None, "it was given or estimated"
        sizes = 1 / (2 * alpha) if rule.inverse else rule.theta**2
        limited = sizes / self._largest ** (1 if rule.inverse else 2)
        return max(_LEAST_STEPS, 4 * limited)

    def solution(self) -> Solution:
        coef, intercept = self.model()
        message = f"{self.rule.name}: {self._t:,} steps"
        return self._solution(coef, intercept, self._passes, Status.LEARNING, message, [])

    def _solution(
        self, coef: Array, intercept: Array, n: int, status: Status, message: str, history: Any
    ) -> Solution:
        penalized = self.problem.fit_intercept and not self.rule.free
        note = ", the intercept is penalized" if penalized else ""
        return Solution(
            coef=coef,
            intercept=intercept,
            n_iter=n,
            status=status,
            message=message + self.coordinates.note + note,
            history=np.array(history),
            solver=self.rule.name,
            intercept_penalized=penalized,
        )

    def solve(
        self, passes: Passes, tol: float, max_iter: int, loop: Loop, context: Context
    ) -> Solution:
        """Run passes until the objective hardly changes.

        With steps of size 1 / t, the suboptimality falls as 1 / t. After p passes it is therefore
        about as large as the change of the objective since pass p / 2. With steps of size
        1 / sqrt(t), it is 1 / (sqrt(2) - 1) times as large. The solver stops if this estimate is at
        most ``tol`` times the objective.
        """
        problem, rule = self.problem, self.rule
        rows, note = passes.rows, passes.note
        if note:
            size = min(_SAMPLED, max(_LEAST_SAMPLED, passes.buffer_rows))
            sample = rows.sample(min(size, rows.n_rows), rule.seed, context)
            rows = ArrayRows(sample.X, sample.y, sample.weight)
            note += f", objective measured on {rows.n_rows:,} rows"
        gap, status, before = np.inf, Status.MAX_ITER, loop.take()
        if before is not None:
            history, gap, status = list(before["history"]), before["gap"], Status[before["status"]]
            restore_monitor(problem.monitor, before["monitor"])
            self._restore(before, passes)
        else:
            history = [np.inf if problem.start is None else self.objective(rows, context)]

        def state() -> dict[str, Any]:
            found = {"history": history, "gap": gap, "status": status.name}
            return {**self._state(passes), **found, "monitor": monitor_state(problem.monitor)}

        with context.phase(rule.name, unit="passes", total=max_iter) as phase:
            while len(history) <= max_iter and status is Status.MAX_ITER:
                self.run(passes, context)
                history.append(self.objective(rows, context))
                now, late = history[-1], history[(len(history) - 1) // 2 :]
                gap = _DISTANCE[rule.inverse] * (max(late) - min(late)) / (now or 1.0)
                stop = phase.advance(f"objective {now:.5g}", self.model)
                if problem.monitor is not None:
                    stop |= bool(problem.monitor(*self.model()))
                if stop:
                    status = Status.STOPPED_EARLY
                elif gap <= tol and self._t >= self._least_steps:
                    status = Status.CONVERGED
                loop.keep(state)
        taken = len(history) - 1
        seen = f", estimated distance to the minimum {gap:.1e}" if np.isfinite(gap) else ""
        message = f"{rule.name}: {taken} passes with {self._t:,} steps{seen}{note}"
        message += ", stopped early" if status is Status.STOPPED_EARLY else ""
        return self._solution(*self.model(), taken, status, message, history[1:])


def solve_by_steps(
    problem: Problem, rule: StepRule, tol: float, max_iter: int, context: Context
) -> Solution:
    """Minimize by stochastic gradient steps."""
    steps = Steps(problem, rule)
    steps.centre(problem.rows, context)
    passes = open_passes(steps, problem, context)
    k = n_outputs_of(problem.rows)
    batches = -(-problem.rows.n_rows // rule.batch_size)
    with context.resumable(rule.name) as loop:
        if loop.state is None:
            steps.tune(passes, k, context)
        else:
            steps.rule = replace(rule, theta=loop.state["theta"])
        steps.begin(k, problem.start, 0 if problem.start is None else batches)
        return steps.solve(passes, tol, max_iter, loop, context)


def open_passes(steps: Steps, problem: Problem, context: Context) -> Passes:
    """Return passes over the rows of a problem, within its memory limit."""
    rows, rule = steps.coordinates.features(problem.rows), steps.rule
    k, limit = n_outputs_of(rows), parse_bytes(problem.memory_limit)
    own, beside = steps_bytes(k, rows.n_features), visit_bytes(k)
    least = min(rows.n_rows, LEAST) * buffered_bytes(rows, beside)
    whole = kept_bytes(rows) + beside * rows.n_rows
    what = f"stochastic gradients on {rows.n_features} features with {k} outputs"
    remedy = "use a smaller budget or fewer features"
    require_memory(own + min(least, whole), limit, what, remedy)
    return Passes(rows, rule.order, rule.seed, limit - own, context, beside=beside)


def mean_square(X: Matrix) -> float:
    """Return the mean squared norm of rows, or 1 if it is zero."""
    from skimp._core.loops._rows import squared_norms

    Q = np.zeros(X.shape[0])
    squared_norms(as_layout(X, DOUBLE), Q)
    return float(Q.mean()) or 1.0
