"""Costs of the solvers, given the cost of the feature map.

Constants marked "measured" come from fits to mnist, covtype, ijcnn1, a9a and appliances_energy.
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
from skimp.solvers._descent import SMALL, SUMMED, held_bytes
from skimp.solvers._preconditioner import CHUNK

_SKINNY = 0.25
"""Relative speed of matrix products with few columns (measured: 0.2 to 0.4)."""
_STREAMED = 0.6
"""Fraction of the memory bandwidth that products with one column reach (measured: 0.5 to 0.8)."""
_BALANCE = {4: 7.5, 8: 3.5}
"""Operations in the time of reading one byte, by the size of a number in bytes."""


def outline_of(mapped: MapCost, size: Size) -> Outline:
    """Return the outline of a problem with the features of a map."""
    block_rows = size.block_rows
    if not mapped.groups:
        block_rows = min(block_rows, block_rows_for(mapped.width, mapped.dtype))
    return Outline(
        n_rows=size.n_rows,
        width=mapped.width,
        dtype=mapped.dtype,
        row_bytes=int(row_bytes(mapped)),
        block_rows=block_rows,
        penalized=mapped.landmarks,
        coded=mapped.groups > 0,
        memory=size.memory,
        threads=size.threads,
    )


def row_bytes(mapped: MapCost) -> float:
    """Return the bytes of a row's features."""
    if mapped.groups:
        return float(mapped.groups * np.min_scalar_type(int(mapped.n_bins)).itemsize)
    return mapped.width * mapped.dtype.itemsize


def pass_work(mapped: MapCost, size: Size, share: float = 1.0, exact: bool = False) -> Work:
    """Return the work of a product with the features and one with their transpose.

    Only a fraction ``share`` of the predictions is needed. If ``exact``, kernel columns are
    converted to float64.
    """
    n, k = size.n_rows, size.n_outputs
    if mapped.groups:
        return gathers(n * mapped.groups * k, size.threads)
    converted = exact and mapped.landmarks and mapped.dtype != DOUBLE
    dtype = DOUBLE if converted else mapped.dtype
    read = n * row_bytes(mapped) * (3 if converted else 1) / _STREAMED
    # a product with one column is bound by memory
    operations = 0 if k == 1 else 4 * n * mapped.width * k * share / _SKINNY
    busy = operations > _BALANCE[dtype.itemsize] * read
    return (gemm(operations, dtype) if busy else stream(read)) + calls(n)


def count_iterations(usual: float, tol: float, usual_tol: float, max_iter: int) -> float:
    """Return the expected iterations at ``tol``, given ``usual`` iterations at ``usual_tol``.

    Assumes linear convergence.
    """
    return min(max_iter, log(min(tol, 0.5)) / log(usual_tol) * usual)


def descent_cost(
    mapped: MapCost, size: Size, loss: Loss, *, tol: float, usual_tol: float, max_iter: int
) -> Stage:
    """Return the cost of a descent; see `Solver.cost`.

    Measured: for the squared loss with random features, 3 steps with 4 to 17 products; for other
    losses, 4 to 11 steps of 7 to 13 products with landmarks, and 4 to 7 steps of 2 to 6 products
    with random features. The squared hinge loss had a nonzero curvature for 6 % of the predictions
    with ten outputs and for 11 to 63 % with one output.
    """
    outline = outline_of(mapped, size)
    n, k, D = size.n_rows, size.n_outputs, mapped.width
    itemsize, summed = mapped.dtype.itemsize, 8 if mapped.landmarks else mapped.dtype.itemsize
    sampled = min(n, outline.sample_size(k))
    keeping = n * row_bytes(mapped)
    kept = keeping + held_bytes(outline, k) <= size.memory
    # targets, losses, and predictions and curvature of two points
    held: float = ((3 * itemsize + 6 * summed) * k + 8) * (n if kept else sampled)
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
        held += (64 * k + 16) * D + sampled * outline.row_bytes
    else:
        matrix, more = _preconditioned(mapped, size, loss, sampled, steps, curved)
        held += more + sampled * D * itemsize
    blocks = size.threads * (outline.block_rows * row_bytes(mapped) + mapped.scratch)
    held += keeping if kept else blocks
    passes = steps + 1
    if n > max(SMALL, 2 * sampled):
        # the first descent, on the sample in memory, with a coarser tolerance
        passes += sampled / n * steps
        products *= 1 + 0.5 * sampled / n
        matrix *= 1.5
    work = passes * pass_work(mapped, size, exact=True) + products * pass_work(mapped, size, curved)
    if not (kept or isinstance(loss, Squared)):
        # predictions, from which curvatures follow
        work += products * 0.5 * pass_work(mapped, size, exact=True)
    if not outline.wide:
        # triangular solves, column by column
        work += products * factor(8 * D**2 * k)
    mappings = 1.0 if kept else passes + products
    work += mappings * mapped.mapping + stream(2 * keeping) + matrix
    return Stage("solve", work, mapped.held + held)


