"""Rows of Arrow streams, data frames, and functions that return record batches."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, final

from skimp.data._arrow import load_arrow
from skimp.data._frame import arrow_slice, is_frame
from skimp.data._table import Piece, TableRows, as_batches, of_columns, sliced


@final
class StreamRows(TableRows):
    """Rows of Arrow data that can be read any number of times.

    Parameters
    ----------
    source : frame, object with an Arrow stream, or function
        A pandas or polars frame, a `pyarrow.Table`, a DuckDB relation or another object with the
        method ``__arrow_c_stream__``; or a function without arguments that returns an iterable of
        record batches, the same ones in each call.
    **options
        ``target``, ``weight``, ``columns``, ``filters``, ``categories`` and ``block_rows``, as in
        `open_rows`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from skimp.data import open_rows
    >>> def read():
    ...     yield pa.record_batch({"x": [1.0, 2.0], "y": [0, 1]})
    ...     yield pa.record_batch({"x": [3.0], "y": [1]})
    >>> rows = open_rows(read, target="y")
    >>> rows.collect().X.tolist(), rows.collect().y.tolist()
    ([[1.0], [2.0], [3.0]], [0, 1, 1])
    """

    def __init__(self, source: Any, **options: Any):
        self._batches, self._place = _reader(source)
        first = next(iter(self._batches(1)), None)
        if first is None:
            raise ValueError(f"{self._place} must have at least one record batch, found none.")
        self._schema = first.schema
        self.arrange(first.schema, **options)

    def pieces(self, names: list[str], batch_rows: int) -> Iterator[Piece]:
        """Read some columns; see `TableRows.pieces`."""
        first = 0
        for batch in self._batches(batch_rows):
            columns = of_columns(batch, names, self._schema, self._place)
            for part in sliced(columns, batch_rows):
                yield Piece(part, self._place, first)
                first += part.num_rows


def has_batches(source: Any) -> bool:
    """Return whether `StreamRows` can read a source that is not a frame."""
    return callable(source) or "__arrow_c_stream__" in dir(source)


def _reader(source: Any) -> tuple[Callable[[int], Iterable[Any]], str]:
    """Return a function that starts to read batches of about some size, and a name for messages."""
    name = type(source).__name__
    if is_frame(source):
        return lambda rows: _frame_batches(source, rows), f"the {name}"
    if "__arrow_c_stream__" in dir(source):
        if isinstance(source, load_arrow().RecordBatchReader):
            raise ValueError(
                "source must be readable more than once, found a RecordBatchReader: pass a "
                "function that returns a new one."
            )
        return lambda _: as_batches(source), f"the {name}"

    def read(_: int) -> Iterator[Any]:
        for given in _items(source()):
            yield from as_batches(given)

    return read, f"the batches of {getattr(source, '__name__', name)}"


def _items(given: Any) -> Iterable[Any]:
    """Return what a function has returned as an iterable of Arrow data."""
    whole = is_frame(given) or "__arrow_c_stream__" in dir(given)
    return [given] if whole else given


def _frame_batches(frame: Any, batch_rows: int) -> Iterator[Any]:
    """Yield slices of a frame, so that it is not converted as a whole."""
    for start in range(0, max(1, len(frame)), batch_rows):
        yield from arrow_slice(frame, slice(start, start + batch_rows)).to_batches()
