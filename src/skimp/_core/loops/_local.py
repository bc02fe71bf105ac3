"""Coordinates of rows with respect to anchors, and the features of locally linear models."""

import numpy as np
from numba import njit

from skimp._core.loops._math import FAST


@njit(nogil=True, cache=True, fastmath=FAST)
def nearest_anchors(squares, numbers, weights):
    """Fill the anchors nearest to each row, by number, and their coordinates.

    ``squares`` are the squared distances to all m anchors. With k columns of ``numbers`` and
    ``weights``, coordinates are proportional to ``1 / d - 1 / d_(k+1)``, or to ``1 / d`` if k = m.
    Ties go to the anchor with the smaller number.
    """
    n, m = squares.shape
    k = numbers.shape[1]
    kept = min(k + 1, m)
    found = np.empty(kept, np.int64)
    for i in range(n):
        row = squares[i]
        count = 0
        for a in range(m):
            if count == kept and row[a] >= row[found[kept - 1]]:
                continue
            place = count if count < kept else kept - 1
            while place > 0 and row[found[place - 1]] > row[a]:
                found[place] = found[place - 1]
                place -= 1
            found[place] = a
            count = min(count + 1, kept)
        _fill_weights(row, found, k, weights[i])
        # in the order of their numbers, so that columns of features are sorted
        for j in range(k):
            a, weight, place = found[j], weights[i, j], j
            while place > 0 and numbers[i, place - 1] > a:
                numbers[i, place] = numbers[i, place - 1]
                weights[i, place] = weights[i, place - 1]
                place -= 1
            numbers[i, place], weights[i, place] = a, weight


@njit(nogil=True, cache=True, fastmath=FAST)
def _fill_weights(squares, found, k, weights):
    nearest = np.sqrt(np.float64(squares[found[0]]))
    if nearest == 0:
        weights[:] = 0
        weights[0] = 1
        return
    beyond = 0.0
    if len(found) > k:
        beyond = nearest / np.sqrt(np.float64(squares[found[k]]))
    total = 0.0
    for j in range(k):
        total += nearest / np.sqrt(np.float64(squares[found[j]])) - beyond
    for j in range(k):
        if total > 0:
            share = nearest / np.sqrt(np.float64(squares[found[j]])) - beyond
            weights[j] = share / total
        else:
            # all of them are at the same distance as the next anchor
            weights[j] = 1 / k


@njit(nogil=True, cache=True)
def count_products(starts, weights, ends):
    """Fill where the features of each CSR row end; see `fill_products`."""
    total = 0
    for i in range(len(weights)):
        used = 0
        for j in range(weights.shape[1]):
            used += weights[i, j] != 0
        total += used + (used + 1) * (starts[i + 1] - starts[i])
        ends[i] = total


@njit(nogil=True, cache=True)
def fill_products(data, columns, starts, n_anchors, width, numbers, weights, scale, out, places):
    """Fill the entries and columns of ``weights x (scale * x, 1)`` and ``scale * x`` for CSR rows.

    Anchor a has the columns from ``a * (width + 1)``; its last one is the constant. The row itself
    follows after the anchors.
    """
    e = 0
    for i in range(len(weights)):
        for j in range(weights.shape[1]):
            weight = weights[i, j]
            if weight == 0:
                continue
            first = numbers[i, j] * (width + 1)
            factor = weight * scale
            for entry in range(starts[i], starts[i + 1]):
                out[e] = factor * data[entry]
                places[e] = first + columns[entry]
                e += 1
            out[e], places[e] = weight, first + width
            e += 1
        first = n_anchors * (width + 1)
        for entry in range(starts[i], starts[i + 1]):
            out[e] = scale * data[entry]
            places[e] = first + columns[entry]
            e += 1
