"""The dual problem: dual variables of all rows, sweeps over them, and the duality gap.

The dual variables, called slopes, are negative derivatives of the loss at the optimum.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from skimp._core._blocks import Scratch, fold
from skimp._core._linalg import check_representable
from skimp._core._types import Array, Matrix
from skimp._core._work import DOUBLE
from skimp._params._memory import parse_bytes, require_memory
from skimp.data import ArrayRows, Block, Codes, Context, Rows, keep_rows, kept_bytes, kept_layout
from skimp.losses import Log, Loss, MulticlassHinge, PiecewiseLoss
from skimp.solvers._base import Problem
from skimp.solvers._compiled import as_layout
from skimp.solvers._features import place_of
from skimp.solvers._intercepts import Balance, FreeIntercept, Intercept, PenalizedIntercept

_TINY, _EPS = float(np.finfo(np.float64).tiny), float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class DualPoint:
    """Coefficients of shape (width, k) and intercepts, with their objective."""

    objective: float
    coef: Array
    b: Array


def kept_in_memory(
    rows: Rows, problem: Problem, context: Context
) -> tuple[Rows, "ActiveSample | None", str]:
    """Return rows with features in memory, or a buffer for a sample of them, and a message."""
    first = _first(rows)
    n, k, width = rows.n_rows, first.y.shape[1], rows.n_features
    needed = needed_bytes(n, k, width)
    require_memory(
        needed,
        problem.memory_limit,
        f"dual coordinate descent on {n} rows with {k} outputs",
        "choose another solver",
    )
    if isinstance(first.X, np.ndarray) and as_layout(first.X, rows.dtype) is not first.X:
        # convert the features once if they fit, not in every sweep; this also orders file reads
        rows = rows.converted()
    free = parse_bytes(problem.memory_limit) - needed
    if kept_bytes(rows) <= free:
        with context.phase("features", unit="rows", total=n):
            return keep_rows(rows, context), None, ""
    # per row: features, number, position in the order, weight, norm, targets, slopes and flags
    numbers, dtype = kept_layout(rows)
    capacity = free // (numbers * dtype.itemsize + 40 + 17 * k)
    place = np.empty((capacity, numbers), dtype)
    sample = ActiveSample(place, np.empty(capacity, np.int64), rows.coded)
    return rows, sample, ", features recomputed in every sweep to save memory"


def needed_bytes(n: int, k: int, width: int) -> int:
    """Return the memory of sweeps in addition to the features, in bytes."""
    # targets, slopes and flags; weights, norms and two orders; three copies of the coefficients
    return 17 * n * k + 32 * n + 24 * k * width


def most_shares(k: int, coded: bool) -> int:
    """Return the maximum number of threads for k outputs."""
    # codes sum a single output in a different order than several
    return max(1, k // 2) if coded else k


def _first(rows: Rows) -> Any:
    """Return the first two rows, which show the memory layout."""
    return next(rows.reblocked(2).blocks())


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


@dataclass
class ActiveSample:
    """Random sample of the active rows, drawn during a sweep, as large as the memory allows.

    If rows are sorted, each block pulls the coefficients in its own direction. Additional steps on
    a sample of rows from all blocks compensate for that.
    """

    X: Array
    numbers: Array
    coded: Codes | None = None
    size: int = 0
    share: float = 1.0

    def add(self, block: Block, active: Array, rng: np.random.Generator) -> None:
        """Add a random part of the active rows of a block."""
        if sparse.issparse(block.X):
            return
        drawn = np.flatnonzero(active.any(axis=1) & (rng.random(block.size) < self.share))
        drawn = drawn[: len(self.X) - self.size]
        part = slice(self.size, self.size + len(drawn))
        X = block.X.codes if isinstance(block.X, Codes) else block.X
        self.X[part], self.numbers[part] = X[drawn], block.start + drawn
        self.size += len(drawn)

    @property
    def rows(self) -> Matrix:
        """The sampled rows."""
        X = self.X[: self.size]
        return X if self.coded is None else self.coded.trusted(X)


class Dual:
    """Slopes of all rows, the coefficients they define, and per-row quantities for sweeps."""

    def __init__(
        self,
        rows: Rows,
        problem: Problem,
        context: Context,
        sample: ActiveSample | None,
        *,
        seed: int,
        free_intercept: bool,
    ):
        from skimp._core.loops._rows import squared_norms

        n, k, width = rows.n_rows, _first(rows).y.shape[1], rows.n_features
        self.rows, self.loss, self.alpha = rows, problem.loss, problem.alpha
        self.context, self.sample, self.seed = context, sample, seed
        # rows in memory can be visited in one random order, which matters if they are sorted
        self.sweep_rows, self.sweep_context = rows, context
        if isinstance(rows, ArrayRows):
            self.sweep_rows = rows.reblocked(n)
            self.sweep_context = replace(context, n_jobs=1)
        self.Y, self.slopes = np.empty((n, k)), np.zeros((n, k))
        self.C, self.Q = np.empty(n), np.empty(n)
        coded = rows.coded is not None
        threads = 1 if problem.loss.joint else min(most_shares(k, coded), context.threads)
        self.shares = list(pairwise(k * share // threads for share in range(threads + 1)))
        # store the outputs of a coded feature side by side: one cache miss serves all of them
        sizes = [last - first for first, last in self.shares]
        self.V = [np.zeros((size, width), order="F" if coded else "C") for size in sizes]
        self.b = np.zeros(k)

        def read(block: Block, _: Scratch) -> float:
            part = place_of(block)
            self.Y[part], self.C[part] = block.y, block.weights()
            squared_norms(as_layout(block.X, rows.dtype), self.Q[part])
            costs = self.loss.value(self.Y[part], np.zeros((block.size, k)))
            return float(np.sum(self.C[part, None] * costs))

        total = context.map_reduce(rows, read, lambda a, b: a + b, 0.0)
        check_representable(self.Q)
        # a gap below the rounding errors of the objective at zero is zero
        self.rounding = _EPS * total / self.C.sum()
        self.C /= 2 * self.alpha * self.C.sum()
        self.intercept: Intercept = PenalizedIntercept(float(problem.fit_intercept))
        if problem.fit_intercept and free_intercept:
            norm = float(np.einsum("i,i->", self.C, self.Q) / self.C.sum())
            self.intercept = FreeIntercept(norm, self.alpha, k)
        self.Q += self.intercept.constant
        self.active = np.repeat(self.C[:, None] > 0, k, axis=1)
        self.n_entries = int(np.count_nonzero(self.active))
        self.run_sweep, self.wake, self.parameters = _loops(problem.loss, k)
        self.worst, self.largest = np.full(k, np.inf), np.zeros(k)
        self.reference, self.steps = np.inf, 0
        # the largest lower bound of the objective; no loss is negative
        self.bound = 0.0

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
            self.slopes[:], self.b[:] = 0, 0
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

        def slope(block: Block, scratch: Scratch) -> tuple[Block, float]:
            F, Y, C = self._at(block, scratch, V, b)
            self.slopes[place_of(block)] = slopes_of(Y, F, C)
            return block, float(np.sum(C * self.loss.value(Y, F)))

        def add(total: float, result: tuple[Block, float]) -> float:
            self._add(result[0], self.slopes[place_of(result[0])], self.V, self.b)
            return total + result[1]

        return self._in_units(self.context.map_reduce(self.rows, slope, add, 0.0), V, b)

    def _add(self, block: Block, slopes: Array, V: list[Array], b: Array) -> None:
        """Add rows, multiplied by C and their slopes, to the coefficients and the intercept."""
        from skimp._core.loops._rows import add_rows

        T, X = self.C[place_of(block), None] * slopes, as_layout(block.X, self.rows.dtype)
        for share, own in zip(self.shares, V, strict=True):
            add_rows(X, share, T, self.intercept.constant, own, b)

    def _at(self, block: Block, scratch: Scratch, V: list[Array], b: Array) -> tuple[Array, ...]:
        """Return the predictions at a point, the targets, and C as a column."""
        from skimp._core.loops._rows import predictions

        part = place_of(block)
        F = scratch.array("F", self.Y[part].shape, DOUBLE)
        X = as_layout(block.X, self.rows.dtype)
        for share, own in zip(self.shares, V, strict=True):
            predictions(X, share, own, b, F)
        return F, self.Y[part], self.C[part, None]

    def _in_units(self, cost: float, V: list[Array], b: Array, sign: float = 1.0) -> float:
        """Return the primal objective of the problem, or the dual one if ``sign`` is -1."""
        squares = sum(np.einsum("ij,ij->", own, own) for own in V) + self.intercept.penalty(b)
        return float(2 * self.alpha * (cost + sign * squares / 2))

    def sweep(self, number: int) -> None:
        """Take a step for each active slope; deactivate those that are optimal at a bound."""
        self.largest[:] = 0
        if self.sample is not None:
            n_active = int(np.count_nonzero(self.active.any(axis=1)))
            self.sample.share = len(self.sample.X) / max(1, n_active)
            self.sample.size = 0

        def step(_: None, block: Block) -> None:
            rng = np.random.default_rng([self.seed, number, block.start])
            self._steps(block.X, place_of(block), rng)
            if self.sample is not None:
                self.sample.add(block, self.active[place_of(block)], rng)

        self.sweep_context.map_reduce(self.sweep_rows, lambda block, _: block, step, None)
        self._end_sweep()
        if self.sample is not None and self.sample.size:
            rng = np.random.default_rng([self.seed, number])
            while not self.is_due:
                self.largest[:] = 0
                part = self.sample.numbers[: self.sample.size]
                self._steps(self.sample.rows, part, rng)
                self._end_sweep()

    def _steps(self, X: Matrix, part: slice | Array, rng: np.random.Generator) -> None:
        """Take a step for each active slope of these rows."""
        slopes, active = self.slopes[part], self.active[part]
        X = as_layout(X, self.rows.dtype)
        order = rng.permutation(np.flatnonzero(active.any(axis=1)))
        Q, C, Y = self.Q[part], self.C[part], self.Y[part]

        def step(number: int, _: Scratch) -> int:
            rows = X, order, self.shares[number], Q, C, Y, slopes, active
            model = self.intercept.constant, self.V[number], self.b
            return self.run_sweep(*rows, *model, self.worst, self.largest, *self.parameters)

        numbers = range(len(self.shares))
        self.steps += fold(numbers, step, lambda a, b: a + b, 0, len(numbers))
        if not isinstance(part, slice):
            self.slopes[part], self.active[part] = slopes, active

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
            primal, dual = self.loss.value(Y, F), self.loss.conjugate(Y, -self.slopes[part])
            F += change
            self.wake(F, Y, self.slopes[part], self.active[part], *self.parameters)
            self.active[part] &= C > 0
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
            balance = Balance(self.C, self.Y, self.slopes, joint=self.loss.joint)
            V, b = [np.zeros_like(own) for own in self.V], np.zeros_like(self.b)

            def scale(block: Block, _: Scratch) -> tuple[Block, Array]:
                part = place_of(block)
                return block, balance.scaled(self.Y[part], self.slopes[part])

            def add(total: float, result: tuple[Block, Array]) -> float:
                block, slopes = result
                part = place_of(block)
                self._add(block, slopes, V, b)
                costs = self.C[part, None] * self.loss.conjugate(self.Y[part], -slopes)
                return total - float(np.sum(costs))

            total = self.context.map_reduce(self.rows, scale, add, 0.0)
            self.bound = max(self.bound, self._in_units(total, V, b, sign=-1.0))
        return self._relative_gap(best, self.bound)

    def _relative_gap(self, best: DualPoint, dual: float) -> float:
        gap = best.objective - dual
        return gap / best.objective if gap > self.rounding else 0.0
