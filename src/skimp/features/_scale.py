"""Scale of the features."""

from collections.abc import Callable
from operator import add
from typing import Any

import numpy as np

from skimp._core._blocks import Scratch
from skimp._core._linalg import squared_norms
from skimp._core._types import Array, Matrix
from skimp.data import LOCAL, Block, Context, Rows
from skimp.features._base import FeatureMap
from skimp.kernels import Precomputed


def mean_diagonal(fitted: Any, rows: Rows, context: Context = LOCAL) -> float:
    """Return the weighted mean of k(x, x), or of the features' squared norm without a kernel."""
    kernel = fitted.kernel_
    if isinstance(kernel, Precomputed):
        return 1.0  # its diagonal may not cover all rows
    if kernel is None:
        return _mean(squared_norms, rows.mapped(fitted), context)
    return _mean(lambda X: kernel.diag(X, n_jobs=1), rows, context)


def mean_length(fitted: FeatureMap, rows: Rows, context: Context) -> float:
    """Return the weighted mean squared length of the vectors that features represent.

    These are k(x, x) for projections of the kernel's feature space. Other features represent
    themselves: their inner products are only close to the kernel.
    """
    if fitted.projects and fitted.kernel_.has_diagonal:
        kernel = fitted.kernel_
        return _mean(lambda X: kernel.diag(X, n_jobs=1), rows, context)
    return _mean(squared_norms, rows.mapped(fitted), context)


def _mean(lengths: Callable[[Matrix], Array], rows: Rows, context: Context) -> float:
    def sum_block(block: Block, _: Scratch) -> Array:
        weight = block.weights()
        return np.array([weight @ lengths(block.X), weight.sum()])

    total, weight = context.map_reduce(rows, sum_block, add, np.zeros(2))
    return float(total / weight) or 1.0
