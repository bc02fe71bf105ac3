"""Rows that checks are run on, and how they say that a promise is broken."""

from collections.abc import Callable
from typing import Any

import numpy as np

from skimp._core._types import Array
from skimp.kernels import has_flag


def rows_for(X: Any, kernel: Any = None) -> Array:
    """Return float64 rows; random ones with zeros, a repeated row and a constant column."""
    if X is None:
        X = np.random.default_rng(0).normal(size=(600, 5))
        X[X < -1], X[:, 4] = 0, 1
        X[1] = X[0]
        X = np.abs(X) if has_flag(kernel, "needs_nonnegative") else X
    return read_only(np.asarray(X, np.float64))


def read_only(A: Array) -> Array:
    """Return a view that cannot be written to."""
    return np.broadcast_to(A, A.shape)


def params_of(part: Any) -> str:
    """Return the parameters of a part as text, to compare."""
    return repr(part.get_params())


def require(condition: Any, promise: str) -> None:
    """Raise if a promise is broken."""
    if not condition:
        raise AssertionError(f"promise broken: {promise}.")


def close(found: Any, expected: Any, promise: str, tol: float = 0.0) -> None:
    """Raise unless no entry differs by more than ``tol``."""
    found, shape = np.asarray(found), np.shape(expected)
    require(shape in {(), found.shape}, f"{promise}; shape {found.shape} instead of {shape}")
    error = np.max(np.abs(found - expected), initial=0.0)
    require(error <= tol, f"{promise}; largest difference {error:.3g}, allowed {tol:.3g}")


def refused(what: str, fn: Callable[..., Any], *given: Any) -> None:
    """Raise unless a call raises a `ValueError`."""
    try:
        fn(*given)
    except ValueError:
        return
    raise AssertionError(f"promise broken: {what} must be refused with a ValueError.")
