"""Medoids of clusters: starts, swaps and alternation on points, and passes over all rows."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skimp._core._blocks import Scratch, fold
from skimp._core._types import Array, Matrix
from skimp.data import Block, Context, Phase, Rows, concatenate_rows
from skimp.estimators._dissimilarities import Dissimilarity

_TOL = 1e-9
"""Relative decrease of the cost below which a swap is rounding."""
_STRIP = 2**20
"""Dissimilarities that are computed at a time."""


@dataclass(frozen=True)
class Points:
    """Weighted points that stand for the rows.

    Attributes
    ----------
    X : array or CSR matrix of shape (m, d)
        The points.
    numbers : array of shape (m,)
        Their row numbers; -1 for points that are not rows.
    weight : array of shape (m,)
        Their weights.
    """

    X: Matrix
    numbers: Array
    weight: Array


@dataclass(frozen=True)
class Medoids:
    """Medoids, and the number of iterations or passes that found them.

    Attributes
    ----------
    X : array or CSR matrix of shape (k, d)
        The medoids.
    numbers : array of shape (k,)
        Their row numbers; -1 for points that are not rows.
    n_iter : int
        Number of iterations.
    converged : bool
        Whether the medoids stayed.
    """

    X: Matrix
    numbers: Array
    n_iter: int
    converged: bool


def spread_medoids(D: Array, weight: Array, k: int, rng: np.random.Generator) -> Array:
    """Draw k of the points: each proportional to its dissimilarity from those drawn so far.

    The first one is proportional to the weight. If all other points coincide with a drawn one, the
    rest are drawn from these.
    """
    chosen = [int(rng.choice(len(D), p=weight / weight.sum()))]
    near = D[chosen[0]].astype(np.float64)
    while len(chosen) < k:
        chances = weight * near
        if not chances.any():
            others = np.setdiff1d(np.arange(len(D)), chosen)
            return np.append(chosen, others[: k - len(chosen)])
        chosen.append(int(rng.choice(len(D), p=chances / chances.sum())))
        np.minimum(near, D[chosen[-1]], out=near)
    return np.array(chosen)


def alternate(D: Array, weight: Array, medoids: Array, max_iter: int) -> tuple[Array, int, bool]:
    """Assign points and find the medoids of the clusters in turns, until the medoids stay.

    Return the medoids, the number of iterations, and whether the medoids stay.
    """
    weight, tol = weight.astype(D.dtype), max(_TOL, 8 * float(np.finfo(D.dtype).eps))
    for count in range(max_iter):
        medoids = _repaired(D[medoids], weight, medoids)
        labels = D[medoids].argmin(axis=0)
        found = medoids.copy()
        for j in range(len(medoids)):
            members = np.flatnonzero(labels == j)
            if len(members):
                costs = D[np.ix_(members, members)] @ weight[members]
                # the medoid stays if no other is better by more than rounding
                now = float(D[medoids[j], members] @ weight[members])
                best = int(costs.argmin())
                if costs[best] < now - tol * now:
                    found[j] = members[best]
        if np.array_equal(found, medoids):
            return medoids, count + 1, True
        medoids = found
    return medoids, max_iter, False


def _repaired(D: Array, weight: Array, medoids: Array) -> Array:
    """Replace medoids without points by the points that are farthest from their medoid.

    ``D`` holds the dissimilarities of medoids and points. Medoids that equal all points stay.
    """
    D = D.copy()
    for j in np.setdiff1d(np.arange(len(medoids)), D.argmin(axis=0)):
        costs = weight * D.min(axis=0)
        far = int(costs.argmax())
        if costs[far] > 0:
            medoids = medoids.copy()
            medoids[j] = far
            D[j], D[j, far] = np.inf, 0
    return medoids


@dataclass(frozen=True)
class Start:
    """Medoids among the points: their places, their cost, and how they were found."""

    places: Array
    cost: float
    n_iter: int
    converged: bool


def best_start(
    D: Array, weight: Array, k: int, seeds: list[int], method: str, max_iter: int, context: Context
) -> Start:
    """Return the best medoids among the points, of several starts."""

    def of_start(seed: int, _: Scratch) -> Start:
        from skimp._core.loops._swaps import swap_medoids

        medoids = spread_medoids(D, weight, k, np.random.default_rng(seed))
        if method == "swap":
            count, converged = swap_medoids(D, weight, medoids, max_iter, _TOL)
        else:
            medoids, count, converged = alternate(D, weight, medoids, max_iter)
        return Start(medoids, float(weight @ D[medoids].min(axis=0)), count, converged)

    if k == 1:
        costs = [float(row @ weight) for row in D]
        best = int(np.argmin(costs))
        return Start(np.array([best]), costs[best], 1, True)
    none: list[Start] = []
    found = fold(seeds, of_start, lambda a, b: [*a, b], none, context.threads)
    return min(found, key=lambda start: start.cost)


def refine(
    rows: Rows,
    points: Points,
    medoids: Medoids,
    dissimilarity: Dissimilarity,
    max_iter: int,
    context: Context,
    refining: Phase,
) -> Medoids:
    """Choose medoids among all rows, which minimize the costs of the points of their cluster.

    Each iteration assigns the points, and passes over the rows once. A row is a candidate for the
    cluster of its nearest medoid. Stop if the medoids stay.
    """
    weight, count = points.weight, 0
    for count in range(1, max_iter + 1):
        D = dissimilarity.between(points.X, medoids.X).T
        places = _repaired(D, weight, np.full(len(D), -1))
        if (places >= 0).any():
            medoids = _moved(medoids, places, points)
        if (medoids.numbers < 0).any():
            medoids = _seated(rows, medoids, dissimilarity, context)
        D = dissimilarity.between(points.X, medoids.X).T
        labels = D.argmin(axis=0)
        members = [np.flatnonzero(labels == j) for j in range(len(D))]
        now = np.array([float(D[j, part] @ weight[part]) for j, part in enumerate(members)])
        costs, numbers = _best_rows(rows, points, medoids, members, dissimilarity, context)
        better = costs < now - _TOL * now
        stop = refining.advance(f"cost {np.where(better, costs, now).sum():.6g}")
        if not better.any():
            return replace(medoids, n_iter=medoids.n_iter + count)
        chosen = np.where(better, numbers, medoids.numbers)
        medoids = replace(medoids, X=rows.take(chosen, context).X, numbers=chosen)
        if stop:
            break
    return replace(medoids, n_iter=medoids.n_iter + count, converged=False)


def _moved(medoids: Medoids, places: Array, points: Points) -> Medoids:
    """Replace medoids by points; a place of -1 keeps a medoid."""
    parts = [
        medoids.X[j : j + 1] if place < 0 else points.X[place : place + 1]
        for j, place in enumerate(places)
    ]
    numbers = np.where(places < 0, medoids.numbers, points.numbers[places])
    return replace(medoids, X=concatenate_rows(parts), numbers=numbers)


def _seated(
    rows: Rows, medoids: Medoids, dissimilarity: Dissimilarity, context: Context
) -> Medoids:
    """Replace medoids that are not rows by the nearest rows."""
    places = np.flatnonzero(medoids.numbers < 0)
    bound = dissimilarity.bind(medoids.X[places])

    def of_block(block: Block, _: Scratch) -> tuple[Array, Array]:
        D = bound(block.X, dissimilarity.own(block.X))
        D[block.weights() == 0] = np.inf
        best = D.argmin(axis=0)
        return D[best, np.arange(len(best))], block.start + best

    none = np.full(len(places), np.inf), np.full(len(places), -1)
    numbers = medoids.numbers.copy()
    numbers[places] = context.map_reduce(rows, of_block, _lower, none)[1]
    return replace(medoids, X=rows.take(numbers, context).X, numbers=numbers)


def _lower(total: tuple[Array, Array], part: tuple[Array, Array]) -> tuple[Array, Array]:
    """Keep the lower costs, and the numbers of their rows."""
    lower = part[0] < total[0]
    return np.where(lower, part[0], total[0]), np.where(lower, part[1], total[1])


def _best_rows(
    rows: Rows,
    points: Points,
    medoids: Medoids,
    members: list[Array],
    dissimilarity: Dissimilarity,
    context: Context,
) -> tuple[Array, Array]:
    """Return the lowest cost among the rows of each cluster, and the number of the row."""
    k = len(members)
    of_medoids = dissimilarity.bind(medoids.X)
    of_members = [dissimilarity.bind(points.X[part]) if len(part) else None for part in members]

    def of_block(block: Block, _: Scratch) -> tuple[Array, Array]:
        X, own = block.X, dissimilarity.own(block.X)
        labels = of_medoids(X, own).argmin(axis=1)
        if block.weight is not None:
            labels[block.weight == 0] = -1
        costs, numbers = np.full(k, np.inf), np.full(k, -1)
        for j in np.unique(labels[labels >= 0]):
            bound = of_members[j]
            if bound is None:
                continue
            weight = points.weight[members[j]]
            rows_of = np.flatnonzero(labels == j)
            step = max(1, _STRIP // len(weight))
            for start in range(0, len(rows_of), step):
                chosen = rows_of[start : start + step]
                sums = bound(X[chosen], None if own is None else own[chosen]) @ weight
                best = int(sums.argmin())
                if sums[best] < costs[j]:
                    costs[j], numbers[j] = sums[best], block.start + chosen[best]
        return costs, numbers

    initial = np.full(k, np.inf), np.full(k, -1)
    return context.map_reduce(rows, of_block, _lower, initial)


def assign(
    rows: Rows, medoids: Matrix, dissimilarity: Dissimilarity, context: Context
) -> tuple[Array, float]:
    """Return the cluster of each row, and the weighted sum of its dissimilarities."""
    labels, bound = np.empty(rows.n_rows, np.int32), dissimilarity.bind(medoids)

    def of_block(block: Block, _: Scratch) -> float:
        D = bound(block.X, dissimilarity.own(block.X))
        nearest = D.argmin(axis=1)
        labels[block.start : block.start + block.size] = nearest
        return float(block.weights() @ D[np.arange(len(D)), nearest])

    total: Any = context.map_reduce(rows, of_block, lambda a, b: a + b, 0.0)
    return labels, float(total)
