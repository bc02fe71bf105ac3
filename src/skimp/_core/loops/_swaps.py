"""Swaps of medoids with other points, on a matrix of dissimilarities."""

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def swap_medoids(D, weight, medoids, nearest, max_iter, tol):
    """Swap medoids with other points until no swap decreases the weighted sum of dissimilarities.

    The dissimilarity of points o and p is ``D[p, o]``. Changes ``medoids`` and fills ``nearest``,
    the place of the nearest medoid of each point. Returns the number of passes over all candidates.

    This is FasterPAM: Schubert and Rousseeuw (2021), Fast and eager k-medoids clustering,
    algorithm 3. A candidate is swapped with its best medoid at once.
    """
    n, k = len(D), len(medoids)
    second = np.empty(n, np.int64)
    first_cost, second_cost = np.empty(n), np.empty(n)
    for o in range(n):
        _find_two(D, medoids, o, nearest, second, first_cost, second_cost)
    losses, changes = np.empty(k), np.empty(k)
    _removal_losses(weight, nearest, first_cost, second_cost, losses)
    total = 0.0
    for o in range(n):
        total += weight[o] * first_cost[o]
    passes, last, candidate = 0, n - 1, 0
    while passes < max_iter:
        is_medoid = False
        for i in range(k):
            is_medoid |= medoids[i] == candidate
        if not is_medoid:
            gain = 0.0
            changes[:] = losses
            for o in range(n):
                cost = D[candidate, o]
                if cost < first_cost[o]:
                    gain += weight[o] * (cost - first_cost[o])
                    changes[nearest[o]] += weight[o] * (first_cost[o] - second_cost[o])
                elif cost < second_cost[o]:
                    changes[nearest[o]] += weight[o] * (cost - second_cost[o])
            best = np.argmin(changes)
            if changes[best] + gain < -tol * total:
                total += changes[best] + gain
                medoids[best] = candidate
                for o in range(n):
                    if nearest[o] == best or second[o] == best:
                        _find_two(D, medoids, o, nearest, second, first_cost, second_cost)
                    else:
                        _compare(D[candidate, o], best, o, nearest, second, first_cost, second_cost)
                _removal_losses(weight, nearest, first_cost, second_cost, losses)
                last = candidate
                candidate = (candidate + 1) % n
                passes += candidate == 0
                continue
        if candidate == last:
            return passes + 1
        candidate = (candidate + 1) % n
        passes += candidate == 0
    return passes


@njit(nogil=True, cache=True)
def _find_two(D, medoids, o, nearest, second, first_cost, second_cost):
    """Find the two nearest medoids of a point."""
    first_cost[o] = second_cost[o] = np.inf
    nearest[o] = second[o] = -1
    for i in range(len(medoids)):
        _compare(D[medoids[i], o], i, o, nearest, second, first_cost, second_cost)


@njit(nogil=True, cache=True)
def _compare(cost, i, o, nearest, second, first_cost, second_cost):
    """Compare a medoid with the two nearest so far."""
    if cost < first_cost[o]:
        second[o], second_cost[o] = nearest[o], first_cost[o]
        nearest[o], first_cost[o] = i, cost
    elif cost < second_cost[o]:
        second[o], second_cost[o] = i, cost


@njit(nogil=True, cache=True)
def _removal_losses(weight, nearest, first_cost, second_cost, losses):
    """Fill the increase of the sum if a medoid is removed."""
    losses[:] = 0
    for o in range(len(nearest)):
        losses[nearest[o]] += weight[o] * (second_cost[o] - first_cost[o])
