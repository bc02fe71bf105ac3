"""Levels of categorical columns in frames, and their codes."""

from typing import Any

import numpy as np

from skimp._core._types import Array
from skimp.data import is_frame

MISSING = {"None", "nan", "NaT", "<NA>"}
"""Missing values as text."""


def find_levels(X: Any, present: Array | None = None) -> dict[int, list[Any]]:
    """Return the levels of each categorical or text column of a frame, by its position.

    Levels keep the order of the categories if there is one, and are sorted otherwise. Levels that
    no ``present`` row has are left out. Arrays have no levels.
    """
    levels = {}
    for j, column in enumerate(_columns(X) if is_frame(X) else ()):
        kind, values = str(column.dtype), list(column)
        # columns of objects may hold text or numbers
        text = kind == "object" and any(isinstance(value, str) for value in values)
        if not (text or kind.lower().startswith(("category", "categorical", "enum", "str"))):
            continue
        found = set(values if present is None else [values[i] for i in np.flatnonzero(present)])
        if any(not isinstance(value, str) and str(value) in MISSING for value in found):
            name = str(X.columns[j])
            raise ValueError(
                f"X must not have missing values, found some in column {name!r}: fill them first."
            )
        ordered = kind.startswith(("category", "Enum"))
        given = column.dtype.categories if ordered else sorted(found, key=str)
        levels[j] = [level for level in given if level in found]
    return levels


def encode_levels(
    X: Any,
    levels: dict[int, list[Any]],
    expected: list[str] | None = None,
    present: Array | None = None,
) -> Any:
    """Return the frame with codes instead of levels, without copying other columns.

    A frame without the ``expected`` columns is returned unchanged and refused later. Rows that are
    not ``present`` get the first level.
    """
    if not levels:
        return X
    if not is_frame(X):
        raise ValueError(
            f"X must be a frame, because fit saw a frame with text or categories; got {type(X)}."
        )
    names = list(X.columns)
    if expected is not None and [str(name) for name in names] != expected:
        return X
    columns = _columns(X)
    codes = {names[j]: _encode(columns[j], levels[j], names[j], present) for j in levels}
    if not _is_pandas(X):
        import polars

        return X.with_columns(**{name: polars.Series(code) for name, code in codes.items()})
    X = X.copy(deep=False)
    for name, code in codes.items():
        X[name] = code
    return X


def _is_pandas(X: Any) -> bool:
    return hasattr(X, "iloc")


def _columns(X: Any) -> list[Any]:
    # by position: pandas allows duplicate names, which are refused later
    return [X.iloc[:, j] for j in range(X.shape[1])] if _is_pandas(X) else list(X.get_columns())


def _encode(column: Any, levels: list[Any], name: Any, present: Array | None) -> Array:
    numbers = {level: number for number, level in enumerate(levels)}
    codes = np.array([numbers.get(value, -1) for value in column], np.float64)
    if present is not None:
        codes[~present] = 0
    if (codes < 0).any():
        strange = list(column)[int(np.argmin(codes))]
        raise ValueError(
            f"column {name!r} must hold the levels seen in fit, {levels}, found {strange!r}."
        )
    return codes
