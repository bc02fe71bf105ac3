"""Samples of the rows of a task, drawn in few passes."""

from dataclasses import replace
from typing import Any, final

import numpy as np

from skimp.data import Context, Rows, Sample


@final
class Samples:
    """Samples of rows that are read in passes; later and smaller ones need no pass.

    The first m rows of a sample are the sample of size m for the same seed. Samples of rows in
    memory are drawn each time, which is fast.

    Parameters
    ----------
    rows : Rows
        The rows.
    encode : callable
        Converts y and weights to numbers; positive weights stay positive.
    context : Context
        How to read the rows.
    """

    def __init__(self, rows: Rows, encode: Any, context: Context):
        self._rows = rows
        self._encode = encode
        self._context = context
        self._drawn: dict[int, tuple[int, Sample]] = {}

    def prepare(self, *wanted: tuple[int, int]) -> None:
        """Draw samples of these sizes and seeds in one pass, and keep them."""
        missing = [] if self._rows.in_memory else [w for w in wanted if not self._knows(*w)]
        if missing:
            found = self._rows.samples(missing, self._context)
            for (size, seed), sample in zip(missing, found, strict=True):
                self._drawn[seed] = size, sample

    def rows(self, size: int, seed: int) -> Sample:
        """Return a sample with y and weights as given."""
        if self._rows.in_memory:
            return self._rows.sample(size, seed, self._context)
        self.prepare((size, seed))
        known = self._drawn[seed][1]
        if 2 * size > len(known.keys):
            return known[:size]
        # a copy, because a part of an array would keep all of it in memory
        return known[np.arange(size)]

    def numbers(self, size: int, seed: int) -> Sample:
        """Return a sample with encoded y and weights."""
        drawn = self.rows(size, seed)
        Y, weight = self._encode(drawn.y, drawn.weight)
        return replace(drawn, y=Y, weight=np.asarray(weight, np.float64))

    def forget(self) -> None:
        """Free the memory of the samples."""
        self._drawn.clear()

    def _knows(self, size: int, seed: int) -> bool:
        return seed in self._drawn and self._drawn[seed][0] >= size
