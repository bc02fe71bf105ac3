"""Views of the rows that a condition on their blocks selects, in constant memory."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import final

import numpy as np

from skimp._core._blocks import Scratch
from skimp._core._types import Array
from skimp.data._block import Block, rechunk
from skimp.data._context import LOCAL, Context
from skimp.data._rows import Rows

Keep = Callable[[Block], Array]
"""Returns a mask of the rows of a block."""


@final
class FilteredRows(Rows):
    """The rows of another source for which ``keep(block)`` is true, renumbered from 0.

    Blocks are completed as they are read, because a condition may depend on encoded targets and
    weights. No mask of all rows is stored.
    """

    def __init__(self, source: Rows, keep: Keep):
        self.describe(source)
        self.checked = True
        self._source = source
        self._keep = keep

    def read(self, block_rows: int) -> Iterator[Block]:
        return rechunk(self._chunks(block_rows), block_rows)

    def _chunks(self, block_rows: int) -> Iterator[Block]:
        scratch, count = Scratch(), 0
        for given in self._source.read(block_rows):
            block = self._source.finish(given, scratch)
            # a copy, because the next block overwrites the buffers
            part = block[np.flatnonzero(self._keep(block))]
            yield replace(part, start=count)
            count += part.size

    def take(self, numbers: Array, context: Context = LOCAL) -> Block:
        if self._source.in_memory:
            return self._source.take(self.origin(numbers, context), context)
        return super().take(numbers, context)

    def origin(self, numbers: Array, context: Context = LOCAL) -> Array:
        """Return the numbers in the source of some rows of this view."""
        numbers = np.asarray(numbers)
        rising, found, count = np.unique(numbers), np.empty(0, np.int64), 0

        def add(found: Array, chosen: Array) -> Array:
            nonlocal count
            first, last = np.searchsorted(rising, [count, count + len(chosen)])
            wanted, count = rising[first:last] - count, count + len(chosen)
            return np.append(found, chosen[wanted])

        found = context.map_reduce(
            self._source, lambda b, _: b.start + np.flatnonzero(self._keep(b)), add, found
        )
        return found[np.searchsorted(rising, numbers)]


def weighted_rows(rows: Rows, context: Context = LOCAL) -> FilteredRows | None:
    """Return the rows of positive weight, or None if these are all rows."""
    count = rows.count_weighted(context)
    if count == rows.n_rows:
        return None
    part = FilteredRows(rows, _has_weight)
    part.remember_n_rows(count)
    return part


def _has_weight(block: Block) -> Array:
    positive: Array = block.weights() > 0
    return positive
