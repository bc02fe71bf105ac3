"""Rows from several blocks that are in memory together: a buffer, and a sample of active rows."""

from dataclasses import dataclass, replace

import numpy as np

from skimp._core._types import Array, DType, Matrix
from skimp.data import Codes, Rows, kept_layout


@dataclass(frozen=True)
class DualRows:
    """Rows with all that a step needs: features, Q, C, Y, dual variables and their flags."""

    X: Matrix
    Q: Array
    C: Array
    Y: Array
    slopes: Array
    active: Array

    def __getitem__(self, chosen: Array) -> "DualRows":
        return DualRows(**{name: values[chosen] for name, values in vars(self).items()})

    def visited(self) -> Array:
        """Return the numbers of the rows that have a flag."""
        return np.flatnonzero(self.active.any(axis=1))


def buffered_bytes(row: float, k: int) -> float:
    """Return the memory of a row in a buffer, with features of this size, in bytes."""
    # number, weight, norm, position in the order and in the buffer; targets, slopes and flags
    return row + 40 + 17 * k


class RowBuffer:
    """Copies of rows from several blocks. Steps change their dual variables and flags.

    Parameters
    ----------
    rows : Rows
        The rows, of which the buffer has the layout; not CSR.
    k : int
        Number of outputs.
    capacity : int
        Maximum number of rows.
    """

    def __init__(self, rows: Rows, k: int, capacity: int):
        numbers, dtype = kept_layout(rows)
        self.capacity, self.size = capacity, 0
        self._coded = rows.coded
        self._numbers = np.empty(capacity, np.int64)
        self._rows = _unfilled(capacity, numbers, dtype, k)

    def clear(self) -> None:
        """Forget the rows."""
        self.size = 0

    def add(self, numbers: Array, rows: DualRows) -> None:
        """Copy rows with these numbers."""
        part = slice(self.size, self.size + len(numbers))
        self._numbers[part] = numbers
        given = replace(rows, X=rows.X.codes if isinstance(rows.X, Codes) else rows.X)
        for name, values in vars(self._rows).items():
            values[part] = vars(given)[name]
        self.size += len(numbers)

    @property
    def numbers(self) -> Array:
        """The row numbers."""
        return self._numbers[: self.size]

    @property
    def rows(self) -> DualRows:
        """The rows."""
        some = DualRows(**{name: values[: self.size] for name, values in vars(self._rows).items()})
        return some if self._coded is None else replace(some, X=self._coded.trusted(some.X))


class ActiveSample:
    """Random sample of the active rows, drawn during a sweep.

    Rows that do not fit into memory take long to read. Additional steps on a sample of the active
    ones save sweeps, if these are few. If rows can only be read in order and are sorted, each block
    pulls the coefficients in its own direction, and a sample of rows from all blocks compensates
    for that.
    """

    def __init__(self, buffer: RowBuffer):
        self.buffer = buffer
        self._share = 1.0

    def empty(self, n_active: int) -> None:
        """Start a new sample, of this number of active rows."""
        self.buffer.clear()
        self._share = self.buffer.capacity / max(1, n_active)

    def add(self, numbers: Array, rows: DualRows, rng: np.random.Generator) -> None:
        """Add a random part of the active rows among these."""
        drawn = rng.random(len(numbers)) < self._share
        chosen = np.flatnonzero(rows.active.any(axis=1) & drawn)
        chosen = chosen[: self.buffer.capacity - self.buffer.size]
        self.buffer.add(numbers[chosen], rows[chosen])


def _unfilled(n: int, width: int, dtype: DType, k: int) -> DualRows:
    """Return arrays for n rows, which take memory once they are filled."""
    Y, slopes = np.empty((n, k)), np.empty((n, k))
    return DualRows(
        np.empty((n, width), dtype), np.empty(n), np.empty(n), Y, slopes, np.empty((n, k), bool)
    )
