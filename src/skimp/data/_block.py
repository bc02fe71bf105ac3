"""Blocks of rows with their targets and weights, and functions that join and re-split them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite

from skimp._core._types import Array, Matrix


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive rows of a data source, with their targets and weights.

    Attributes
    ----------
    X : array or CSR matrix of shape (n, d)
        The rows in the dtype of the source's storage; convert them to the source's ``dtype``
        before computing.
    y : array of shape (n,) or (n, k), or None
        Targets of the rows.
    weight : array of shape (n,), or None
        Weights of the rows; None means ones.
    start : int
        The row number of the first row.
    """

    X: Matrix
    y: Array | None
    weight: Array | None
    start: int

    @property
    def size(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])

    def weights(self) -> Array:
        """Return the weights in float64; ones if ``weight`` is None."""
        return np.ones(self.size) if self.weight is None else np.asarray(self.weight, np.float64)

    def check(self) -> None:
        """Raise if there are missing or infinite values, or negative weights."""
        assert_all_finite(self.X.data if sparse.issparse(self.X) else self.X, input_name="X")
        if self.y is not None and self.y.dtype.kind == "f":
            assert_all_finite(self.y, input_name="y")
        if self.weight is not None:
            assert_all_finite(self.weight, input_name="weight")
            if self.size and self.weight.min() < 0:
                raise ValueError(f"weight must not be negative, found {self.weight.min()}.")

    def __getitem__(self, part: slice | Array) -> "Block":
        """Return some of the rows; a slice also moves ``start``."""
        return Block(
            self.X[part],
            None if self.y is None else self.y[part],
            None if self.weight is None else self.weight[part],
            self.start + (part.indices(self.size)[0] if isinstance(part, slice) else 0),
        )


def join(parts: list[Block]) -> Block:
    """Concatenate blocks."""
    first = parts[0]
    return Block(
        concatenate_rows([part.X for part in parts]),
        None if first.y is None else np.concatenate([part.y for part in parts]),
        None if first.weight is None else np.concatenate([part.weight for part in parts]),
        first.start,
    )


def rechunk(
    chunks: Iterator[Any], size: int, join: Callable[[list[Any]], Any] = join
) -> Iterator[Any]:
    """Split and join chunks into blocks of ``size`` rows; the last block may be shorter.

    No block is empty. A chunk that already has the right size is not copied.
    """
    waiting: list[Any] = []
    count = 0
    for chunk in chunks:
        used = 0
        while used < chunk.size:
            take = min(size - count, chunk.size - used)
            waiting.append(chunk if take == chunk.size else chunk[used : used + take])
            used += take
            count += take
            if count == size:
                yield waiting[0] if len(waiting) == 1 else join(waiting)
                waiting, count = [], 0
    if waiting:
        yield waiting[0] if len(waiting) == 1 else join(waiting)


def concatenate_rows(parts: list[Matrix]) -> Matrix:
    """Concatenate rows; the result is sparse if any part is, and `Codes` if the parts are."""
    if hasattr(parts[0], "stack"):
        return parts[0].stack(parts)
    if any(sparse.issparse(part) for part in parts):
        return sparse.vstack([sparse.csr_matrix(part) for part in parts], format="csr")
    return np.concatenate(parts)
