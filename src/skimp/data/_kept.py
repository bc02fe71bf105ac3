"""Rows whose features were computed once and stay in memory."""

from typing import TypeAlias

import numpy as np

from skimp._core._blocks import Scratch
from skimp._core._linalg import dense
from skimp._core._types import Array
from skimp.data._array import ArrayRows
from skimp.data._block import Block
from skimp.data._rows import Rows

_Targets: TypeAlias = tuple[Array | None, Array | None]


def kept_bytes(rows: Rows) -> int:
    """Return what `keep_rows` would take: nothing for rows that are in memory already."""
    if isinstance(rows, ArrayRows):
        return 0
    return rows.n_rows * rows.n_features * rows.dtype.itemsize


def keep_rows(rows: Rows) -> Rows:
    """Return the same rows, in the same blocks, with features that were computed once for all."""
    if isinstance(rows, ArrayRows):
        return rows
    X = np.empty((rows.n_rows, rows.n_features), rows.dtype)

    def compute(block: Block, _: Scratch) -> _Targets:
        X[block.start : block.start + block.size] = dense(block.X, rows.dtype)
        return block.y, block.weight

    def append(parts: list[_Targets], part: _Targets) -> list[_Targets]:
        parts.append(part)
        return parts

    initial: list[_Targets] = []
    ys, weights = zip(*rows.map_reduce(compute, append, initial), strict=True)
    kept = ArrayRows(X, _joined(ys), _joined(weights), block_rows=rows.block_rows)
    return kept.copy_with(n_jobs=rows.n_jobs, report=rows.report)


def _joined(parts: tuple[Array | None, ...]) -> Array | None:
    arrays = [part for part in parts if part is not None]
    return np.concatenate(arrays) if arrays else None
