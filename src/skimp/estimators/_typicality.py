"""Which rows are far from those that a model was fitted to."""

import numpy as np

from skimp._core._objects import as_real
from skimp._core._types import Array, Matrix
from skimp._core._work import DOUBLE
from skimp.data import ArrayRows, Block, Context, Rows
from skimp.estimators._fitted import Fitted
from skimp.kernels import Linear

_ROUNDING = 1e-12


def typicality(fitted: Fitted, rows: Rows, context: Context) -> Array:
    r"""Return the share of sampled rows that are as far from their nearest neighbour as a row is.

    Neighbours are other rows of the sample, and distances those of the kernel,
    :math:`k(x, x) - 2 k(x, y) + k(y, y)`; those of the features for a map without a kernel.
    """
    points: Rows = ArrayRows(fitted.sample.X)
    kernel = fitted.kernel
    if kernel is None:
        kernel = Linear()
        rows, points = rows.mapped(fitted.feature_map), points.mapped(fitted.feature_map)
    S = as_real(points.collect().X, DOUBLE)
    norms = kernel.diag(S)

    def distances(X: Matrix) -> Array:
        X = as_real(X, DOUBLE)
        sums = kernel.diag(X)[:, None] + norms
        found: Array = sums - 2 * kernel(X, S, n_jobs=1)
        # equal rows are at a distance of zero, but for rounding
        return np.where(found > _ROUNDING * sums, found, 0.0)

    own = distances(S)
    np.fill_diagonal(own, np.inf)
    nearest = np.sort(own.min(axis=1))

    def nearer(block: Block, _: object) -> Array:
        found: Array = np.searchsorted(nearest, distances(block.X).min(axis=1), side="left")
        return found

    counts = len(nearest) - context.compute(rows, nearer, (), np.float64)
    shared: Array = (1 + counts) / (1 + len(nearest))
    return shared
