"""Large pieces of data, each of which is passed to a method that takes all data at once."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, final

from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import _num_samples

from skimp._core._blocks import Scratch, block_rows_for
from skimp._core._work import DOUBLE
from skimp.data._block import Block
from skimp.data._rows import Rows

_LARGEST = 2**16
"""Number of rows in a piece, if they have few columns."""
_BYTES = 2**26
"""A piece takes at most this many bytes, unless a single block takes more."""


def pieces(X: Any, n_columns: int) -> Iterator[tuple[Any, int, int | None]]:
    """Cut data into pieces of many blocks; also yield the rows so far, and of all pieces if known.

    Pieces of `Rows` are `Rows`, whose blocks are those of the source. Pieces of an array or a frame
    are slices. ``n_columns`` is the width of the rows or of the results, whichever is larger.
    """
    if isinstance(X, Rows):
        yield from _of_rows(X, n_columns)
        return
    (X,) = indexable(X)
    n, step = _num_samples(X), _piece_rows(block_rows_for(n_columns, DOUBLE), n_columns)
    for start in range(0, max(n, 1), step):
        stop = min(n, start + step)
        yield _safe_indexing(X, slice(start, stop)), stop, n


def _of_rows(rows: Rows, n_columns: int) -> Iterator[tuple[Rows, int, int | None]]:
    known, count = rows.known_n_rows, 0
    for block in rows.read(_piece_rows(rows.block_rows, n_columns)):
        count += block.size
        yield _Piece(rows, block), count, known


def _piece_rows(block_rows: int, n_columns: int) -> int:
    """Return a number of rows that is a multiple of ``block_rows``."""
    fitting = min(_LARGEST, _BYTES // (DOUBLE.itemsize * max(1, n_columns)))
    return max(1, fitting // block_rows) * block_rows


@final
class _Piece(Rows):
    """Some consecutive rows of a source, read already; workers complete their blocks."""

    def __init__(self, source: Rows, read: Block):
        self.describe(source)
        self._source = source
        self._read = replace(read, start=0)
        self._n_rows = read.size

    def read(self, block_rows: int) -> Iterator[Block]:
        for start in range(0, self.n_rows, block_rows):
            yield self._read[start : start + block_rows]

    def finish(self, block: Block, scratch: Scratch) -> Block:
        return self._source.finish(block, scratch)
