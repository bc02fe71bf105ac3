"""Validation of rows that may be objects, such as strings, graphs or mixed columns."""

from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array

from skimp._core._types import Array, DType, Matrix

_NUMERIC = (Real, list, tuple, np.ndarray)


def check_any_rows(X: Any, name: str = "X") -> Matrix:
    """Return numeric rows unchanged and all other rows as an object array (n, columns).

    A list or a one-dimensional array becomes one column. A list of sequences is read as a matrix:
    pass an object array if each sequence is one object.
    """
    if hasattr(X, "to_numpy"):
        X = X.to_numpy()
    if isinstance(X, list | tuple) and not all(isinstance(x, _NUMERIC) for x in X):
        column = np.empty(len(X), dtype=object)
        for i, x in enumerate(X):
            column[i] = x
        X = column
    if not sparse.issparse(X):
        try:
            X = np.asarray(X)
        except ValueError as error:
            raise ValueError(
                f"{name} must have rows of equal length, found a list of sequences of unequal "
                "length. If each sequence is one object, pass a NumPy array of dtype object with "
                "one object per row."
            ) from error
        X = X.reshape(-1, 1) if X.ndim == 1 else X
    if X.dtype.kind in "biufc":
        return check_array(X, accept_sparse="csr", dtype="numeric", input_name=name)
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(
            f"{name} must be a non-empty array of shape (n,) or (n, columns), found {X.shape}."
        )
    return X.astype(object)


def is_object(X: Matrix) -> bool:
    """Return whether the rows have dtype object."""
    return bool(X.dtype == object)


def as_real(X: Matrix, dtype: DType) -> Matrix:
    """Cast numeric rows to a dtype, without a copy if possible; return object rows unchanged."""
    return X if X.dtype == object else X.astype(dtype, copy=False)


def as_numbers(X: Matrix, dtype: DType) -> Matrix:
    """Convert object rows to finite numbers of a dtype; return numeric rows unchanged."""
    if X.dtype != object:
        return X
    try:
        numbers: Array = X.astype(dtype)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"X must hold numbers for this kernel, found a value that is not a number: {error}. "
            "Restrict the kernel to numeric columns with .on(...)."
        ) from error
    if not np.isfinite(numbers).all():
        raise ValueError(
            "X must be finite for this kernel, found NaN, infinity or None: impute these values or "
            "drop their rows."
        )
    return numbers
