"""Groups of rows: class labels, points per group, and medoids."""

import heapq
from collections import Counter
from operator import iadd
from typing import Any, TypeGuard

import numpy as np
from sklearn.utils.multiclass import type_of_target

from skimp._core._blocks import Scratch, fold
from skimp._core._types import Array, DType, Matrix
from skimp.data import LOCAL, Block, Context, Rows
from skimp.kernels import Kernel

_SAMPLE = 10_000
_NUMERIC_CLASSES = 30
_CLASSES = {"binary", "multiclass"}
_BATCH_ROWS = 256
"""Number of rows per kernel matrix: small groups are batched."""


def are_classes(y: Array | None, at_most: int, labelled: bool | None = None) -> TypeGuard[Array]:
    """Return whether y holds one class label per row, with at most ``at_most`` classes.

    ``labelled`` is what the source of the rows states. If it is None, numeric y are class labels
    if they are whole numbers with at most 30 different values.
    """
    if y is None or labelled is False:
        return False
    if labelled is None and y.dtype.kind in "iuf":
        at_most = min(at_most, _NUMERIC_CLASSES)
    try:
        return type_of_target(y[:_SAMPLE]) in _CLASSES and len(np.unique(y)) <= at_most
    except TypeError:
        return False


def count_classes(rows: Rows, context: Context, *, owner: str) -> tuple[Array, Array]:
    """Return the labels in y, sorted, and their numbers of rows; raise if y has other targets."""

    def of_block(block: Block, _: Scratch) -> Counter[Any]:
        if block.y is None:
            raise ValueError(f"{owner}: y must hold one class label per row, found None.")
        y = block.y.ravel() if block.y.shape[1:] == (1,) else block.y
        try:
            labels, counts = np.unique(y, return_counts=True)
            # repeat each label: scikit-learn warns if labels are nearly unique
            kind = type_of_target(np.repeat(labels, 3) if y.ndim == 1 else y)
        except TypeError:
            kind = "mixed"
        if kind not in _CLASSES:
            raise ValueError(f"{owner}: y must hold one class label per row, found {kind} targets.")
        return Counter(dict(zip(labels, counts, strict=True)))

    none: Counter[Any] = Counter()
    totals = context.map_reduce(rows, of_block, iadd, none)
    labels = sorted(totals)
    return np.array(labels), np.array([totals[label] for label in labels])


def class_codes(rows: Rows, context: Context, *, owner: str) -> Array:
    """Return the class number of each row; raise if y does not hold class labels."""
    labels, _ = count_classes(rows, context, owner=owner)
    return context.compute(
        rows, lambda block, _: np.searchsorted(labels, np.ravel(np.asarray(block.y))), (), np.int64
    )


def share_points(counts: Array, size: int, votes: Array | None = None) -> Array:
    """Return how many of ``size`` points each group gets, at most its number of rows.

    The points are proportional to ``votes`` (by default to ``counts``), rounded by Webster's
    method. If there are enough points, every nonempty group gets at least one.
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


def find_medoids(
    X: Matrix, groups: Array, kernel: Kernel, dtype: DType, context: Context = LOCAL
) -> Array:
    r"""Return, for each group, the row nearest to the group's mean in feature space.

    ``groups`` must be sorted. The medoid minimizes :math:`\sum_j d^2(x, x_j)` over the rows x_j
    of the group, or equivalently k(x, x) minus twice the mean of k(x, x_j).
    """
    sizes = np.bincount(groups)
    ends = np.cumsum(sizes)
    batches, found = [], list[Array]()
    first = start = 0
    while first < len(ends):
        last = max(first + 1, int(np.searchsorted(ends, start + _BATCH_ROWS, side="right")))
        batches.append((first, last, start))
        first, start = last, int(ends[last - 1])

    def of_batch(batch: tuple[int, int, int], _: object) -> Array:
        first, last, start = batch
        rows = slice(start, int(ends[last - 1]))
        members, group = X[rows], groups[rows]
        K = np.empty((len(group), len(group)), dtype)
        kernel.bind(members, dtype).fill(members, K)
        K[group[:, None] != group] = 0
        scores = K.diagonal() - 2 * K.sum(axis=1, dtype=np.float64) / sizes[group]
        order = np.lexsort((np.arange(len(group)), scores, group))
        return start + order[np.searchsorted(group[order], np.arange(first, last))]

    fold(batches, of_batch, lambda _, part: found.append(part), None, context.threads)
    return np.concatenate(found)
