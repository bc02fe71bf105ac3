"""The features and targets of a block, in the dtype and form that a solver computes with."""

from typing import Any

import numpy as np

from skimp._core._linalg import dense
from skimp._core._types import Array, DType, Matrix
from skimp.data import Block, Codes


def as_features(X: Matrix, dtype: DType) -> Any:
    """Return features in a dtype, ready for products: X itself if it is that already."""
    return X if isinstance(X, Codes) else X.astype(dtype, copy=False)


def as_dense_features(X: Matrix, dtype: DType) -> Array:
    """Return features as an array."""
    return dense(X.tocsr() if isinstance(X, Codes) else X, dtype)


def as_targets(block: Block, dtype: DType) -> tuple[Array, Array]:
    """Return targets of shape (n, k), and weights of shape (n, 1)."""
    return np.asarray(block.y, dtype), block.weights().astype(dtype)[:, None]


def place_of(block: Block) -> slice:
    """Return the numbers of a block's rows."""
    return slice(block.start, block.start + block.size)
