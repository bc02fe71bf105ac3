"""Codes that are computed once and kept in a temporary file."""

import copy
from collections.abc import Iterator
from typing import Any, Self, cast, final

import numpy as np

from skimp._core._blocks import Scratch
from skimp._core._types import Array
from skimp.data._block import Block
from skimp.data._codes import Codes
from skimp.data._context import LOCAL, Context
from skimp.data._file_array import FileArray, require_disk
from skimp.data._rows import Rows


@final
class SpilledRows(Rows):
    """Rows of `Codes` with their targets and weights, in temporary files.

    The blocks are those of the rows they were computed from. See `FileArray` for the files.

    Parameters
    ----------
    rows : Rows
        Coded rows.
    context : Context
        Number of threads and progress reports of the pass that computes the codes.
    """

    def __init__(self, rows: Rows, context: Context = LOCAL):
        assert rows.coded is not None, "only codes are small and expensive to compute"
        self.describe(rows)
        self.checked, self._n_rows = True, rows.n_rows
        codes = rows.coded.codes
        first = next(rows.reblocked(1).blocks())
        require_disk(spilled_bytes(rows, first))
        self._codes = FileArray((rows.n_rows, codes.shape[1]), codes.dtype)
        self._y, self._weight = (self._file_for(part) for part in (first.y, first.weight))
        count = context.map_reduce(rows, self._write, lambda a, b: a + b, 0)
        if count != rows.n_rows:
            raise ValueError(
                f"rows must not change while they are read, found {count} rows after {rows.n_rows}."
            )

    def _file_for(self, first: Array | None) -> FileArray | None:
        return None if first is None else FileArray((self.n_rows, *first.shape[1:]), first.dtype)

    def _write(self, block: Block, _: Scratch) -> int:
        part = slice(block.start, block.start + block.size)
        self._codes[part] = cast(Codes, block.X).codes
        for file, values in ((self._y, block.y), (self._weight, block.weight)):
            if file is not None:
                file[part] = values
        return block.size

    @property
    def seekable(self) -> bool:
        return True

    def shuffled(self, seed: list[int]) -> Self:
        other = copy.copy(self)
        other._order = seed
        return other

    def read(self, block_rows: int) -> Iterator[Block]:
        assert self.coded is not None
        for start in self.starts(block_rows):
            part = slice(start, start + block_rows)
            X = self.coded.trusted(self._codes[part])
            y, weight = (None if file is None else file[part] for file in (self._y, self._weight))
            yield Block(X, y, weight, start)


def spilled_bytes(rows: Rows, first: Block) -> int:
    """Return the size of the files of `SpilledRows`, given a block of one row."""
    assert rows.coded is not None
    arrays: list[Any] = [rows.coded.codes[:0], first.y, first.weight]
    sizes = [a.dtype.itemsize * int(np.prod(a.shape[1:])) for a in arrays if a is not None]
    return int(rows.n_rows * sum(sizes))
