"""Parts of rows: those held out from others, the same ones in any chunking, and those of a mask."""

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
_STRIDE = 2**20


def split_rows(rows: Rows, fraction: float, seed: int) -> tuple[Rows, Rows]:
    """Return the rows without a random fraction of them, and that fraction.

    A row is held out if a hash of the seed and of its number is small: below the fraction, and
    for at least one row, but not for all.
    """
    ends = [(k.min(), k.max()) for k in (row_keys(seed, *r) for r in _ranges(rows.n_rows))]
    least, most = min(low for low, _ in ends), max(high for _, high in ends)
    limit = np.uint64(min(max(int(fraction * _KEYS), int(least) + 1), int(most)))

    def held_out(start: int, stop: int) -> Array:
        chosen: Array = row_keys(seed, start, stop) < limit
        return chosen

    return _Part(rows, lambda start, stop: ~held_out(start, stop)), _Part(rows, held_out)


def masked_rows(rows: Rows, mask: Array) -> Rows:
    """Return the rows for which a mask, of one entry a row, is true."""
    return _Part(rows, partial(_cut, mask))


def _cut(mask: Array, start: int, stop: int) -> Array:
    """Return a part of a mask; a function with a name, so that rows can be pickled."""
    return mask[start:stop]


def _ranges(n: int) -> Iterator[tuple[int, int]]:
    for start in range(0, n, _STRIDE):
        yield start, min(n, start + _STRIDE)


def has_weight(rows: Rows) -> bool:
    """Tell whether there is a row of positive weight."""
    return any(b.size > 0 and (b.weight is None or b.weight.max() > 0) for b in rows.blocks())


@final
class _Part(Rows):
    """Some rows of another source, numbered anew."""

    def __init__(self, source: Rows, chosen: Callable[[int, int], Array]):
        self.describe(source)
        self._source = source
        self._chosen = chosen

    def finish(self, block: Block, scratch: Scratch) -> Block:
        """Finish a block as the source does."""
        return self._source.finish(block, scratch)

    def read(self, block_rows: int) -> Iterator[Block]:
        """Read the source, and leave out what is not in this part."""
        return rechunk(self._chunks(block_rows), block_rows)

    def _chunks(self, block_rows: int) -> Iterator[Block]:
        count = 0
        for block in self._source.read(block_rows):
            chosen = np.flatnonzero(self._chosen(block.start, block.start + block.size))
            yield replace(block[chosen], start=count)
            count += len(chosen)

    @property
    def n_rows(self) -> int:
        """Return the number of rows in this part, counted once."""
        if self._n_rows is None:
            chosen = (self._chosen(*ends) for ends in _ranges(self._source.n_rows))
            self._n_rows = sum(int(np.count_nonzero(mask)) for mask in chosen)
        return self._n_rows

    def take(self, numbers: Array, context: Context = LOCAL) -> Block:
        """Return rows by number, as the source does."""
        return self._source.take(self._numbers()[numbers], context)

    def targets(self, context: Context = LOCAL) -> Array | None:
        """Return y of the rows in this part."""
        y = self._source.targets(context)
        return None if y is None else y[self._numbers()]

    def weights(self, context: Context = LOCAL) -> Array | None:
        """Return the weights of the rows in this part."""
        weight = self._source.weights(context)
        return None if weight is None else weight[self._numbers()]

    def _numbers(self) -> Array:
        """Return the numbers of the rows in the source."""
        return np.flatnonzero(self._chosen(0, self._source.n_rows))
