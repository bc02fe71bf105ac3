"""Which class reads a source that is not an array."""

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from skimp._params._rules import broken, integer
from skimp.data._csv import CSVRows
from skimp.data._frame import is_frame
from skimp.data._parquet import PARQUET, ParquetRows
from skimp.data._rows import Rows
from skimp.data._streams import StreamRows, has_batches
from skimp.data._svmlight import SVMLightRows

_TEXT = {".csv", ".tsv"}
_COMPRESSED = {".gz", ".bz2", ".zst", ".lz4"}
_SVMLIGHT = {".svm", ".svmlight", ".libsvm"}
_KNOWN = ".parquet, .csv, .svm, .svmlight, .libsvm or .npy, or a folder of Parquet files"
_WIDTH = integer(at_least=1)


def opens_by_name(source: Any, named: dict[str, Any]) -> bool:
    """Return whether `open_table` reads a source; ``named`` are choices of columns."""
    if isinstance(source, str | PathLike):
        return Path(source).suffix.lower() != ".npy"
    if is_frame(source):
        return any(given is not None for given in named.values())
    return has_batches(source)


def open_table(source: Any, **options: Any) -> Rows:
    """Open a file or folder, Arrow data, a frame with named columns, or a function.

    ``options`` are all those of `TableRows.arrange`.
    """
    if not isinstance(source, str | PathLike):
        return StreamRows(source, **options)
    path = Path(source)
    kinds = [suffix.lower() for suffix in path.suffixes]
    kind = kinds[-1] if kinds else ""
    if kind in _COMPRESSED:
        kind = kinds[-2] if len(kinds) > 1 else ""
    if path.is_dir() or kind in PARQUET:
        return ParquetRows(path, **options)
    if kind in _TEXT:
        return CSVRows(path, **options)
    if kind in _SVMLIGHT:
        if kind != kinds[-1]:
            raise ValueError(
                f"source must not be compressed svmlight text, found {str(path)!r}: decompress it."
            )
        for name in ("target", "weight", "filters", "categories"):
            if options[name] is not None:
                raise broken("open_rows", name, "None or an array for svmlight text", options[name])
        columns = options["columns"]
        if columns is not None and not _WIDTH.test(columns):
            raise broken("open_rows", "columns", "a number of columns for svmlight text", columns)
        return SVMLightRows(path, n_features=columns, block_rows=options["block_rows"])
    if not path.exists():
        raise FileNotFoundError(f"source must be an existing file or folder, found {str(path)!r}.")
    raise ValueError(f"source must be a file that ends in {_KNOWN}, found {str(path)!r}.")


def load_npy(source: Any) -> Any:
    """Return the memory-mapped array of a path, and other sources unchanged."""
    if not isinstance(source, str | PathLike):
        return source
    try:
        return np.load(source, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise ValueError(
            f"source must be an array in NumPy's format, found {str(source)!r}: {error}"
        ) from None
