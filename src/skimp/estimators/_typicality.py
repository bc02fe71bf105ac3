"""Which rows are far from those that a model was fitted to."""

from typing import Any

import numpy as np

from skimp._core._objects import as_real
from skimp._core._types import Array, Matrix
from skimp.data import ArrayRows, Rows
from skimp.kernels import Kernel, Linear

_DOUBLE = np.dtype(np.float64)
_ROUNDING = 1e-12


def typicality(rows: Rows, sample: Matrix, kernel: Kernel | None, feature_map: Any) -> Array:
    r"""Return the share of sampled rows that are as far from their nearest neighbour as a row is.

    Neighbours are other rows of the sample, and distances those of the kernel,
    :math:`k(x, x) - 2 k(x, y) + k(y, y)`; those of the features for a map without a kernel.
    """
    points: Rows = ArrayRows(sample)
    if kernel is None:
        kernel, rows, points = Linear(), rows.mapped(feature_map), points.mapped(feature_map)
    S = as_real(points.collect().X, _DOUBLE)
    norms = kernel.diag(S)

    def distances(X: Matrix) -> Array:
        X = as_real(X, _DOUBLE)
        sums = kernel.diag(X)[:, None] + norms
        found: Array = sums - 2 * kernel(X, S, n_jobs=1)
        # equal rows are at a distance of zero, but for rounding
        return np.where(found > _ROUNDING * sums, found, 0.0)

    own = distances(S)
    np.fill_diagonal(own, np.inf)
    nearest = np.sort(own.min(axis=1))

    def shares(block: Any, _: object) -> Array:
        found = distances(block.X).min(axis=1)
        nearer: Array = np.searchsorted(nearest, found, side="left")
        return len(nearest) - nearer

    counts = rows.computed(shares, (), np.float64)
    shared: Array = (1 + counts) / (1 + len(nearest))
    return shared
