"""Iterations of SARAH: gradients of all rows, and the inner loop on mini-batches."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from skimp._core._blocks import Scratch
from skimp._core._linalg import check_representable
from skimp._core._types import Array, Matrix
from skimp._core._work import DOUBLE
from skimp.data import LOCAL, Block, Context, Rows, keep_rows, no_rows
from skimp.solvers._base import Learner, Problem, Solution, Status
from skimp.solvers._compiled import as_layout, compiled_loss
from skimp.solvers._coordinates import Coordinates
from skimp.solvers._features import as_targets, n_outputs_of
from skimp.solvers._metric import SAMPLED, Metric, largest_leverage

HALVINGS = 30
"""Number of halvings of the step size after which rounding errors must be the cause."""
_INNER = 2
"""Maximum number of passes over the rows between two gradients of all rows."""
_ROUNDING = 100 * float(np.finfo(np.float64).eps)
_TINY = 1e-100


@dataclass(frozen=True)
class Point:
    """Coefficients and the objective there.

    Attributes
    ----------
    V, b : arrays of shape (k, width) and (k,)
        Coefficients and intercepts.
    objective : float
        The objective, summed over outputs.
    G, g : arrays of shape (k, width) and (k,)
        Gradient with respect to coefficients and intercepts.
    gap : float
        Estimate of the duality gap.
    """

    V: Array
    b: Array
    objective: float
    G: Array
    g: Array
    gap: float

    def falls_to(self, other: "Point") -> bool:
        """Return whether the objective of another point is not larger, up to rounding."""
        return other.objective <= self.objective * (1 + _ROUNDING)


def extrapolate(points: list[Point]) -> Point:
    """Return the minimum of a quadratic function in the plane of three points, if there are three.

    The quadratic function has the gradients of the points. With fewer points, return the last one.
    """
    last = points[-1]
    if len(points) < 3:
        return last
    steps = [(p.V - last.V, p.b - last.b) for p in points[:-1]]
    changes = [(p.G - last.G, p.g - last.g) for p in points[:-1]]
    H = np.array([[_inner(step, change) for change in changes] for step in steps])
    slope = np.array([_inner(step, (last.G, last.g)) for step in steps])
    t = -np.linalg.pinv((H + H.T) / 2, rcond=_ROUNDING, hermitian=True) @ slope
    V, b, G, g = last.V, last.b, last.G, last.g
    for share, step, change in zip(t, steps, changes, strict=True):
        V, b = V + share * step[0], b + share * step[1]
        G, g = G + share * change[0], g + share * change[1]
    return replace(last, V=V, b=b, G=G, g=g)


def _inner(first: tuple[Array, Array], second: tuple[Array, Array]) -> float:
    return float(np.sum(first[0] * second[0]) + np.sum(first[1] * second[1]))


class Part(NamedTuple):
    """Rows for mini-batches: layout, targets, factors of gradients, and numbers to draw from."""

    X: Any
    Y: Array
    factor: Array
    drawn: Array

    @classmethod
    def of(cls, X: Matrix, y: Array | None, weight: Array) -> "Part":
        """Return the rows of positive weight."""
        drawn = np.flatnonzero(weight)
        Y = np.ascontiguousarray(y, np.float64)
        return cls(as_layout(X, DOUBLE), Y, weight / weight[drawn].mean(), drawn)


class Iteration:
    """What an iteration does, for rows of features in which the penalty is the squared norm."""

    def __init__(self, problem: Problem, n_outputs: int, batch_size: int, owner: str):
        self._problem, self._k, self._batch_size = problem, n_outputs, batch_size
        self._loss = compiled_loss(problem.loss, n_outputs, owner=owner)
        self._constant = float(problem.fit_intercept)

    def start(self, coordinates: Coordinates, rows: Rows) -> tuple[Array, Array]:
        """Return the first coefficients and intercepts."""
        # store the outputs of a coded feature side by side: one cache miss serves all of them
        coded = rows.coded is not None and self._k > 1
        V, b = np.zeros((self._k, rows.n_features), order="F" if coded else "C"), np.zeros(self._k)
        if self._problem.start is not None:
            coef, intercept = self._problem.start
            V[...], b[...] = coordinates.from_coef(coef).T, self._constant * np.asarray(intercept)
        return V, b

    def evaluate(self, rows: Rows, V: Array, b: Array, context: Context) -> Point:
        """Evaluate the objective in one pass over the rows."""
        from skimp._core.loops._rows import add_rows, predictions

        loss, alpha, k = self._problem.loss, self._problem.alpha, self._k

        # steps that are too long may overflow
        @np.errstate(over="ignore", invalid="ignore")
        def of_block(block: Block, scratch: Scratch) -> list[Any]:
            X, (Y, weight) = as_layout(block.X, rows.dtype), as_targets(block, DOUBLE)
            F = scratch.array("F", Y.shape, DOUBLE)
            predictions(X, (0, k), V, b, F)
            T = weight * loss.gradient(Y, F)
            if self._constant:
                T = np.hstack([T, weight * loss.curvature(Y, F)])
            sums, ones = np.zeros_like(V, shape=(T.shape[1], V.shape[1])), np.zeros(T.shape[1])
            add_rows(X, (0, T.shape[1]), T, self._constant, sums, ones)
            return [weight.sum(), np.sum(weight * loss.value(Y, F)), sums, ones]

        def add(total: list[Any] | None, part: list[Any]) -> list[Any]:
            return part if total is None else [a + b for a, b in zip(total, part, strict=True)]

        initial: list[Any] | None = None
        total = context.map_reduce(rows, of_block, add, initial)
        if total is None or total[0] == 0:
            raise no_rows()
        with np.errstate(over="ignore", invalid="ignore"):
            value, sums, ones = (part / total[0] for part in total[1:])
            G, g = sums[:k] + 2 * alpha * V, ones[:k]
            gap, left = 0.0, G
            if self._constant:
                shift = g / np.maximum(ones[k:], _TINY)
                gap, left = np.sum(g * shift) / 2, G - shift[:, None] * sums[k:]
            gap += np.sum(left**2) / (4 * alpha)
            objective = float(value + alpha * np.sum(V**2))
        return Point(V, b, objective, G, g, float(gap) if np.isfinite(gap) else np.inf)

    def run(
        self, part: Part, point: Point, metric: Metric, step: float, seed: list[int]
    ) -> tuple[Array, Array, int]:
        """Return coefficients and intercepts after an inner loop, and the number of rows used."""
        from skimp._core.loops._sarah import steps

        order = np.random.default_rng(seed).permutation(part.drawn)
        batch = min(self._batch_size, len(order))
        V, b, G, g = point.V, point.b, point.G, point.g
        now, last, gradient = ((A.copy("K"), a.copy()) for A, a in ((V, b), (V, b), (G, g)))
        rows = (part.X, part.Y, part.factor), order, batch, -(-_INNER * len(order) // batch)
        model = self._loss, 2 * self._problem.alpha, self._constant, metric.parts, step
        taken = steps(*rows, *model, now, last, gradient)
        return *now, int(taken) * batch


@dataclass(frozen=True)
class Stream(Learner):
    """Coefficients after one iteration on each block of rows so far."""

    problem: Problem
    coordinates: Coordinates
    batch_size: int
    seed: int
    metric: Metric | None = None
    point: tuple[Array, Array] | None = None
    weight: float = 0.0
    blocks: int = 0

    def learn(self, rows: Rows, context: Context = LOCAL) -> Self:
        """Return coefficients after another iteration, on these rows."""
        rows = keep_rows(self.coordinates.features(rows), context)
        whole = next(rows.reblocked(max(1, rows.n_rows)).blocks())
        weight = whole.weights()
        iteration = Iteration(self.problem, n_outputs_of(rows), self.batch_size, "SARAH")
        batch = min(self.batch_size, max(1, int(np.count_nonzero(weight))))
        if self.metric is None or self.point is None:
            sample = rows.sample(SAMPLED, self.seed, context)
            metric = Metric.of(sample, self.problem, batch, self.seed)
            start = iteration.start(self.coordinates, rows)
        elif not weight.any():
            return self
        else:
            metric, start = self.metric, self.point
        part, total = Part.of(whole.X, whole.y, weight), self.weight + float(weight.sum())
        point = iteration.evaluate(rows, *start, context)
        check_representable(point.G, point.g)
        step = float(weight.sum()) / total
        near = metric.widened(whole.X, weight, largest_leverage(batch, np.inf) / step)
        for _ in range(HALVINGS):
            V, b, _ = iteration.run(part, point, near, step, [self.seed, self.blocks])
            if point.falls_to(iteration.evaluate(rows, V, b, context)):
                start = V, b
                break
            step /= 2
        blocks = self.blocks + 1
        return replace(self, metric=metric, point=start, weight=total, blocks=blocks)

    def solution(self) -> Solution:
        """Return the last coefficients."""
        assert self.point is not None, "it has learnt from rows"
        V, b = self.point
        message = f"sarah: approximate, one iteration on each of {self.blocks:,} blocks"
        return Solution(
            coef=self.coordinates.to_coef(V.T),
            intercept=b.copy(),
            n_iter=self.blocks,
            status=Status.LEARNING,
            message=message + self.coordinates.note,
            solver="sarah",
        )
