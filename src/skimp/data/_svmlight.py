"""Rows of svmlight text files, the format of LIBSVM."""

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, final

import numpy as np

from skimp._core._blocks import block_rows_for
from skimp.data._block import Block, rechunk
from skimp.data._prefetch import prefetched
from skimp.data._rows import Rows

_PART_BYTES = 2**22
"""Bytes of text that are parsed at a time."""
_MOST_COLUMNS = 2**31 - 1


@dataclass(frozen=True)
class _Size:
    """The number of rows and stored entries, and the least and largest column number."""

    n_rows: int
    entries: int
    least: int
    largest: int


@final
class SVMLightRows(Rows):
    r"""Rows of a text file with lines ``target column:value column:value ...``.

    The first number of a line is the target. Rows are sparse, in float64. A first pass counts rows
    and columns. Columns are numbered from 0 if the number 0 occurs in this file, else from 1.

    Parameters
    ----------
    path : str or path
        The file.
    n_features : int, optional
        Number of columns, for a file that lacks the last columns of another one, and to number
        columns from 1.
    block_rows : int, optional
        Number of rows in a block.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from skimp.data import open_rows
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "rows.svm")
    ...     _ = path.write_text("1 1:0.5 3:2\n-1 2:1\n")
    ...     rows = open_rows(path)
    ...     rows.collect().X.toarray().tolist(), rows.targets().tolist()
    ([[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]], [1.0, -1.0])
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        n_features: int | None = None,
        block_rows: int | None = None,
    ):
        self._path = Path(path)
        if not self._path.is_file():
            raise FileNotFoundError(f"source must be an existing file, found {str(path)!r}.")
        self.source_path = self._path.resolve()
        size = self._measure()
        self._base = 0 if size.least == 0 else 1
        found = size.largest + 1 - self._base
        if n_features is not None and n_features < found:
            raise ValueError(
                f"columns must be at least {found}, which {str(path)!r} has, got {n_features}."
            )
        self.n_features = max(1, found) if n_features is None else n_features
        self.dtype = np.dtype(np.float64)
        self._n_rows, self.entries = size.n_rows, size.entries / max(1, size.n_rows)
        self.checked = True
        self.block_rows = block_rows or block_rows_for(self.n_features, self.dtype)

    def read(self, block_rows: int) -> Iterator[Block]:
        """Parse the next part of the file while the blocks of the last one are processed."""
        return rechunk(prefetched(self._blocks()), block_rows)

    def _blocks(self) -> Generator[Block, None, None]:
        start = 0
        for X, y in self._parts(self.n_features + self._base):
            yield Block(X[:, self._base :], y, None, start)
            start += X.shape[0]

    def _measure(self) -> _Size:
        """Read the file once, and check its numbers."""
        n_rows, entries, least, largest = 0, 0, _MOST_COLUMNS, -1
        for X, y in self._parts(_MOST_COLUMNS):
            if not (np.isfinite(y).all() and np.isfinite(X.data).all()):
                raise ValueError(
                    f"{str(self._path)!r} must hold finite numbers, found NaN or infinity in the "
                    f"{len(y):,} rows from row {n_rows:,}: fill them, or drop these rows."
                )
            n_rows, entries = n_rows + X.shape[0], entries + X.nnz
            if X.nnz:
                least, largest = min(least, X.indices.min()), max(largest, X.indices.max())
        return _Size(n_rows, entries, int(least), int(largest))

    def _parts(self, width: int) -> Iterator[tuple[Any, Any]]:
        """Parse the file in parts of a few megabytes."""
        from sklearn.datasets import load_svmlight_file

        for offset in range(0, self._path.stat().st_size, _PART_BYTES):
            try:
                yield load_svmlight_file(
                    str(self._path),
                    n_features=width,
                    zero_based=True,
                    offset=offset,
                    length=_PART_BYTES,
                )
            except ValueError as error:
                raise ValueError(
                    f"{str(self._path)!r} could not be read as svmlight text, in the part from "
                    f"byte {offset:,}: {error}"
                ) from error
