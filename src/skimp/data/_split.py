"""Views of some rows: random splits, which do not depend on the block size, and masks."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import final

import numpy as np

from skimp._core._blocks import Scratch
from skimp._core._random import row_keys
from skimp._core._types import Array
from skimp.data._block import Block, rechunk
from skimp.data._context import LOCAL, Context
from skimp.data._rows import Rows

_KEYS = 2.0**64
_STRIDE = 2**16
"""Number of rows whose keys are computed at once."""


def split_rows(rows: Rows, fraction: float, seed: int) -> "tuple[Part, Part]":
    """Split rows at random; return the remaining rows and the held-out fraction.

    A row is held out if a hash of the seed and its row number is below a limit. Both parts have at
    least one row if there are two.
    """
    ends = [(k.min(), k.max()) for k in (row_keys(seed, *r) for r in _ranges(rows.n_rows))]
    least, most = min(low for low, _ in ends), max(high for _, high in ends)
    limit = np.uint64(min(max(int(fraction * _KEYS), int(least) + 1), int(most)))

    def held_out(start: int, stop: int) -> Array:
        chosen: Array = row_keys(seed, start, stop) < limit
        return chosen

    return Part(rows, lambda start, stop: ~held_out(start, stop)), Part(rows, held_out)


def masked_rows(rows: Rows, mask: Array) -> Rows:
    """Return the rows at which a mask is true; it has one entry per row."""
    return Part(rows, partial(_cut, mask))


def _cut(mask: Array, start: int, stop: int) -> Array:
    """Slice a mask; a module-level function, so that rows can be pickled."""
    return mask[start:stop]


def _ranges(n: int) -> Iterator[tuple[int, int]]:
    for start in range(0, n, _STRIDE):
        yield start, min(n, start + _STRIDE)


def has_weight(rows: Rows) -> bool:
    """Return whether at least one row has positive weight."""
    return any(b.size > 0 and (b.weight is None or b.weight.max() > 0) for b in rows.blocks())


@final
class Part(Rows):
    """Some rows of another source, renumbered from 0."""

    def __init__(self, source: Rows, chosen: Callable[[int, int], Array]):
        self.describe(source)
        self._source = source
        self._chosen = chosen

    def finish(self, block: Block, scratch: Scratch) -> Block:
        return self._source.finish(block, scratch)

    def read(self, block_rows: int) -> Iterator[Block]:
        return rechunk(self._chunks(block_rows), block_rows)

    def _chunks(self, block_rows: int) -> Iterator[Block]:
        count = 0
        for block in self._source.read(block_rows):
            chosen = np.flatnonzero(self._chosen(block.start, block.start + block.size))
            yield replace(block[chosen], start=count)
            count += len(chosen)

    @property
    def n_rows(self) -> int:
        """The number of rows in this part."""
        if self._n_rows is None:
            chosen = (self._chosen(*ends) for ends in _ranges(self._source.n_rows))
            self._n_rows = sum(int(np.count_nonzero(mask)) for mask in chosen)
        return self._n_rows

    def take(self, numbers: Array, context: Context = LOCAL) -> Block:
        if self._source.in_memory:
            return self._source.take(self.origin(numbers), context)
        return super().take(numbers, context)

    def origin(self, numbers: Array) -> Array:
        """Return the numbers in the source of some rows of this part."""
        numbers = np.asarray(numbers)
        rising, parts, count = np.unique(numbers), [np.empty(0, np.int64)], 0
        for start, stop in _ranges(self._source.n_rows):
            chosen = np.flatnonzero(self._chosen(start, stop))
            first, last = np.searchsorted(rising, [count, count + len(chosen)])
            parts.append(start + chosen[rising[first:last] - count])
            count += len(chosen)
        return np.concatenate(parts)[np.searchsorted(rising, numbers)]
