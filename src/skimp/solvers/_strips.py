"""Products with the features of a block, in strips that stay in the cache."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from skimp._core._types import Array, DType, Matrix
from skimp.data import Codes
from skimp.solvers._features import as_features

_STRIP, _ENTRIES = 512, 2**18
"""Maximum number of rows and of entries per strip, so that a strip stays in the cache."""


def strips(
    X: Matrix, dtype: DType, chosen: Array | None = None
) -> Iterator[tuple[Any, Array | slice]]:
    """Yield strips of rows in this dtype, with their numbers; codes in one strip."""
    if isinstance(X, Codes):
        yield X, slice(None)
        return
    n_rows, width = X.shape
    if sparse.issparse(X):
        width = 1 + X.nnz // n_rows
    size = max(1, min(_STRIP, _ENTRIES // width))
    if chosen is None or len(chosen) == n_rows:
        parts: list[Any] = [slice(i, i + size) for i in range(0, n_rows, size)]
    else:
        parts = [chosen[i : i + size] for i in range(0, len(chosen), size)]
    for part in parts:
        yield as_features(X[part], dtype), part


def fill_outputs(X: Matrix, C: Array, b: Array, out: Array) -> None:
    """Write ``X @ C + b`` into ``out``, in the dtype of C."""
    for Z, part in strips(X, C.dtype):
        out[part] = Z @ C + b


def transposed(
    X: Matrix, chosen: Array, like: Array, rows_of: Callable[[Any, Array | slice], Array]
) -> Array | tuple[Codes, Array]:
    """Return the product of the transposed features, with a column of ones, and ``rows_of``.

    Codes are returned with their rows, to be added by `add_transposed`.
    """
    if isinstance(X, Codes):
        # codes touch few of the many features
        return X, rows_of(X, slice(None))
    sums = np.zeros((X.shape[1] + 1, like.shape[1]), like.dtype)
    for Z, part in strips(X, like.dtype, chosen):
        U = rows_of(Z, part)
        sums[:-1] += Z.T @ U
        sums[-1] += U.sum(axis=0)
    return sums


def add_transposed(total: Array, part: Array | tuple[Codes, Array]) -> Array:
    """Add a result of `transposed` to the total."""
    if isinstance(part, tuple):
        X, U = part
        X.add_transposed(U, total[:-1])
        total[-1] += U.sum(axis=0)
    else:
        total += part
    return total


def is_plain(X: Matrix, dtype: DType) -> bool:
    """Return whether X is a C-contiguous array of this dtype."""
    return isinstance(X, np.ndarray) and X.dtype == dtype and X.flags.c_contiguous
