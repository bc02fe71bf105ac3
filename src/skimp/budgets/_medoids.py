"""Medoids of groups of rows: the member that is nearest to the group's mean in feature space."""

import numpy as np

from skimp._core._blocks import fold
from skimp._core._types import Array, DType, Matrix
from skimp.data import LOCAL, Context
from skimp.kernels import Kernel

_TOGETHER = 256
"""Rows whose kernel matrix is computed at once, for the groups that they make up."""


def find_medoids(
    X: Matrix, groups: Array, kernel: Kernel, dtype: DType, context: Context = LOCAL
) -> Array:
    r"""Return the row number of the medoid of each group; group numbers rise with the rows.

    The least :math:`\sum_j d^2(x, x_j)` over the members, which is the least
    :math:`k(x, x) - 2 \, \overline{k(x, x_j)}`.
    """
    sizes = np.bincount(groups)
    ends = np.cumsum(sizes)

    def of_batch(batch: tuple[int, int], _: object) -> Array:
        first, last = batch
        start = int(ends[first] - sizes[first])
        rows = slice(start, int(ends[last - 1]))
        members, group = X[rows], groups[rows]
        K = np.empty((len(group), len(group)), dtype)
        kernel.bind(members, dtype).fill(members, K)
        K[group[:, None] != group] = 0
        scores = K.diagonal() - 2 * K.sum(axis=1, dtype=np.float64) / sizes[group]
        order = np.lexsort((np.arange(len(group)), scores, group))
        return start + order[np.searchsorted(group[order], np.arange(first, last))]

    found: list[Array] = []
    fold(_batches(ends), of_batch, lambda _, part: found.append(part), None, context.threads)
    return np.concatenate(found)


def _batches(ends: Array) -> list[tuple[int, int]]:
    """Cut the groups into runs of about `_TOGETHER` rows, at least one group each."""
    batches, first = [], 0
    while first < len(ends):
        start = ends[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(ends, start + _TOGETHER, side="right")))
        batches.append((first, last))
        first = last
    return batches
