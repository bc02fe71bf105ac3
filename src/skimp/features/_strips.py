"""Iteration over strips of rows that fit into the cache."""

from collections.abc import Iterator

import numpy as np

from skimp._core._linalg import check_columns, check_shape, dense
from skimp._core._objects import as_numbers
from skimp._core._types import Array, DType, Matrix

_STRIP_NUMBERS = 2**20


def strips(
    X: Matrix,
    out: Array,
    width: int,
    step: int = 512,
    *,
    columns: int = 0,
    dtype: DType | None = None,
) -> Iterator[tuple[Matrix, Array, Array]]:
    """Yield strips of ``step`` rows, the matching rows of ``out``, and a buffer for them.

    ``out`` must have ``width`` columns; the buffer has ``columns``.
    """
    check_shape(out, (X.shape[0], width))
    buffer = np.empty((min(step, X.shape[0]), columns), out.dtype if dtype is None else dtype)
    for start in range(0, X.shape[0], step):
        strip = out[start : start + step]
        yield X[start : start + step], strip, buffer[: len(strip)]


def dense_strips(
    X: Matrix, out: Array, shape: tuple[int, int], dtype: DType
) -> Iterator[tuple[Array, Array]]:
    """Yield strips of dense rows with the matching rows of ``out``; fewer rows if they are wide.

    ``shape`` is (number of columns of X, number of features).
    """
    check_columns(X, shape[0])
    for rows, strip, _ in strips(X, out, shape[1], max(1, _STRIP_NUMBERS // X.shape[1])):
        yield dense(as_numbers(rows, dtype), dtype), strip
