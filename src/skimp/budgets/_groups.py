"""Groups of rows: classes or clusters, and how many points each of them gets."""

import heapq

import numpy as np
from sklearn.utils.multiclass import type_of_target

from skimp._core._objects import as_real
from skimp._core._random import draw_seed
from skimp._core._types import Array
from skimp.budgets._clusters import cluster, vectors
from skimp.data import Context, Rows
from skimp.kernels import Kernel

_SAMPLE = 10_000
_NUMERIC_CLASSES = 30
_CLASSES = {"binary", "multiclass"}


def are_classes(y: Array, at_most: int, labelled: bool | None = None) -> bool:
    """Return whether y are labels, one a row, of at most so many classes.

    If nobody has said whether they are (``labelled`` is None), numbers are classes if they are
    whole and few.
    """
    if labelled is False:
        return False
    if labelled is None and y.dtype.kind in "iuf":
        at_most = min(at_most, _NUMERIC_CLASSES)
    try:
        return type_of_target(y[:_SAMPLE]) in _CLASSES and len(np.unique(y)) <= at_most
    except TypeError:
        return False


def class_codes(rows: Rows, context: Context, *, owner: str) -> Array:
    """Return the number of each row's class."""
    y = rows.targets(context)
    if y is None:
        raise ValueError(f"{owner}: y must be given, one label a row, to choose by class.")
    try:
        kind = type_of_target(y)
        codes: Array = np.unique(y.ravel(), return_inverse=True)[1]
    except TypeError:
        kind = "mixed"
    if kind not in _CLASSES:
        raise ValueError(f"{owner}: y must hold classes, one a row, found {kind} targets.")
    return codes


def cluster_codes(
    rows: Rows,
    n_clusters: int,
    kernel: Kernel,
    rng: np.random.Generator,
    context: Context,
    *,
    owner: str,
) -> Array:
    """Return the number of each row's cluster: that of the nearest centre of k-means."""
    n_clusters = min(n_clusters, rows.n_rows)
    sample = rows.sample(max(_SAMPLE, n_clusters), draw_seed(rng), context)
    X = vectors(sample.X, kernel, rows.dtype, owner=owner)
    centres, scaling = cluster(X, n_clusters, rng, sample.weight)
    codes = context.compute(
        rows, lambda block, _: scaling.nearest(as_real(block.X, rows.dtype), centres), (), np.int64
    )
    return np.unique(codes, return_inverse=True)[1]


def share_points(counts: Array, size: int, votes: Array | None = None) -> Array:
    """Return how many of ``size`` points each group gets, none more than it has rows.

    Shares are proportional to ``votes``, which are the numbers of rows by default, by the method
    of Webster. If there are enough points, every group that has rows gets one first.
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
