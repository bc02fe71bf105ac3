"""Test data and assertions that all checks share."""

from collections.abc import Callable
from typing import Any

import numpy as np

from skimp._core._types import Array
from skimp.kernels import has_flag


def rows_for(X: Any, kernel: Any = None) -> Array:
    """Return read-only float64 rows.

    The default is 600 random rows with zeros, a duplicate row and a constant column; they are
    nonnegative if the kernel requires it.
    """
    if X is None:
        X = np.random.default_rng(0).normal(size=(600, 5))
        X[X < -1], X[:, 4] = 0, 1
        X[1] = X[0]
        X = np.abs(X) if has_flag(kernel, "needs_nonnegative") else X
    return read_only(np.asarray(X, np.float64))


def read_only(A: Array) -> Array:
    """Return a read-only view."""
    return np.broadcast_to(A, A.shape)


def params_of(part: Any) -> str:
    """Return the parameters of an object as a string, for comparison."""
    return repr(part.get_params())


def require(condition: Any, check: str) -> None:
    """Raise if a condition is false; ``check`` states the expected property."""
    if not condition:
        raise AssertionError(f"check failed: {check}.")


def close(found: Any, expected: Any, check: str, tol: float = 0.0) -> None:
    """Raise if an entry differs from the expected one by more than ``tol``."""
    found, shape = np.asarray(found), np.shape(expected)
    require(shape in {(), found.shape}, f"{check}; found shape {found.shape}, expected {shape}")
    error = np.max(np.abs(found - expected), initial=0.0)
    require(error <= tol, f"{check}; largest difference {error:.3g}, allowed {tol:.3g}")


def refused(what: str, fn: Callable[..., Any], *given: Any) -> None:
    """Raise if a call does not raise a `ValueError`."""
    try:
        fn(*given)
    except ValueError:
        return
    raise AssertionError(f"check failed: {what} must raise a ValueError, found no error.")
