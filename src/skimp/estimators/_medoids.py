"""Medoids of clusters: starts, swaps and alternation on points, and passes over all rows."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skimp._core._blocks import Scratch, fold
from skimp._core._types import Array, Matrix
from skimp.data import Block, Context, Phase, Rows
from skimp.estimators._dissimilarities import Dissimilarity

_TOL = 1e-9
"""Relative decrease of the cost below which a swap is rounding."""


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


def alternate(D: Array, weight: Array, medoids: Array, max_iter: int) -> tuple[Array, int]:
    """Assign points and find the medoids of the clusters in turns, until the medoids stay."""
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
                if costs[best] < now - _TOL * now:
                    found[j] = members[best]
        if np.array_equal(found, medoids):
            return medoids, count + 1
        medoids = found
    return medoids, max_iter


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


def best_start(
    D: Array, weight: Array, k: int, seeds: list[int], method: str, max_iter: int, context: Context
) -> tuple[Array, float, int]:
    """Return the best medoids among the points, of several starts; their cost and iterations."""

    def of_start(seed: int, _: Scratch) -> tuple[Array, float, int]:
        from skimp._core.loops._swaps import swap_medoids

        medoids = spread_medoids(D, weight, k, np.random.default_rng(seed))
        if k == 1:
            medoids, count = np.array([(D @ weight).argmin()]), 1
        elif method == "swap":
            count = swap_medoids(D, weight, medoids, np.empty(len(D), np.int64), max_iter, _TOL)
        else:
            medoids, count = alternate(D, weight, medoids, max_iter)
        return medoids, float(weight @ D[medoids].min(axis=0)), count

    found: list[tuple[Array, float, int]] = []
    found = fold(seeds, of_start, lambda a, b: [*a, b], found, context.threads)
    return min(found, key=lambda one: one[1])


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
    weight = points.weight
    for count in range(max_iter):
        D = dissimilarity.between(points.X, medoids.X).T
        places = _repaired(D, weight, np.full(len(D), -1))
        if (places >= 0).any():
            medoids = _moved(medoids, places, points)
            D = dissimilarity.between(points.X, medoids.X).T
        labels = D.argmin(axis=0)
        members = [np.flatnonzero(labels == j) for j in range(len(D))]
        now = np.array([float(D[j, part] @ weight[part]) for j, part in enumerate(members)])
        # a medoid that is not a row must be replaced
        now[medoids.numbers < 0] = np.inf
        costs, numbers = _best_rows(rows, points, medoids, members, dissimilarity, context)
        better = costs < now - _TOL * np.where(np.isfinite(now), now, 0)
        stop = refining.advance(f"cost {np.where(better, costs, now).sum():.6g}")
        if not better.any():
            return replace(medoids, n_iter=medoids.n_iter + count + 1)
        chosen = np.where(better, numbers, medoids.numbers)
        medoids = replace(medoids, X=rows.take(chosen, context).X, numbers=chosen)
        if stop:
            break
    return replace(medoids, n_iter=medoids.n_iter + max_iter, converged=False)


def _moved(medoids: Medoids, places: Array, points: Points) -> Medoids:
    """Replace medoids by points; a place of -1 keeps a medoid."""
    from skimp.data import concatenate_rows

    parts = [
        medoids.X[j : j + 1] if place < 0 else points.X[place : place + 1]
        for j, place in enumerate(places)
    ]
    numbers = np.where(places < 0, medoids.numbers, points.numbers[places])
    return replace(medoids, X=concatenate_rows(parts), numbers=numbers)


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
            chosen = np.flatnonzero(labels == j)
            D = bound(X[chosen], None if own is None else own[chosen])
            sums = D @ points.weight[members[j]]
            best = int(sums.argmin())
            costs[j], numbers[j] = sums[best], block.start + chosen[best]
        return costs, numbers

    def keep(total: tuple[Array, Array], part: tuple[Array, Array]) -> tuple[Array, Array]:
        lower = part[0] < total[0]
        return np.where(lower, part[0], total[0]), np.where(lower, part[1], total[1])

    initial = np.full(k, np.inf), np.full(k, -1)
    return context.map_reduce(rows, of_block, keep, initial)


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
