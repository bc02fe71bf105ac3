"""The dual problem: dual variables of all rows, sweeps over them, and the duality gap.

The dual variables, called slopes, are negative derivatives of the loss at the optimum.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from skimp._core._blocks import Scratch, fold
from skimp._core._linalg import check_representable
from skimp._core._types import Array
from skimp._core._work import DOUBLE
from skimp.data import Block, Context
from skimp.losses import Log, Loss, MulticlassHinge, PiecewiseLoss
from skimp.solvers._base import Problem
from skimp.solvers._compiled import as_layout
from skimp.solvers._dual_memory import DualMemory
from skimp.solvers._dual_rows import BlockFacts, KeptFacts, RowFacts
from skimp.solvers._features import n_outputs_of, place_of
from skimp.solvers._intercepts import (
    Balance,
    FreeIntercept,
    Intercept,
    PenalizedIntercept,
    flows_between,
)
from skimp.solvers._row_buffer import DualRows

_TINY, _EPS = float(np.finfo(np.float64).tiny), float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class DualPoint:
    """Coefficients of shape (width, k) and intercepts, with their objective."""

    objective: float
    coef: Array
    b: Array


def most_shares(k: int, coded: bool) -> int:
    """Return the maximum number of threads for k outputs."""
    # codes sum a single output in a different order than several
    return max(1, k // 2) if coded else k


def _loops(loss: Loss, k: int) -> tuple[Callable[..., int], Callable[..., None], tuple[Any, ...]]:
    """Return the sweep of a loss, the function that reactivates slopes, and their parameters."""
    from skimp._core.loops import _dual as loops

    if isinstance(loss, PiecewiseLoss):
        sides = np.array([-1.0, 1.0])
        lows, highs = (np.broadcast_to(limit, 2).astype(float) for limit in loss.limits(sides))
        parameters = (lows, highs, float(loss.epsilon), float(loss.curve))
        return loops.piecewise_sweep, loops.piecewise_wake, parameters
    if isinstance(loss, Log):
        return loops.log_sweep, loops.log_wake, ()
    assert isinstance(loss, MulticlassHinge), "no other loss has a dual here"
    return loops.multiclass_sweep, loops.multiclass_wake, (loss.costs(k),)


class Dual:
    """Slopes of all rows, and the coefficients they define."""

    def __init__(
        self,
        memory: DualMemory,
        problem: Problem,
        context: Context,
        *,
        seed: int,
        free_intercept: bool,
    ):
        rows = self.rows = memory.rows
        n, k, width = rows.n_rows, n_outputs_of(rows), rows.n_features
        self.loss, self.alpha = problem.loss, problem.alpha
        self.context, self.seed, self.slopes = context, seed, memory.slopes
        self.buffer, self.sample = memory.buffer, memory.sample
        # rows in memory can be visited in one random order, which matters if they are sorted
        self.chunks = memory.chunks
        self.sweep_context = replace(context, n_jobs=1) if memory.in_memory else context
        facts = KeptFacts(n, k, rows.dtype) if memory.in_memory else BlockFacts(rows.dtype)
        self.facts: RowFacts = facts
        coded = rows.coded is not None
        threads = 1 if problem.loss.joint else min(most_shares(k, coded), context.threads)
        self.shares = list(pairwise(k * share // threads for share in range(threads + 1)))
        # store the outputs of a coded feature side by side: one cache miss serves all of them
        sizes = [last - first for first, last in self.shares]
        self.V = [np.zeros((size, width), order="F" if coded else "C") for size in sizes]
        self.b = np.zeros(k)

        def read(block: Block, _: Scratch) -> Array:
            Y, weight, Q = facts.see(block)
            check_representable(Q)
            active = np.repeat(weight[:, None] > 0, k, axis=1)
            self.slopes.put(place_of(block), np.zeros((block.size, k)), active)
            costs = self.loss.value(Y, np.zeros((block.size, k)))
            loss = np.sum(weight[:, None] * costs)
            return np.array([loss, weight.sum(), weight @ Q, np.count_nonzero(active)])

        sums = context.map_reduce(rows, read, lambda a, b: a + b, np.zeros(4))
        total, norm = facts.settle(self.alpha, *sums[1:3])
        # a gap below the rounding errors of the objective at zero is zero
        self.rounding = _EPS * sums[0] / total
        self.intercept: Intercept = PenalizedIntercept(float(problem.fit_intercept))
        if problem.fit_intercept and free_intercept:
            self.intercept = FreeIntercept(norm, self.alpha, k)
        facts.add_to_norms(self.intercept.constant)
        self.n_entries = int(sums[3])
        self.run_sweep, self.wake, self.parameters = _loops(problem.loss, k)
        self.worst, self.largest = np.full(k, np.inf), np.zeros(k)
        self.reference, self.steps = np.inf, 0
        # the largest lower bound of the objective; no loss is negative
        self.bound = 0.0

    def state(self) -> dict[str, Any]:
        """Return all that later sweeps and checks depend on."""
        return {
            "slopes": self.slopes.values,
            "active": self.slopes.active,
            "V": self.V,
            "b": self.b,
            "intercept": self.intercept.state(),
            "worst": self.worst,
            "reference": self.reference,
            "steps": self.steps,
            "bound": self.bound,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from an earlier state, instead of `start`."""
        self.slopes.restore(state["slopes"], state["active"])
        for own, V in zip(self.V, state["V"], strict=True):
            own[...] = V
        self.b[:] = state["b"]
        self.intercept.restore(state["intercept"])
        self.worst = np.array(state["worst"])
        self.reference, self.steps = state["reference"], state["steps"]
        self.bound = state["bound"]

    def start(self, point: tuple[Array, Array] | None, tol: float) -> tuple[DualPoint, float]:
        """Initialize the slopes from a point, or with zeros if these are better.

        Returns the point and its relative duality gap, as `check`.
        """
        best = self._point(np.inf)
        if point is not None:
            coef, b = point[0], point[1] if self.intercept.constant else 0 * point[1]
            V = [np.empty_like(own) for own in self.V]
            for share, own in zip(self.shares, V, strict=True):
                own[...] = coef[:, slice(*share)].T
            best = DualPoint(self._set_slopes(self._slopes_at, V, b), coef, b)
            self.intercept.place(self.b, b)
            best, gap, objective = self.check(best, tol)
            if objective > 0:
                return best, gap
            self.slopes.clear()
            self.b[:] = 0
            self.intercept.place(self.b, 0 * b)
            for own in self.V:
                own[:] = 0
        if isinstance(self.loss, Log):
            # min(1e-3, 1e-8 / C) as in LIBLINEAR: the entropy has no derivative at zero
            self._set_slopes(lambda Y, F, C: Y * (1e-8 / np.maximum(C, 1e-5)), self.V, self.b)
        return best, np.inf

    def _slopes_at(self, Y: Array, F: Array, C: Array) -> Array:
        slopes = -self.loss.gradient(Y, F)
        return Y * np.clip(Y * slopes, _TINY, 1 - _EPS) if isinstance(self.loss, Log) else slopes

    def _point(self, objective: float) -> DualPoint:
        coef = np.concatenate([own.T for own in self.V], axis=1)
        return DualPoint(objective, coef, self.b.copy())

    def _set_slopes(self, slopes_of: Callable[..., Array], V: list[Array], b: Array) -> float:
        """Set the slopes from the predictions at a point, and return its objective."""
        V, b = [own.copy("K") for own in V], b.copy()

        def slope(block: Block, scratch: Scratch) -> tuple[Block, Array, float]:
            F, Y, C = self._at(block, scratch, V, b)
            slopes = slopes_of(Y, F, C)
            self.slopes.values[place_of(block)] = slopes
            return block, slopes, float(np.sum(C * self.loss.value(Y, F)))

        def add(total: float, result: tuple[Block, Array, float]) -> float:
            block, slopes, cost = result
            self._add(block, slopes, self.V, self.b)
            return total + cost

        return self._in_units(self.context.map_reduce(self.rows, slope, add, 0.0), V, b)

    def _add(self, block: Block, slopes: Array, V: list[Array], b: Array) -> None:
        """Add rows, multiplied by C and their slopes, to the coefficients and the intercept."""
        from skimp._core.loops._rows import add_rows

        T, X = self.facts.targets(block)[1][:, None] * slopes, as_layout(block.X, self.rows.dtype)
        for share, own in zip(self.shares, V, strict=True):
            add_rows(X, share, T, self.intercept.constant, own, b)

    def _at(self, block: Block, scratch: Scratch, V: list[Array], b: Array) -> tuple[Array, ...]:
        """Return the predictions at a point, the targets, and C as a column."""
        from skimp._core.loops._rows import predictions

        Y, C = self.facts.targets(block)
        F = scratch.array("F", Y.shape, DOUBLE)
        X = as_layout(block.X, self.rows.dtype)
        for share, own in zip(self.shares, V, strict=True):
            predictions(X, share, own, b, F)
        return F, Y, C[:, None]

    def _in_units(self, cost: float, V: list[Array], b: Array, sign: float = 1.0) -> float:
        """Return the primal objective of the problem, or the dual one if ``sign`` is -1."""
        squares = sum(np.einsum("ij,ij->", own, own) for own in V) + self.intercept.penalty(b)
        return float(2 * self.alpha * (cost + sign * squares / 2))

    def sweep(self, number: int) -> None:
        """Take a step for each active slope; deactivate those that are optimal at a bound."""
        self.largest[:] = 0
        if self.sample is not None:
            self.sample.empty(self.slopes.count_active_rows())

        def read(block: Block, _: Scratch) -> tuple[slice, DualRows]:
            Y, C = self.facts.targets(block)
            slopes = self.slopes.at(place_of(block))
            return place_of(block), DualRows(block.X, self.facts.norms(block), C, Y, *slopes)

        def step(parts: list[slice], read: tuple[slice, DualRows]) -> list[slice]:
            part, rows = read
            if self.buffer is None:
                self._visit([part], rows, number)
                return parts
            numbers = np.arange(part.start, part.stop)
            if self.buffer.size + len(numbers) > self.buffer.capacity:
                self._visit(parts, self.buffer.rows, number)
                self.buffer.clear()
                parts = []
            self.buffer.add(numbers, rows)
            return [*parts, part]

        rows = self.chunks.shuffled([self.seed, number, self.rows.n_rows])
        none: list[slice] = []
        parts = self.sweep_context.map_reduce(rows, read, step, none)
        if self.buffer is not None:
            self._visit(parts, self.buffer.rows, number)
            self.buffer.clear()
        self._end_sweep()
        self._repeat(number)

    def _visit(self, parts: list[slice], rows: DualRows, number: int) -> None:
        """Take steps for rows from these parts, and store their dual variables."""
        rng = np.random.default_rng([self.seed, number, parts[0].start])
        self._steps(rows, rng)
        first = 0
        for part in parts:
            last = first + part.stop - part.start
            self.slopes.put(part, rows.slopes[first:last], rows.active[first:last])
            first = last
        if self.sample is not None:
            numbers = np.concatenate([np.arange(part.start, part.stop) for part in parts])
            self.sample.add(numbers, rows, rng)

    def _repeat(self, number: int) -> None:
        """Take steps on the sample until a check is due."""
        if self.sample is None or self.sample.buffer.size == 0 or self.is_due:
            return
        buffer = self.sample.buffer
        rng, rows = np.random.default_rng([self.seed, number]), buffer.rows
        while not self.is_due:
            self.largest[:] = 0
            self._steps(rows, rng)
            self._end_sweep()
        self.slopes.put_rows(buffer.numbers, rows.slopes, rows.active)

    def _steps(self, rows: DualRows, rng: np.random.Generator) -> None:
        """Take a step for each active slope of these rows."""
        X = as_layout(rows.X, self.rows.dtype)
        order = rng.permutation(rows.visited())

        def step(number: int, _: Scratch) -> int:
            given = X, order, self.shares[number], rows.Q, rows.C, rows.Y, rows.slopes, rows.active
            model = self.intercept.constant, self.V[number], self.b
            return self.run_sweep(*given, *model, self.worst, self.largest, *self.parameters)

        numbers = range(len(self.shares))
        self.steps += fold(numbers, step, lambda a, b: a + b, 0, len(numbers))

    def _end_sweep(self) -> None:
        self.worst = np.where(self.largest > 0, self.largest, np.inf)
        if self.reference == np.inf:
            self.reference = self.largest.max()

    @property
    def is_due(self) -> bool:
        """Whether to check the duality gap now.

        A check is due if it is cheap compared to the sweeps since the last one, or if the active
        slopes violate optimality ten times less than at the last check.
        """
        return self.steps >= self.n_entries or self.largest.max() <= 0.1 * self.reference

    def check(self, best: DualPoint, tol: float) -> tuple[DualPoint, float, float]:
        """Return the better of ``best`` and the current point, its relative gap and the dual value.

        Reactivates slopes that violate optimality. If the intercept is free, a gap above ``tol`` is
        an estimate; see `certify`.
        """
        self.reference, self.steps = np.inf, 0
        change, excess = self.intercept.move(self.b)

        def costs(block: Block, scratch: Scratch) -> Array:
            part = place_of(block)
            F, Y, C = self._at(block, scratch, self.V, self.b)
            slopes, active = self.slopes.at(part)
            primal, dual = self.loss.value(Y, F), self.loss.conjugate(Y, -slopes)
            F += change
            self.wake(F, Y, slopes, active, *self.parameters)
            active &= C > 0
            self.slopes.put(part, slopes, active)
            return np.array([np.sum(C * primal), -np.sum(C * dual)])

        sums = self.context.map_reduce(self.rows, costs, lambda a, b: a + b, np.zeros(2))
        primal = self._in_units(sums[0], self.V, self.b)
        dual = self._in_units(sums[1] - excess, self.V, self.b, sign=-1.0)
        check_representable(np.array([primal, dual]))
        if primal < best.objective:
            best = self._point(primal)
        self.b += change
        gap = self._relative_gap(best, dual)
        if not self.intercept.free:
            self.bound = max(self.bound, dual)
        elif gap <= tol:
            gap = self.certify(best)
        return best, gap, dual

    def certify(self, best: DualPoint) -> float:
        """Return an upper bound of the relative gap.

        A dual objective is a lower bound of the primal one. If the intercept is free, that holds
        only if the slopes of each output, multiplied by C, sum to zero: some are scaled down, which
        takes a pass over the rows.
        """
        if self.intercept.free:
            balance = Balance(self._flows(), joint=self.loss.joint)
            V, b = [np.zeros_like(own) for own in self.V], np.zeros_like(self.b)

            def scale(block: Block, _: Scratch) -> tuple[Block, Array]:
                slopes = self.slopes.values[place_of(block)]
                return block, balance.scaled(self.facts.targets(block)[0], slopes)

            def add(total: float, result: tuple[Block, Array]) -> float:
                block, slopes = result
                self._add(block, slopes, V, b)
                Y, C = self.facts.targets(block)
                return total - float(np.sum(C[:, None] * self.loss.conjugate(Y, -slopes)))

            total = self.context.map_reduce(self.rows, scale, add, 0.0)
            self.bound = max(self.bound, self._in_units(total, V, b, sign=-1.0))
        return self._relative_gap(best, self.bound)

    def _flows(self) -> Array:
        """Return what groups of slopes pass on, for `Balance`."""

        def of_block(block: Block, _: Scratch) -> Array:
            Y, C = self.facts.targets(block)
            slopes = self.slopes.values[place_of(block)]
            return flows_between(C, Y, slopes, joint=self.loss.joint)

        def add(total: Array | None, part: Array) -> Array:
            return part if total is None else total + part

        initial: Array | None = None
        flows = self.sweep_context.map_reduce(self.chunks, of_block, add, initial)
        assert flows is not None, "there are rows"
        return flows

    def _relative_gap(self, best: DualPoint, dual: float) -> float:
        gap = best.objective - dual
        return gap / best.objective if gap > self.rounding else 0.0
