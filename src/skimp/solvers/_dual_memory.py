"""What dual coordinate descent holds in memory, and what in files."""

from typing import NamedTuple

import numpy as np

from skimp._params._memory import parse_bytes, require_memory
from skimp.data import Context, Rows, hold_rows, kept_bytes, kept_layout
from skimp.solvers._base import Problem
from skimp.solvers._compiled import as_layout
from skimp.solvers._features import n_outputs_of
from skimp.solvers._row_buffer import ActiveSample, RowBuffer, buffered_bytes
from skimp.solvers._slopes import Slopes, slope_bytes

_BLOCKS = 4
"""Blocks in memory at a time; not the number of threads, which must not change the result."""
_LEAST, _CHUNK = 16, 256
"""Least rows of a block, and most rows of one that is shuffled with others."""
_CHUNKS, _MOST = 16, 2**15
"""Least number of blocks that are shuffled together, and most rows of them."""
_SHARE = 4
"""Dual variables of rows that do not fit are in memory if they take this part of it."""


class DualMemory(NamedTuple):
    """What is in memory.

    Attributes
    ----------
    rows : Rows
        The rows, with features in memory if they fit.
    in_memory : bool
        Whether they fit.
    slopes : Slopes
        The dual variables.
    buffer : RowBuffer or None
        Rows to shuffle together, from chunks that are read in random order.
    sample : ActiveSample or None
        Active rows for additional steps.
    note : str
        What does not fit, for the message of a solution.
    """

    rows: Rows
    in_memory: bool
    slopes: Slopes
    buffer: RowBuffer | None
    sample: ActiveSample | None
    note: str

    @property
    def chunks(self) -> Rows:
        """The rows in the chunks that sweeps read."""
        return self.rows.reblocked(self.rows.n_rows) if self.in_memory else self.rows


def hold_dual(rows: Rows, problem: Problem, context: Context) -> DualMemory:
    """Decide what to hold in memory, within the memory limit, and compute features to keep."""
    n, k, width = rows.n_rows, n_outputs_of(rows), rows.n_features
    numbers, dtype = kept_layout(rows)
    row = numbers * dtype.itemsize
    first = next(rows.reblocked(2).blocks()).X
    if isinstance(first, np.ndarray) and as_layout(first, rows.dtype) is not first:
        # convert the features once if they fit, not in every sweep; this also orders file reads
        rows = rows.converted()
    limit, needed = parse_bytes(problem.memory_limit), needed_bytes(n, k, width)
    least = streaming_bytes(min(n, _LEAST), row, k, width)
    require_memory(
        min(least, needed + kept_bytes(rows)),
        limit,
        f"dual coordinate descent on {width} features with {k} outputs",
        "use fewer features",
    )
    held = hold_rows(rows, limit - needed, context)
    if held.in_memory:
        return DualMemory(held.rows, True, Slopes(n, k, in_memory=True), None, None, "")
    return _stream(held.rows, k, limit, held.note)


def _stream(rows: Rows, k: int, limit: int, note: str) -> DualMemory:
    """Divide the memory among blocks, dual variables, a buffer and a sample."""
    n, width = rows.n_rows, rows.n_features
    numbers, dtype = kept_layout(rows)
    row = numbers * dtype.itemsize
    each, together = buffered_bytes(row, k), 0
    room = max(0, limit - streaming_bytes(0, row, k, width))
    block_rows = streamed_rows(rows.block_rows, row, k, room)
    if rows.seekable and rows.entries is None:
        together = min(n, _MOST, int(room // (2 * each)))
        block_rows = int(np.clip(together // _CHUNKS, _LEAST, min(_CHUNK, block_rows)))
    together = together if together > block_rows else 0
    room -= streaming_bytes(block_rows, row, k, 0)
    fit = slope_bytes(n, k) <= room // _SHARE
    room -= int(together * each) + (slope_bytes(n, k) if fit else 0)
    rows = rows.reblocked(block_rows)
    sampled = min(n, int(max(0, room) // each)) if rows.entries is None else 0
    return DualMemory(
        rows,
        False,
        Slopes(n, k, in_memory=fit),
        RowBuffer(rows, k, together) if together else None,
        ActiveSample(RowBuffer(rows, k, sampled)) if sampled else None,
        note if fit else f"{note}, dual variables in a temporary file",
    )


def needed_bytes(n: int, k: int, width: int) -> int:
    """Return the memory of sweeps over rows in memory, in addition to these, in bytes."""
    # targets, slopes and flags; weights, norms and two orders; three copies of the coefficients
    return 17 * n * k + 32 * n + 24 * k * width


def streamed_rows(block_rows: int, row: float, k: int, room: float) -> int:
    """Return the rows of a block, of which several take at most half of the room."""
    return int(np.clip(room // (2 * streaming_bytes(1, row, k, 0)), _LEAST, block_rows))


def streaming_bytes(block_rows: int, row: float, k: int, width: int) -> int:
    """Return the memory of sweeps over blocks, without a sample and dual variables, in bytes."""
    # features, targets, slopes, predictions, losses and flags; weights, norms and orders
    return int(_BLOCKS * block_rows * (row + 41 * k + 32)) + 24 * k * width
