"""What the users of a kernel check: that it has a flag, that its matrix is one of a kernel."""

from typing import TYPE_CHECKING

import numpy as np

from skimp._core._linalg import cholesky
from skimp._core._types import Array
from skimp._params._errors import UnsupportedError

if TYPE_CHECKING:
    from skimp.kernels._base import Kernel

_ROUNDING = 4 * float(np.finfo(np.float32).eps)
"""What is taken for rounding in a matrix of the user's, relative to its size."""


def unsupported(kernel: "Kernel", wording: str, *, owner: str) -> UnsupportedError:
    """Return the error for a kernel that its user, the ``owner``, has no use for."""
    return UnsupportedError(f"{owner}: kernel must be {wording}, got {kernel!r}.")


def require(kernel: "Kernel", flag: str, *, owner: str, advice: str) -> None:
    """Raise unless a kernel has a flag that its user, the ``owner``, relies on."""
    if not getattr(kernel, flag):
        raise unsupported(kernel, f"{flag.replace('_', ' ')} ({advice})", owner=owner)


def check_gram(K: Array, kernel: "Kernel") -> None:
    """Raise if the matrix of a user's function or values is not that of a kernel."""
    if not kernel.takes_objects:
        return
    if np.abs(K - K.T).max() > _ROUNDING * np.abs(K).max():
        raise ValueError(
            f"kernel must be symmetric, found k(x, y) and k(y, x) that differ, of {kernel!r}."
        )
    if K.any() and (K.trace() <= 0 or cholesky(K, jitter=_ROUNDING * len(K)) is None):
        raise ValueError(
            f"kernel must be positive definite, found a matrix of {kernel!r} with negative "
            "eigenvalues: it is no inner product, and positive_definite=False should say so."
        )
