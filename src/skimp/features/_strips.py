"""Rows and their features, a few at a time."""

from collections.abc import Iterator

from skimp._core._types import Array, Matrix


def strips(X: Matrix, out: Array, step: int) -> Iterator[tuple[Matrix, Array]]:
    """Yield rows, ``step`` at a time so that what is computed of them stays in the cache."""
    for start in range(0, X.shape[0], step):
        yield X[start : start + step], out[start : start + step]
