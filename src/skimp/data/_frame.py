"""Rows of a pandas or polars frame, converted to numbers block by block."""

from collections.abc import Iterator
from typing import Any, final

from sklearn.utils.validation import check_array

from skimp._core._blocks import block_rows_for
from skimp._core._linalg import as_compute_dtype
from skimp._core._types import Array, Matrix
from skimp.data._arrow import load_arrow
from skimp.data._block import Block
from skimp.data._rows import Rows


@final
class FrameRows(Rows):
    """Rows of a pandas or polars frame, converted to an array block by block.

    Different dtypes are promoted by NumPy's rules. Rows are computed in float32 if the result is
    float32 or float16, and in float64 otherwise.

    Parameters
    ----------
    frame : pandas.DataFrame or polars.DataFrame
        The rows; all columns must be numeric or boolean.
    y, weight, block_rows
        As in `ArrayRows`.
    """

    def __init__(
        self,
        frame: Any,
        y: Array | None = None,
        weight: Array | None = None,
        *,
        block_rows: int | None = None,
    ):
        _check_columns(frame)
        self._frame = frame
        self._n_rows = int(frame.shape[0])
        self._y = y
        self._weight = weight
        self.n_features = frame.shape[1]
        self.feature_names = [str(name) for name in frame.columns]
        self.dtype = as_compute_dtype(self._convert(slice(0, 1), dtype="numeric").dtype)
        self.block_rows = block_rows or block_rows_for(self.n_features, self.dtype)
        self.checked = True
        self._check()

    def read(self, block_rows: int) -> Iterator[Block]:
        for start in range(0, self.n_rows, block_rows):
            part = slice(start, start + block_rows)
            yield Block(
                self._convert(part, dtype=self.dtype, ensure_all_finite=False),
                None if self._y is None else self._y[part],
                None if self._weight is None else self._weight[part],
                start,
            )

    def _convert(self, part: slice, **options: Any) -> Matrix:
        frame = self._frame
        converted: Matrix = check_array(
            frame.iloc[part] if hasattr(frame, "iloc") else frame[part],
            input_name="X",
            accept_sparse="csr",
            **options,
        )
        return converted

    def _check(self) -> None:
        """Raise if the frame has missing, infinite or non-numeric values."""
        for start in range(0, self.n_rows, self.block_rows):
            self._convert(slice(start, start + self.block_rows), dtype=self.dtype)


def arrow_slice(frame: Any, part: slice) -> Any:
    """Return some rows of a frame as a pyarrow table, without the index of pandas."""
    table = load_arrow().Table
    if hasattr(frame, "iloc"):
        return table.from_pandas(frame.iloc[part], preserve_index=False)
    return frame[part].to_arrow()


def is_frame(X: object) -> bool:
    """Return whether X is a pandas or polars DataFrame."""
    kind = type(X)
    return (
        kind.__module__.partition(".")[0] in {"pandas", "polars"} and kind.__name__ == "DataFrame"
    )


def _check_columns(frame: Any) -> None:
    """Raise if a column is neither numeric nor boolean."""
    if frame.shape[1] == 0:
        raise ValueError("X must have at least one column, found none.")
    for name, dtype in zip(frame.columns, frame.dtypes, strict=True):
        if hasattr(dtype, "is_numeric"):
            numeric = dtype.is_numeric() or str(dtype) == "Boolean"
        else:
            # object columns may hold numbers: conversion raises if they do not
            numeric = dtype.kind in "biuf" or str(dtype) == "object"
        if not numeric:
            raise ValueError(
                f"X must hold numbers, found column {name!r} of dtype {dtype}: encode it, for "
                "instance with sklearn.preprocessing.OneHotEncoder, or drop it."
            )
