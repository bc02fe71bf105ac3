"""Columns of categories in frames: their levels, and the numbers that replace these."""

from typing import Any

import numpy as np

from skimp._core._types import Array
from skimp.data import is_frame


def find_levels(X: Any, present: Array | None = None) -> dict[int, list[Any]]:
    """Return the levels of each column that holds categories or text, by its number.

    They are in the order of the categories if there is one, and sorted otherwise. Levels without a
    row that is ``present`` are left out. Only frames have levels.
    """
    if not is_frame(X):
        return {}
    return {
        j: _levels(_column(X, j), str(name), present)
        for j, name in enumerate(X.columns)
        if _is_categorical(_column(X, j))
    }


def encode_levels(
    X: Any,
    levels: dict[int, list[Any]],
    expected: list[str] | None = None,
    present: Array | None = None,
) -> Any:
    """Return the frame with numbers instead of levels; other columns are not copied.

    A frame without the ``expected`` columns is returned as it is, and refused later. Rows that are
    not ``present`` get the first level.
    """
    if not levels:
        return X
    if not is_frame(X):
        raise ValueError(
            f"X must be a frame, since fit found text or categories in one; got {type(X)}."
        )
    names = list(X.columns)
    if expected is not None and [str(name) for name in names] != expected:
        return X
    codes = {
        names[j]: _codes(_column(X, j), found, names[j], present) for j, found in levels.items()
    }
    if hasattr(X, "with_columns"):
        import polars

        return X.with_columns(**{name: polars.Series(code) for name, code in codes.items()})
    X = X.copy(deep=False)
    for name, code in codes.items():
        X[name] = code
    return X


def _column(X: Any, j: int) -> Any:
    return X.iloc[:, j] if hasattr(X, "iloc") else X.to_series(j)


def _is_categorical(column: Any) -> bool:
    kind = str(column.dtype).lower()
    if kind == "object":
        # text, and not numbers that are held as objects
        return any(isinstance(value, str) for value in column)
    return kind.startswith(("category", "categorical", "enum", "str"))


def _levels(column: Any, name: str, present: Array | None) -> list[Any]:
    rows = column
    if present is not None:
        rows = column.filter(present) if hasattr(column, "is_null") else column[present]
    missing = rows.isna() if hasattr(rows, "isna") else rows.is_null()
    if missing.any():
        raise ValueError(f"X must not miss values, found some in column {name!r}: fill them first.")
    found = set(rows.unique())
    if str(column.dtype).startswith(("category", "Enum")):
        return [level for level in column.dtype.categories if level in found]
    return sorted(found, key=str)


def _codes(column: Any, levels: list[Any], name: Any, present: Array | None) -> Any:
    numbers = {level: number for number, level in enumerate(levels)}
    codes = np.array([numbers.get(value, -1) for value in column], np.float64)
    if present is not None:
        codes[~present] = 0
    if (codes < 0).any():
        strange = list(column)[int(np.argmin(codes))]
        raise ValueError(
            f"column {name!r} must hold the levels of fit, {levels}, found {strange!r}."
        )
    return codes
