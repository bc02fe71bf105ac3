"""How many points each group of rows gets."""

import heapq

import numpy as np

from skimp._core._types import Array


def shares(counts: Array, size: int, votes: Array | None = None) -> Array:
    """Return how many of ``size`` points each group gets, none more than it has rows.

    Shares are proportional to ``votes``, which are the numbers of rows by default, by the method
    of Webster; every group that has rows gets one first, where there are enough points.

    Parameters
    ----------
    counts : array of int
        Rows of each group; their sum is at least ``size``.
    size : int
        Points to share out.
    votes : array, optional
        What the shares are proportional to.
    """
    counts = np.asarray(counts)
    votes = counts if votes is None else votes
    given = np.zeros(len(counts), np.int64)
    if np.count_nonzero(counts) <= size:
        given[counts > 0] = 1
    queue = [(-votes[g] / (given[g] + 0.5), g) for g in np.flatnonzero(counts > given)]
    heapq.heapify(queue)
    for _ in range(size - int(given.sum())):
        _, g = heapq.heappop(queue)
        given[g] += 1
        if given[g] < counts[g]:
            heapq.heappush(queue, (-votes[g] / (given[g] + 0.5), g))
    return given
