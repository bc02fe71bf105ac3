"""Swaps of medoids with other points, on a matrix of dissimilarities."""

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def swap_medoids(D, weight, medoids, max_iter, tol):
    """Swap medoids with other points until no swap decreases the weighted sum of dissimilarities.

    The dissimilarity of points o and p is ``D[p, o]``. A decrease counts if it exceeds ``tol``
    times the sum for a single medoid, the first point. Changes ``medoids``. Returns the number of
    passes over all candidates, and whether no swap is left.

    This is FasterPAM: Schubert and Rousseeuw (2021), Fast and eager k-medoids clustering: O(k)
    runtime improvement of the PAM, CLARA, and CLARANS algorithms. A candidate is swapped with its
    best medoid at once.
    """
    n, k = len(D), len(medoids)
    nearest, second = np.empty(n, np.int64), np.empty(n, np.int64)
    first_cost, second_cost = np.empty(n), np.empty(n)
    for o in range(n):
        _find_two(D, medoids, o, nearest, second, first_cost, second_cost)
    losses, changes = np.empty(k), np.empty(k)
    _removal_losses(weight, nearest, first_cost, second_cost, losses)
    limit = 0.0
    for o in range(n):
        limit += tol * weight[o] * D[0, o]
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
            if changes[best] + gain < -limit:
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
            return passes + 1, True
        candidate = (candidate + 1) % n
        passes += candidate == 0
    return passes, False


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
