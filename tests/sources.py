"""A fake block source: chunks of odd sizes, single rows and empty ones, of an unknown number."""

from itertools import cycle
from typing import final

import numpy as np

from skimp._core._linalg import as_compute_dtype
from skimp.data import Block, Rows, rechunk


@final
class ChunkedRows(Rows):
    """Rows of arrays, in chunks of the given sizes, over and over."""

    def __init__(self, X, y=None, weight=None, *, sizes=(3, 0, 1, 17, 0, 5), block_rows=16):
        if sum(sizes) == 0:
            raise ValueError("sizes must hold a positive number.")
        self._whole = Block(X, y, weight, 0)
        self._sizes = sizes
        self.n_features = X.shape[1]
        self.dtype = as_compute_dtype(X.dtype)
        self.block_rows = block_rows

    def read(self, block_rows):
        """Cut the chunks into blocks."""
        return rechunk(self.chunks(), block_rows)

    def chunks(self):
        """Slice the arrays."""
        start = 0
        sizes = cycle(self._sizes)
        while start < self._whole.size:
            size = next(sizes)
            yield self._whole[start : start + size]
            start += size
        yield self._whole[start:]


@final
class CountedRows(Rows):
    """Rows of another source, which count how often they are read.

    ``passes`` counts the times that all rows were read, and ``looks`` those that stopped earlier.
    """

    def __init__(self, source, *, known=True):
        self.describe(source)
        self._source = source
        self._n_rows = source.n_rows if known else None
        self.tally = {"passes": 0, "looks": 0}

    def read(self, block_rows):
        """Read the blocks of the source, and count."""
        self.tally["looks"] += 1
        yield from self._source.read(block_rows)
        self.tally["looks"] -= 1
        self.tally["passes"] += 1

    def finish(self, block, scratch):
        return self._source.finish(block, scratch)


@final
class GeneratedRows(Rows):
    """Random float32 rows with targets that depend on them, made as they are read.

    The targets are numbers, or labels if ``classes``. Nothing of the size of the data is in memory.
    """

    _CHUNK = 2**11

    def __init__(self, n_rows, n_features=4, *, classes=False, targets=True):
        self._n_rows = n_rows
        self._classes, self._targets = classes, targets
        self.n_features, self.dtype = n_features, np.dtype(np.float32)
        self.block_rows = self._CHUNK
        self.checked = True

    def read(self, block_rows):
        """Generate the rows."""
        return rechunk(map(self._chunk, range(0, self.n_rows, self._CHUNK)), block_rows)

    def _chunk(self, start):
        rng = np.random.Generator(np.random.Philox(key=start))
        size = min(self._CHUNK, self.n_rows - start)
        X = rng.random((size, self.n_features), np.float32) * 6 - 3
        y = np.sin(X[:, 0]) + 0.5 * X[:, -1] + rng.random(size, np.float32)
        if self._classes:
            y = np.where(y > 0.5, "high", "low")
        return Block(X, y if self._targets else None, None, start)