def _preconditioned(
    mapped: MapCost, size: Size, loss: Loss, sampled: int, steps: float, curved: float
) -> tuple[Work, float]:
    """Return the work and memory of the preconditioner."""
    n, k, t, D, dtype = size.n_rows, size.n_outputs, size.threads, mapped.width, mapped.dtype
    itemsize = dtype.itemsize
    # chosen rows, also scaled by the roots of their weights; two sums
    chunk = 2 * CHUNK * D * itemsize + 2 * itemsize * D**2
    if not mapped.landmarks:
        work = steps * (gemm(sampled * curved * D**2, dtype) + factor(D**3 / 3, dtype))
        return work, t * chunk + (8 + itemsize) * D**2
    work = factor(D**3 * 2 / 3) + 2 * factor(D**3 / 3, dtype)
    held = (16 + 2 * itemsize) * D**2
    if isinstance(loss, Squared) or k == 1:
        return work, held
    # a few sums over transformed rows for all outputs together; once per fit, a factor per output
    work += 3 * (gemm(3 * min(n, SUMMED * D) * D**2, dtype) + factor(D**3 / 3, dtype))
    work += k / min(k, t) * gemm(t * n * curved * D**2, dtype) + k * factor(2 * D**3)
    return work, held + k * itemsize * D**2 + min(k, t) * (chunk + 8 * D**2)


def steps_bytes(n_outputs: int, width: int) -> int:
    """Return the memory of stochastic steps in addition to rows, in bytes."""
    # V, U, the average and coefficients
    return 40 * n_outputs * width


def visit_bytes(n_outputs: int) -> int:
    """Return the memory of a row to visit in addition to its features, in bytes."""
    # targets, order and weights
    return 8 * (n_outputs + 4)


def steps_cost(
    mapped: MapCost, size: Size, loss: Loss, passes: float, *, average: bool, raw: bool = False
) -> Stage:
    """Return the cost of passes of stochastic steps; see `Solver.cost`."""
    n, k, D = size.n_rows, size.n_outputs, mapped.width
    row, outline = row_bytes(mapped), outline_of(mapped, size)
    held = float(steps_bytes(k, D))
    keeping, mapping = n * (row + visit_bytes(k)), mapped.mapping
    kept = keeping <= size.memory - held
    block = outline.block_rows * row + mapped.scratch
    if mapped.landmarks and not raw:
        mapping += gemm(2 * n * D**2, DOUBLE)
        block += outline.block_rows * D * (8 + mapped.dtype.itemsize)
        held += 24 * D**2
    held += size.threads * block
    # rows that do not fit are read into a buffer, with a copy
    held += keeping if kept else min(keeping, max(0.0, size.memory - mapped.held - held))
    threads = 1 if loss.joint else min(size.threads, k)
    products = 1.5 if average else 1.0
    if mapped.groups:
        step = gathers(products * n * mapped.groups * k, threads)
    else:
        step = Work(sweeps=products * n * D * k / threads)
    work = passes * (step + 0.5 * pass_work(mapped, size))
    # codes that do not fit are computed once, too
    once = kept or mapped.groups
    work += (1.0 if once else passes) * mapping + stream(2 * n * row)
    return Stage("solve", work, mapped.held + held)
