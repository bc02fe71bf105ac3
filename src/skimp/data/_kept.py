"""Features that are computed once and kept in memory."""

from typing import TypeAlias

import numpy as np

from skimp._core._blocks import Scratch
from skimp._core._linalg import dense
from skimp._core._types import Array, DType
from skimp.data._array import ArrayRows
from skimp.data._block import Block, join
from skimp.data._codes import Codes
from skimp.data._context import LOCAL, Context
from skimp.data._rows import Rows

_Targets: TypeAlias = tuple[Array | None, Array | None]


def kept_bytes(rows: Rows) -> int:
    """Return the bytes that `keep_rows` would allocate: 0 if the rows are stored in memory."""
    if rows.stored:
        return 0
    width, dtype = kept_layout(rows)
    return rows.n_rows * width * dtype.itemsize


def keep_rows(rows: Rows, context: Context = LOCAL) -> Rows:
    """Return the same rows in the same blocks, with their features computed and in memory."""
    if isinstance(rows, ArrayRows):
        return rows
    if rows.stored:
        whole = next(rows.reblocked(max(1, rows.n_rows)).blocks())
        return ArrayRows(whole.X, whole.y, whole.weight, block_rows=rows.block_rows)
    if rows.entries is not None:
        return _keep_sparse(rows, context)
    width, dtype = kept_layout(rows)
    X = np.empty((rows.n_rows, width), dtype)

    def compute(block: Block, _: Scratch) -> _Targets:
        features = block.X.codes if isinstance(block.X, Codes) else dense(block.X, dtype)
        X[block.start : block.start + block.size] = features
        return block.y, block.weight

    def append(parts: list[_Targets], part: _Targets) -> list[_Targets]:
        parts.append(part)
        return parts

    initial: list[_Targets] = []
    parts = context.map_reduce(rows, compute, append, initial)
    ys, weights = zip(*parts, strict=True)
    features = X if rows.coded is None else rows.coded.trusted(X)
    return ArrayRows(features, _joined(ys), _joined(weights), block_rows=rows.block_rows)


def _keep_sparse(rows: Rows, context: Context) -> Rows:
    """Return the same rows as one CSR matrix."""
    initial: list[Block] = []
    blocks = context.map_reduce(rows, lambda block, _: block, lambda a, b: [*a, b], initial)
    whole = join(blocks)
    return ArrayRows(whole.X, whole.y, whole.weight, block_rows=rows.block_rows)


def kept_layout(rows: Rows) -> tuple[int, DType]:
    """Return how many numbers `keep_rows` stores per row, and their dtype."""
    if rows.coded is not None:
        return rows.coded.codes.shape[1], rows.coded.codes.dtype
    if rows.entries is None:
        return rows.n_features, rows.dtype
    # numbers with their columns, and both again while the blocks are joined
    size = rows.dtype.itemsize
    return 1 + int(2 * rows.entries * (size + 4) / size), rows.dtype


def _joined(parts: tuple[Array | None, ...]) -> Array | None:
    arrays = [part for part in parts if part is not None]
    return np.concatenate(arrays) if arrays else None
