"""Exact weighted medians of columns, in constant memory."""

from collections.abc import Callable
from typing import NamedTuple, final

import numpy as np

from skimp._core._types import Array
from skimp.data import Block, Context, Rows, no_rows

Numbers = Callable[[Block], tuple[Array, Array]]
"""Returns the targets of a block in float64, of any dimension, and its weights."""
_HELD = 2**20
"""Number of values that are held at once. Medians of more values take several passes."""
_DIGIT, _BITS = 16, 64
_SIGN = np.uint64(1 << 63)


class _Part(NamedTuple):
    """Numbers of a block that share the bits found so far, and the smallest one beyond them."""

    keys: Array
    weight: Array
    digits: Array
    sums: Array
    beyond: int


@final
class _Column:
    """The search for the median of a column, by the next 16 bits of its key in each pass.

    Keys are unsigned integers in the order of the numbers. A pass counts the weight of the keys
    that share the bits found so far, by their next bits. The search ends once few keys share them.
    """

    def __init__(self) -> None:
        self.prefix, self.n_bits = 0, 0
        self.median: float | None = None
        self._below = self._half = 0.0
        self.begin()

    def begin(self) -> None:
        """Prepare for a pass."""
        self._counts = np.zeros(1 << _DIGIT)
        self._held: list[_Part] = []
        self._n_held = 0
        self._beyond = (1 << _BITS) - 1

    def add(self, part: _Part, most: int) -> None:
        """Add a part of a pass; hold its keys if there are at most ``most``."""
        self._counts[part.digits] += part.sums
        self._beyond = min(self._beyond, part.beyond)
        self._n_held += len(part.keys)
        if self._n_held <= most:
            self._held.append(part)
        else:
            self._held.clear()

    def finish(self) -> None:
        """Find the median, or more bits of it, after a pass."""
        if not self._n_held:
            raise no_rows()
        if self._held:
            self._search_held()
            return
        share = self._below + np.cumsum(self._counts)
        if not self.n_bits:
            self._half = share[-1] / 2
        present = np.flatnonzero(self._counts)
        # the last digit, if rounding makes the sum smaller than in the first pass
        place = min(int(np.searchsorted(share[present], self._half)), len(present) - 1)
        digit = int(present[place])
        self.prefix = (self.prefix << _DIGIT) | digit
        self.n_bits += _DIGIT
        if self.n_bits < _BITS:
            self._below = share[digit - 1] if digit else self._below
            return
        # all numbers of this key are equal
        upper = self.prefix
        if share[digit] == self._half:
            more = present[place + 1 :]
            upper = self.prefix - digit + int(more[0]) if len(more) else self._beyond
        self.median = float(_numbers(np.array([self.prefix, upper], np.uint64)).mean())

    def _search_held(self) -> None:
        keys = np.concatenate([part.keys for part in self._held])
        weight = np.concatenate([part.weight for part in self._held])
        order = np.argsort(keys, kind="stable")
        share = self._below + np.cumsum(weight[order])
        half = self._half if self.n_bits else share[-1] / 2
        # the two middle rows, which are the same unless the weights split in half between them
        keys = np.append(keys[order], np.uint64(self._beyond))
        ends = [np.searchsorted(share, half, side) for side in ("left", "right")]
        self.median = float(_numbers(keys[ends]).mean())


def medians(rows: Rows, numbers: Numbers, context: Context) -> tuple[bool, Array]:
    """Return whether targets are one-dimensional, and the weighted median of each column.

    Takes one pass for up to 2^20 numbers, and two to four for more.
    """
    single, columns = _pass_over(rows, numbers, [], context)
    while any(column.median is None for column in columns):
        for column in columns:
            column.begin()
        _pass_over(rows, numbers, columns, context)
    return single, np.array([column.median for column in columns])


def _pass_over(
    rows: Rows, numbers: Numbers, columns: list[_Column], context: Context
) -> tuple[bool, list[_Column]]:
    """Read the rows once, and advance the search in each column; no columns begin a search."""
    places = [(column.prefix, column.n_bits) for column in columns]
    single = True

    def of_block(block: Block, _: object) -> tuple[bool, list[_Part]]:
        Y, weight = numbers(block)
        kept, wide = weight > 0, Y.reshape(len(Y), -1)
        known = places or [(0, 0)] * wide.shape[1]
        parts = [_part(y[kept], weight[kept], *at) for y, at in zip(wide.T, known, strict=True)]
        return Y.ndim == 1, parts

    def add(total: list[_Column], found: tuple[bool, list[_Part]]) -> list[_Column]:
        nonlocal single
        single, parts = found
        total = total or [_Column() for _ in parts]
        for column, part in zip(total, parts, strict=True):
            column.add(part, _HELD // len(parts))
        return total

    columns = context.map_reduce(rows, of_block, add, columns)
    for column in columns:
        column.finish()
    return single, columns


def _part(y: Array, weight: Array, prefix: int, n_bits: int) -> _Part:
    """Return the numbers of a block whose keys have these first bits."""
    keys = _keys(y)
    rest = np.uint64(_BITS - n_bits)
    # a shift by all bits is undefined
    first = keys >> rest if n_bits else np.zeros_like(keys)
    inside, larger = first == np.uint64(prefix), keys[first > np.uint64(prefix)]
    keys, weight = keys[inside], weight[inside]
    last = (keys >> np.uint64(_BITS - n_bits - _DIGIT)) & np.uint64((1 << _DIGIT) - 1)
    digits, places = np.unique(last.astype(np.int64), return_inverse=True)
    sums = np.bincount(places, weight, len(digits))
    beyond = int(larger.min()) if len(larger) else (1 << _BITS) - 1
    return _Part(keys, weight, digits, sums, beyond)


def _keys(y: Array) -> Array:
    """Return unsigned integers in the order of float64 numbers; minus zero becomes zero."""
    bits = (y + 0.0).view(np.uint64)
    keys: Array = np.where(bits & _SIGN, ~bits, bits | _SIGN)
    return keys


def _numbers(keys: Array) -> Array:
    """Return the float64 numbers of keys."""
    bits = np.where(keys & _SIGN, keys ^ _SIGN, ~keys)
    return bits.view(np.float64)
