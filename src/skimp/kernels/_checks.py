"""Checks of kernels and kernel matrices."""

from typing import TYPE_CHECKING

import numpy as np

from skimp._core._linalg import cholesky
from skimp._core._types import Array
from skimp._params._errors import UnsupportedError

if TYPE_CHECKING:
    from skimp.kernels._base import Kernel

_ROUNDING = 4 * float(np.finfo(np.float32).eps)
"""Tolerance for rounding errors in a user's kernel matrix, relative to its largest entry."""


def unsupported(kernel: "Kernel", wording: str, *, owner: str) -> UnsupportedError:
    """Return the error for a kernel that ``owner`` does not support."""
    return UnsupportedError(f"{owner}: kernel must be {wording}, got {kernel!r}.")


def require(kernel: "Kernel", flag: str, *, owner: str, advice: str) -> None:
    """Raise if a kernel lacks a flag that ``owner`` requires.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    flag : str
        The name of the flag, such as "stationary".
    owner : str
        The class or function that requires it, for the error message.
    advice : str
        An explanation, for the error message.
    """
    if not getattr(kernel, flag):
        raise unsupported(kernel, f"{flag.replace('_', ' ')} ({advice})", owner=owner)


def check_gram(K: Array, kernel: "Kernel") -> None:
    """Raise if a kernel matrix from a user's function or matrix is not symmetric and PSD.

    Parameters
    ----------
    K : array of shape (m, m)
        The kernel matrix of some rows with themselves.
    kernel : Kernel
        The kernel; matrices of kernels that do not take objects are not checked.
    """
    if not kernel.takes_objects:
        return
    if np.abs(K - K.T).max() > _ROUNDING * np.abs(K).max():
        raise ValueError(f"kernel must be symmetric, found k(x, y) != k(y, x) for {kernel!r}.")
    if K.any() and (K.trace() <= 0 or cholesky(K, jitter=_ROUNDING * len(K)) is None):
        raise ValueError(
            f"kernel must be positive definite, found a matrix of {kernel!r} with negative "
            "eigenvalues: use another kernel, or set positive_definite=False if the method accepts "
            "indefinite kernels."
        )
