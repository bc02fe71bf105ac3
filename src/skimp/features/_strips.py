"""Rows and their features, a few at a time."""

from collections.abc import Iterator

import numpy as np

from skimp._core._linalg import check_shape
from skimp._core._types import Array, DType, Matrix


def strips(
    X: Matrix,
    out: Array,
    width: int,
    step: int = 512,
    *,
    columns: int = 0,
    dtype: DType | None = None,
) -> Iterator[tuple[Matrix, Array, Array]]:
    """Yield rows, their features in ``out``, of this width, and a buffer with as many rows.

    There are ``step`` rows at a time, so that what is computed of them stays in the cache. The
    buffer has some columns, in the dtype of ``out`` by default.
    """
    check_shape(out, (X.shape[0], width))
    buffer = np.empty((min(step, X.shape[0]), columns), out.dtype if dtype is None else dtype)
    for start in range(0, X.shape[0], step):
        strip = out[start : start + step]
        yield X[start : start + step], strip, buffer[: len(strip)]
