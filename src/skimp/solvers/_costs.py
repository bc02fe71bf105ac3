"""The work of solvers, once there is a feature map.

Constants with a comment "seen" are what fits to mnist, covtype, ijcnn1, a9a and
appliances_energy took.
"""

from math import log

import numpy as np

from skimp._core._blocks import block_rows_for
from skimp._core._work import (
    DOUBLE,
    MapCost,
    Size,
    Stage,
    Work,
    calls,
    factor,
    gathers,
    gemm,
    stream,
)
from skimp.losses import Loss, Squared, SquaredHinge
from skimp.solvers._base import Outline
from skimp.solvers._descent import SMALL, SUMMED, least_bytes
from skimp.solvers._preconditioner import CHUNK

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


def descent_cost(
    mapped: MapCost, size: Size, loss: Loss, *, tol: float, usual_tol: float, max_iter: int
) -> Stage:
    """Return the stage of a descent; see `Solver.cost`.

    Seen: 3 steps and 4 to 17 products for the squared loss in random features; for others in
    landmarks 4 to 11 steps with 7 to 13 products each, 4 to 7 with 2 to 6 in features. Of the
    squared hinge loss 6 % of ten outputs and 11 to 63 % of one were curved.
    """
    outline = outline_of(mapped, size)
    n, k, D = size.n_rows, size.n_outputs, mapped.width
    itemsize, summed = mapped.dtype.itemsize, 8 if mapped.landmarks else mapped.dtype.itemsize
    sampled = min(n, outline.sample_size)
    # targets, predictions, curvature, those of another point, and losses
    held: float = (3 * itemsize + 6 * summed) * n * k + 8 * n
    usual, inner = (5, 9) if k == 1 else (8, 12)
    if isinstance(loss, Squared):
        usual, inner = 3, 7
    if not mapped.landmarks:
        inner = 2 if isinstance(loss, Squared) else 3
    curved = 0.4 / k if isinstance(loss, SquaredHinge) else 1.0
    steps = count_iterations(usual, tol, usual_tol, max_iter)
    products = steps * inner
    matrix = Work()
    if outline.wide:
        held += (64 * k + 16) * D
    else:
        matrix, more = _preconditioned(mapped, size, loss, sampled, steps, curved)
        held += more + sampled * D * itemsize
    keeping = n * row_bytes(mapped)
    kept = keeping + least_bytes(outline, k) <= size.memory
    blocks = size.threads * (outline.block_rows * row_bytes(mapped) + mapped.scratch)
    held += keeping if kept else blocks
    passes = steps + 1
    if n > max(SMALL, 2 * sampled):
        # the same steps on the sample first, which is in memory, and rougher
        passes += sampled / n * steps
        products *= 1 + 0.5 * sampled / n
        matrix *= 1.5
    work = passes * pass_work(mapped, size, exact=True) + products * pass_work(mapped, size, curved)
    if not outline.wide:
        # triangular solves with one column after the other
        work += products * factor(8 * D**2 * k)
    mappings = 1.0 if kept else 1 + passes + products
    work += mappings * mapped.mapping + stream(2 * keeping) + matrix
    return Stage("solve", work, mapped.held + held)


def _preconditioned(
    mapped: MapCost, size: Size, loss: Loss, sampled: int, steps: float, curved: float
) -> tuple[Work, float]:
    """Return the work and the bytes of the preconditioner."""
    n, k, t, D, dtype = size.n_rows, size.n_outputs, size.threads, mapped.width, mapped.dtype
    itemsize = dtype.itemsize
    # rows that are chosen, and times roots of their weights; a sum and the one before
    chunk = 2 * CHUNK * D * itemsize + 2 * itemsize * D**2
    if not mapped.landmarks:
        work = steps * (gemm(sampled * curved * D**2, dtype) + factor(D**3 / 3, dtype))
        return work, t * chunk + (8 + itemsize) * D**2
    work = factor(D**3 * 2 / 3) + 2 * factor(D**3 / 3, dtype)
    held = (16 + 2 * itemsize) * D**2
    if isinstance(loss, Squared) or k == 1:
        return work, held
    # some sums over rows, in other coordinates, for all outputs; and once in a fit, each of several
    # gets a factor of its own
    work += 3 * (gemm(3 * min(n, SUMMED * D) * D**2, dtype) + factor(D**3 / 3, dtype))
    work += k / min(k, t) * gemm(t * n * curved * D**2, dtype) + k * factor(2 * D**3)
    return work, held + k * itemsize * D**2 + min(k, t) * (chunk + 8 * D**2)
