"""Features and targets of a block as arrays for solvers."""

from typing import Any

import numpy as np

from skimp._core._linalg import dense
from skimp._core._types import Array, DType, Matrix
from skimp.data import Block, Codes, Rows


def as_features(X: Matrix, dtype: DType) -> Any:
    """Return features that support ``@`` in this dtype, without a copy if possible."""
    return X if isinstance(X, Codes) else X.astype(dtype, copy=False)


def as_dense_features(X: Matrix, dtype: DType) -> Array:
    """Return features as a dense array in this dtype."""
    return dense(X.tocsr() if isinstance(X, Codes) else X, dtype)


def as_targets(block: Block, dtype: DType) -> tuple[Array, Array]:
    """Return targets of shape (n, k) and weights of shape (n, 1)."""
    return np.asarray(block.y, dtype), block.weights().astype(dtype)[:, None]


def place_of(block: Block) -> slice:
    """Return the row numbers of a block as a slice."""
    return slice(block.start, block.start + block.size)


def n_outputs_of(rows: Rows) -> int:
    """Return the number of outputs, from the first row."""
    return int(np.asarray(next(rows.reblocked(1).blocks()).y).shape[1])
