"""The dual variables of all rows, in memory or in a file."""

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from skimp._core._types import Array
from skimp.data import FileArray

RowArray: TypeAlias = Array | FileArray
"""An array that is read and written in slices of rows."""
_PART = 2**14
"""Rows that are read from a file at once."""


def slope_bytes(n: int, k: int) -> int:
    """Return the size of the dual variables and flags of n rows, in bytes."""
    return 9 * n * k


class Slopes:
    """Dual variables of all rows, and flags of those that sweeps visit.

    Parameters
    ----------
    n, k : int
        Number of rows and of outputs.
    in_memory : bool
        Whether they are held in memory; otherwise they are in temporary files.

    Attributes
    ----------
    values : array of shape (n, k)
        The dual variables.
    active : array of bool of shape (n, k)
        The flags.
    """

    def __init__(self, n: int, k: int, *, in_memory: bool):
        self.values: RowArray = np.zeros((n, k)) if in_memory else FileArray((n, k), np.float64)
        self.active: RowArray = np.zeros((n, k), bool) if in_memory else FileArray((n, k), bool)

    def at(self, part: slice) -> tuple[Array, Array]:
        """Return the dual variables and flags of some rows, to change and to `put`."""
        return self.values[part], self.active[part]

    def put(self, part: slice, values: Array, active: Array) -> None:
        """Replace the dual variables and flags of some rows."""
        self.values[part], self.active[part] = values, active

    def put_rows(self, numbers: Array, values: Array, active: Array) -> None:
        """Replace the dual variables and flags of rows with these numbers."""
        order = np.argsort(numbers)
        numbers, values, active = numbers[order], values[order], active[order]
        for part in self._parts():
            first, last = np.searchsorted(numbers, [part.start, part.stop])
            if first < last:
                some = numbers[first:last] - part.start
                before = self.at(part)
                before[0][some], before[1][some] = values[first:last], active[first:last]
                self.put(part, *before)

    def clear(self) -> None:
        """Set the dual variables to zero."""
        for part in self._parts():
            self.values[part] = 0.0

    def count_active_rows(self) -> int:
        """Return the number of rows with a flag."""
        return sum(int(np.count_nonzero(self.active[p].any(axis=1))) for p in self._parts())

    def restore(self, values: RowArray, active: RowArray) -> None:
        """Copy the dual variables and flags from an earlier state."""
        for part in self._parts():
            self.put(part, values[part], active[part])

    def _parts(self) -> Iterator[slice]:
        for start in range(0, len(self.values), _PART):
            yield slice(start, start + _PART)
