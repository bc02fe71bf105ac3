"""Results for all rows, written to a Parquet file piece by piece."""

from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from skimp._core._files import written_aside
from skimp.data._arrow import load_arrow
from skimp.data._frame import is_frame
from skimp.data._parquet import PARQUET
from skimp.data._pieces import pieces
from skimp.data._progress import reporting
from skimp.data._rows import Rows

Names = Callable[[Any], list[str]]
"""Returns the names of the columns for the results of the first piece."""
_MOST_COLUMNS = 4096
"""The largest number of columns that sparse results are expanded to."""


def write_results(
    owner: Any,
    X: Any,
    path: str | PathLike[str],
    compute: Callable[[Any], Any],
    names: Names,
    width: int = 1,
) -> Path:
    """Write ``compute(piece)`` for all pieces of X to a Parquet file, and return its path.

    Memory does not grow with the number of rows. The file appears once it is complete. The fitted
    estimator ``owner`` reports progress if its ``verbose`` is set. ``width`` is the number of
    result columns, if they are many.
    """
    _refuse_path(X, Path(path))
    n_columns = max(width, getattr(owner, "n_features_in_", 1))
    with (
        reporting(type(owner).__name__, getattr(owner, "verbose", 0)) as progress,
        progress.phase("write", unit="rows") as writing,
    ):

        def results() -> Iterator[Any]:
            for piece, done, total in pieces(X, n_columns):
                yield compute(piece)
                progress.see_rows(done, total)
                writing.result = f"{done:,} rows to {Path(path).name}"

        return _write_parquet(path, results(), names)


def _refuse_path(X: Any, path: Path) -> None:
    """Raise unless a path is that of a Parquet file that is not a part of the source."""
    if path.suffix.lower() not in PARQUET:
        raise ValueError(f"path must end in .parquet, got {str(path)!r}.")
    source, target = (X.source_path if isinstance(X, Rows) else None), path.resolve()
    if source is not None and source in (target, *target.parents):
        raise ValueError(
            f"path must not be the file or in the folder that X is read from, got {str(path)!r}."
        )


def _write_parquet(path: str | PathLike[str], results: Iterator[Any], names: Names) -> Path:
    pa, parquet = load_arrow(), load_arrow("pyarrow.parquet")
    first = next(results, None)
    if first is None:
        raise ValueError("X must have at least one row, found none.")
    columns = _columns(first)
    arrays = [_as_arrow(pa, column) for column in columns]
    schema = pa.schema(list(zip(names(first), (array.type for array in arrays), strict=True)))
    # tables of numbers do not repeat values
    repeating = [field.name for field in schema if not pa.types.is_floating(field.type)]
    with (
        written_aside(path) as aside,
        parquet.ParquetWriter(aside, schema, use_dictionary=repeating) as writer,
    ):
        writer.write_table(pa.table(arrays, schema=schema))
        for values in results:
            columns = _columns(values)
            arrays = [_as_arrow(pa, *pair) for pair in zip(columns, schema.types, strict=True)]
            writer.write_table(pa.table(arrays, schema=schema))
    return Path(path)


def _columns(values: Any) -> list[Any]:
    """Return the columns of results; a sequence of objects is one column."""
    if sparse.issparse(values):
        if values.shape[1] > _MOST_COLUMNS:
            raise ValueError(
                f"the results must have at most {_MOST_COLUMNS:,} columns for a file if they are "
                f"sparse, found {values.shape[1]:,}: use a smaller map, such as RandomBinning with "
                "a lower max_bins, or pass the map to an estimator, which needs no file."
            )
        values = values.toarray()
    elif is_frame(values):
        values = values.to_numpy()
    if isinstance(values, np.ndarray) and values.ndim == 2:
        return list(np.ascontiguousarray(values.T))
    return [values]


def _as_arrow(pa: Any, column: Any, kind: Any = None) -> Any:
    try:
        return pa.array(column, type=kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise ValueError(
            f"results must be numbers or strings, of one type, for a Parquet file: {error}"
        ) from None
