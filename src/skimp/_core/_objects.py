"""Rows that need not be vectors of numbers: strings, graphs, or mixed columns, as object arrays."""

from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array

from skimp._core._types import Array, DType, Matrix

_NUMERIC = (Real, list, tuple, np.ndarray)


def check_any_rows(X: Any, name: str = "X") -> Matrix:
    """Return rows of numbers as they are, and anything else as an object array (n, columns).

    A list or a one-dimensional array becomes a column. A list of vectors is a matrix: objects that
    are sequences themselves belong into an object array.
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
                f"{name} must be rows of equal length or an array of dtype object, with one object "
                "a row, for objects that are sequences; found a list of unequal ones."
            ) from error
        X = X.reshape(-1, 1) if X.ndim == 1 else X
    if X.dtype.kind in "biufc":
        return check_array(X, accept_sparse="csr", dtype="numeric", input_name=name)
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(
            f"{name} must be an array of shape (n,) or (n, columns), not empty, found {X.shape}."
        )
    return X.astype(object)


def is_object(X: Matrix) -> bool:
    """Tell whether rows are objects."""
    return bool(X.dtype == object)


def as_real(X: Matrix, dtype: DType) -> Matrix:
    """Return rows of numbers in a dtype, without a copy where they have it, objects as they are."""
    return X if X.dtype == object else X.astype(dtype, copy=False)


def as_numbers(X: Matrix, dtype: DType) -> Matrix:
    """Return objects as numbers of a dtype, numbers as they are."""
    if X.dtype != object:
        return X
    try:
        numbers: Array = X.astype(dtype)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"X must hold numbers for a kernel of numbers, found {error}: restrict it to columns "
            "of numbers with .on(...)."
        ) from error
    if not np.isfinite(numbers).all():
        raise ValueError(
            "X must hold finite numbers for a kernel of numbers, found NaN, infinity or None: fill "
            "or leave out these rows."
        )
    return numbers
