"""Scale of the features."""

from operator import add
from typing import Any

import numpy as np

from skimp._core._blocks import Scratch
from skimp._core._linalg import squared_norms
from skimp._core._types import Array
from skimp.data import LOCAL, Block, Context, Rows
from skimp.kernels import Precomputed


def mean_diagonal(fitted: Any, rows: Rows, context: Context = LOCAL) -> float:
    """Return the weighted mean of k(x, x), or of the features' squared norm without a kernel."""
    kernel = fitted.kernel_
    if isinstance(kernel, Precomputed):
        return 1.0  # its diagonal may not cover all rows

    def sum_block(block: Block, _: Scratch) -> Array:
        norms = squared_norms(block.X) if kernel is None else kernel.diag(block.X, n_jobs=1)
        weight = block.weights()
        return np.array([weight @ norms, weight.sum()])

    measured = rows.mapped(fitted) if kernel is None else rows
    total, weight = context.map_reduce(measured, sum_block, add, np.zeros(2))
    return float(total / weight) or 1.0
