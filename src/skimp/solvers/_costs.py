"""What solvers share to count their work, once there is a feature map.

Constants with a comment "seen" are what fits to mnist, covtype, ijcnn1, a9a and
appliances_energy took.
"""

from math import log

import numpy as np

from skimp._core._blocks import block_rows_for
from skimp._core._work import DOUBLE, MapCost, Size, Work, calls, gathers, gemm, stream
from skimp.solvers._base import Outline

_SKINNY = 0.25
"""Share of the speed of matrix products that those with few columns reach (seen: 0.2 to 0.4)."""
_STREAMED = 0.6
"""Share of the speed of memory that products with one column reach (seen: 0.5 to 0.8)."""
_BALANCE = {4: 7.5, 8: 3.5}
"""Operations, by the bytes of a number, in the time in which a byte is read."""


def outline_of(mapped: MapCost, size: Size) -> Outline:
    """Return the outline of a problem in the features of a map."""
    block_rows = size.block_rows
    if not mapped.groups:
        block_rows = min(block_rows, block_rows_for(mapped.width, mapped.dtype))
    return Outline(
        n_rows=size.n_rows,
        width=mapped.width,
        dtype=mapped.dtype,
        block_rows=block_rows,
        penalized=mapped.landmarks,
        coded=mapped.groups > 0,
        memory=size.memory,
        threads=size.threads,
    )


def row_bytes(mapped: MapCost) -> float:
    """Return the size of a row's features in memory."""
    if mapped.groups:
        return float(mapped.groups * np.min_scalar_type(int(mapped.n_bins)).itemsize)
    return mapped.width * mapped.dtype.itemsize


def pass_work(mapped: MapCost, size: Size, share: float = 1.0, exact: bool = False) -> Work:
    """Return the work of a product with all features and one with their transpose.

    A ``share`` of the predictions takes part. Landmarks are converted to float64 in ``exact`` ones.
    """
    n, k = size.n_rows, size.n_outputs
    if mapped.groups:
        return gathers(n * mapped.groups * k, size.threads)
    converted = exact and mapped.landmarks and mapped.dtype != DOUBLE
    dtype = DOUBLE if converted else mapped.dtype
    read = n * row_bytes(mapped) * (3 if converted else 1) / _STREAMED
    # one column waits for memory
    operations = 0 if k == 1 else 4 * n * mapped.width * k * share / _SKINNY
    busy = operations > _BALANCE[dtype.itemsize] * read
    return (gemm(operations, dtype) if busy else stream(read)) + calls(n)


def count_iterations(usual: float, tol: float, usual_tol: float, max_iter: int) -> float:
    """Return iterations for a tolerance, if they are ``usual`` for ``usual_tol``.

    Errors fall by a factor in each iteration.
    """
    return min(max_iter, log(min(tol, 0.5)) / log(usual_tol) * usual)
