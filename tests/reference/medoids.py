"""K-medoids, straight from the definitions."""

from itertools import combinations

import numpy as np


def distances(k, X, Y):
    """Eq. 4-21 of Castellanos (2021), for a kernel of two rows."""
    return np.array([[np.sqrt(max(0, k(x, x) - 2 * k(x, y) + k(y, y))) for y in Y] for x in X])


def cost(D, medoids, weight):
    """The weighted sum of dissimilarities from the nearest medoid."""
    return sum(w * min(row[m] for m in medoids) for row, w in zip(D, weight, strict=True))


def best(D, k, weight):
    """The smallest cost of all sets of medoids."""
    return min(cost(D, chosen, weight) for chosen in combinations(range(len(D)), k))


def best_swap(D, medoids, weight):
    """The smallest cost after a swap of one medoid."""
    swapped = (
        [*medoids[:i], other, *medoids[i + 1 :]]
        for i in range(len(medoids))
        for other in range(len(D))
        if other not in medoids
    )
    return min(cost(D, chosen, weight) for chosen in swapped)


def algorithm_4(D, budget, medoids, weight):
    """Algorithm 4 of Castellanos (2021); ``D`` holds all rows, ``budget`` their numbers.

    Candidates for a medoid are the rows of its cluster. A medoid stays if no row is better.
    """
    medoids = list(medoids)
    while True:
        clusters = [int(np.argmin([D[b, m] for m in medoids])) for b in budget]
        rows = [int(np.argmin([d[m] for m in medoids])) for d in D]
        moved = []
        for j, now in enumerate(medoids):
            members = [b for b, c in zip(budget, clusters, strict=True) if c == j]
            costs = {
                i: sum(weight[b] * D[i, b] for b in members) for i in range(len(D)) if rows[i] == j
            }
            low = min(costs, key=costs.get)
            moved.append(low if costs[low] < costs[now] - 1e-9 * costs[now] else now)
        if moved == medoids:
            return medoids
        medoids = moved
