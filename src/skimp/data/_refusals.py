"""Errors for unusable rows, targets and weights, each with a remedy."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse

from skimp._core._types import Array
from skimp.data._frame import is_frame

LARGEST_WEIGHT = 1e100
"""Up to it, sums of weights and their squares are finite float64 numbers."""
_NAMED = 5
"""The largest number of columns that a message names."""
_ABOUT_VALUES = re.compile(r"NaN|infinity|string|could not convert|NAType|NaTType")
_IMPUTE = "impute them, for instance with sklearn.impute.SimpleImputer in a pipeline"


def refuse(given: Any, name: str) -> None:
    """Raise for lazy frames, masked entries and duplicate column names."""
    if type(given).__name__ == "LazyFrame":
        raise ValueError(
            f"{name} must be in memory, found a LazyFrame: call .collect() on it first."
        )
    if isinstance(given, np.ma.MaskedArray) and (masked := int(np.sum(given.mask))):
        raise ValueError(
            f"{name} must not have masked entries, found {masked}: fill them with "
            f"{name}.filled(...), or drop their rows."
        )
    if is_frame(given):
        repeated = [repr(column) for column, n in Counter(given.columns).items() if n > 1]
        if repeated:
            raise ValueError(
                f"{name} must have unique column names, found several columns named "
                f"{_listed(repeated)}: rename or drop them."
            )


def refuse_target(y: Any, *, numeric: bool, owner: str, partial: bool = False) -> None:
    """Raise for sparse targets, and for dates and text if targets must be numeric.

    Raise for missing targets, too, unless y is ``partial``.
    """
    if y is None:
        return
    refuse(y, "y")
    if sparse.issparse(y):
        raise ValueError(
            f"y must be a dense array, found a sparse {type(y).__name__}: call y.toarray()."
        )
    try:
        values = np.asarray(y)
        if isinstance(y, list | tuple) and values.dtype.kind in "US":
            # np.asarray would turn a NaN among strings into the string "nan"
            values = np.asarray(y, dtype=object)
    except ValueError:
        return  # unequal lengths: scikit-learn raises a clear error
    kind = values.dtype.kind
    if numeric and kind in "mM":
        since = "y" if kind == "m" else "(y - y.min())"
        raise ValueError(
            f"y must hold numbers for {owner}, found dtype {values.dtype}: convert it, for "
            f"instance to days with {since} / np.timedelta64(1, 'D')."
        )
    missing = np.atleast_1d(missing_entries(values))
    if missing.any() and not partial:
        rows = np.flatnonzero(missing.reshape(len(missing), -1).any(axis=1))
        raise ValueError(
            f"y contains NaN or other missing values in {len(rows)} of {len(missing)} rows, the "
            f"first in row {rows[0]}: drop the rows without a target."
        )
    text = next((v for v in values.flat if isinstance(v, str)), None) if kind in "OUT" else None
    if numeric and text is not None:
        raise ValueError(
            f"y must hold numbers for {owner}, found the text {str(text)!r}: convert y with "
            "y.astype(float), or use KernelClassifier if y holds class labels."
        )


@contextmanager
def columns_named(X: Any) -> Iterator[None]:
    """Replace an error about missing, infinite or text entries by one that names their columns."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if not _ABOUT_VALUES.search(str(error)):
            raise
        message = _wrong_entries(X)
        if message is None:
            raise
        raise ValueError(message) from None


def _wrong_entries(X: Any) -> str | None:
    """Describe the invalid entries of X and a remedy; return None if there are none."""
    missing, infinite = [], []
    for name, values in _columns(X):
        if values.dtype.kind not in "biuf":
            text = next((v for v in values if not _missing_value(v) and not _is_number(v)), None)
            if isinstance(text, str):
                return (
                    f"X must hold numbers, found the text {str(text)!r} in column {name}: encode "
                    "this column, for instance with sklearn.preprocessing.OneHotEncoder, or drop "
                    "it."
                )
            if text is not None:
                return None
            gaps = missing_entries(values)
            values = np.array(
                [0.0 if gap else float(v) for v, gap in zip(values, gaps, strict=True)]
            )
        else:
            gaps = np.isnan(values)
        counted = f"{name} ({{}} of {len(values)} rows)"
        missing += [counted.format(gaps.sum())] if gaps.any() else []
        beyond = np.isinf(values)
        infinite += [counted.format(beyond.sum())] if beyond.any() else []
    if missing:
        return (
            f"X contains NaN or other missing values in {_columns_listed(missing)}: {_IMPUTE}, or "
            "drop these rows or columns."
        )
    if infinite:
        return (
            f"X contains infinity in {_columns_listed(infinite)}: replace infinite values, or "
            "drop these rows or columns."
        )
    return None


def _columns(X: Any) -> Iterator[tuple[str, Array]]:
    """Yield the name and the entries of each column; of a sparse X, only of non-finite columns."""
    if is_frame(X):
        for name in X.columns:
            yield repr(name), np.asarray(X[name])
    elif sparse.issparse(X):
        stored, columns = X.tocoo(), X.tocsc()
        for j in np.unique(stored.col[~np.isfinite(stored.data)]):
            yield f"X[:, {j}]", columns[:, [j]].toarray()[:, 0]
    else:
        X = np.asarray(X)
        if X.ndim == 2:
            yield from ((f"X[:, {j}]", X[:, j]) for j in range(X.shape[1]))


def _columns_listed(columns: list[str]) -> str:
    return ("column " if len(columns) == 1 else "columns ") + _listed(columns)


def _listed(shown: list[str]) -> str:
    rest = f" and {len(shown) - _NAMED} more" if len(shown) > _NAMED else ""
    return ", ".join(shown[:_NAMED]) + rest


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _missing_value(value: Any) -> bool:
    """Return whether an object is None, NaN, or pandas' NA or NaT."""
    if isinstance(value, float):
        return value != value
    return value is None or type(value).__name__ in {"NAType", "NaTType"}


def missing_entries(values: Array) -> Array:
    """Return which entries are None, NaN, NaT or pandas' NA."""
    if values.dtype.kind in "fc":
        return np.isnan(values)
    if values.dtype.kind in "mM":
        return np.isnat(values)
    if values.dtype.kind != "O":
        return np.zeros(values.shape, bool)
    found = np.fromiter(map(_missing_value, values.flat), bool, values.size)
    return found.reshape(values.shape)
