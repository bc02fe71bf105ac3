"""Uniform samples and moments of rows, which do not depend on the block size."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from skimp._core._blocks import Scratch
from skimp._core._objects import as_numbers
from skimp._core._random import row_keys
from skimp._core._types import Array, Matrix
from skimp.data._block import Block, concatenate_rows, join
from skimp.data._context import Context

_SPARE = 1.25
"""Surplus rows are dropped once there are this many times the requested number."""


@dataclass(frozen=True)
class Sample:
    """Sampled rows, sorted by key: the first m rows are the sample of size m for the same seed."""

    X: Matrix
    y: Array | None
    indices: Array
    keys: Array
    weight: Array

    def __getitem__(self, chosen: Array | slice) -> "Sample":
        y = None if self.y is None else self.y[chosen]
        return Sample(
            self.X[chosen], y, self.indices[chosen], self.keys[chosen], self.weight[chosen]
        )


def sample_rows(rows: Any, size: int, seed: int, context: Context) -> Sample:
    """Draw rows uniformly without replacement, in one pass: those with the smallest keys.

    The key of a row is a hash of the seed and the row number, so the sample does not depend on the
    source or the block size. Rows with weight zero are ignored. If there are at most ``size`` rows,
    all of them are drawn.
    """
    return draw_samples(rows, [(size, seed)], context)[0]


def draw_samples(rows: Any, wanted: Sequence[tuple[int, int]], context: Context) -> list[Sample]:
    """Draw several samples, given their sizes and seeds, in one pass."""

    def draw() -> dict[str, Any]:
        return {"samples": [vars(sample) for sample in _draw(rows, wanted, context)]}

    return [Sample(**found) for found in context.once("sample", draw)["samples"]]


def _draw(rows: Any, wanted: Sequence[tuple[int, int]], context: Context) -> list[Sample]:
    """Draw samples; see `draw_samples`."""
    smallest = [_Smallest(size) for size, _ in wanted]

    def of_block(block: Block, _: Scratch) -> list[Sample]:
        pairs = zip(wanted, smallest, strict=True)
        return [_low_rows(block, *sizes, known.bound) for sizes, known in pairs]

    def add(total: list[_Smallest], found: list[Sample]) -> list[_Smallest]:
        for known, part in zip(total, found, strict=True):
            known.add(part)
        return total

    return [known.ordered() for known in context.map_reduce(rows, of_block, add, smallest)]


def _low_rows(block: Block, size: int, seed: int, bound: Any) -> Sample:
    """Return the rows of a block whose keys are at most ``bound``, at most ``size`` of them."""
    keys = row_keys(seed, block.start, block.start + block.size)
    low = keys <= bound
    if block.weight is not None:
        low &= block.weight != 0
    chosen = np.flatnonzero(low)
    chosen = chosen[np.argsort(keys[chosen], kind="stable")[:size]]
    y = None if block.y is None else block.y[chosen]
    weight = block.weights()[chosen]
    return Sample(block.X[chosen], y, block.start + chosen, keys[chosen], weight)


class _Smallest:
    """The rows with the smallest keys so far, and a few more.

    Dropping a row copies the others, so surplus rows are dropped only occasionally.
    """

    def __init__(self, size: int):
        self.bound = np.iinfo(np.uint64).max
        self._size = size
        self._count = 0
        self._parts: list[Sample] = []

    def add(self, found: Sample) -> None:
        if len(found.keys):
            self._parts.append(found)
            self._count += len(found.keys)
        if self._count > self._size:
            keys = np.concatenate([part.keys for part in self._parts])
            self.bound = np.partition(keys, self._size - 1)[self._size - 1]
        if self._count > _SPARE * self._size:
            for i, part in enumerate(self._parts):
                self._parts[i] = part[part.keys <= self.bound]
            self._parts = [part for part in self._parts if len(part.keys)]
            self._count = sum(len(part.keys) for part in self._parts)

    def ordered(self) -> Sample:
        """Return the rows sorted by key, and release them."""
        if not self._parts:
            raise no_rows()
        if len(self._parts) == 1:
            return self._parts.pop()
        parts, self._parts = self._parts, []
        order = np.argsort(np.concatenate([part.keys for part in parts]), kind="stable")
        order = order[: self._size]

        def joined(name: str) -> Any:
            return np.concatenate([getattr(part, name) for part in parts])[order]

        y = None if parts[0].y is None else joined("y")
        numbers = [joined(name) for name in ("indices", "keys", "weight")]
        X = [part.X for part in parts]
        parts.clear()
        return Sample(_placed(X, order), y, *numbers)


def _placed(parts: list[Matrix], order: Array) -> Matrix:
    """Return the rows of several matrices in a given order, releasing each matrix once copied."""
    if not isinstance(parts[0], np.ndarray):
        return concatenate_rows(parts)[order]
    rows = np.empty((len(order), *parts[0].shape[1:]), np.result_type(*parts))
    first = 0
    while parts:
        part = parts.pop(0)
        places = np.flatnonzero((first <= order) & (order < first + len(part)))
        rows[places] = part[order[places] - first]
        first += len(part)
    return rows


def take_rows(rows: Any, numbers: Array, context: Context) -> Block:
    """Return rows by number, in the given order, in one pass; numbers may repeat."""
    order = np.argsort(numbers, kind="stable")
    rising = np.asarray(numbers)[order]

    def of_block(block: Block, _: Scratch) -> Block:
        first, last = np.searchsorted(rising, [block.start, block.start + block.size])
        return block[rising[first:last] - block.start]

    def append(parts: list[Block], part: Block) -> list[Block]:
        if part.size:
            parts.append(part)
        return parts

    initial: list[Block] = []
    parts = context.map_reduce(rows, of_block, append, initial)
    if sum(part.size for part in parts) < len(order):
        raise IndexError(f"row numbers must be below {rows.n_rows}, found {rising[-1]}.")
    taken: Block = join(parts or [next(rows.blocks())[:0]])
    return taken[np.argsort(order, kind="stable")]


def column_of(rows: Any, name: str, context: Context) -> Array | None:
    """Return the ``y`` or the ``weight`` of all rows, or None if the source has none."""
    first = next(rows.blocks(), None)
    if first is None or getattr(first, name) is None:
        return None

    def append(parts: list[Array], part: Array) -> list[Array]:
        parts.append(part)
        return parts

    initial: list[Array] = []
    parts = context.map_reduce(rows, lambda block, _: getattr(block, name), append, initial)
    return np.concatenate(parts)


def no_rows() -> ValueError:
    """Return the error for data without a row of positive weight."""
    return ValueError("X must have at least one row of positive weight, found none.")


@dataclass(frozen=True)
class Moments:
    """Total weight, mean and sum of squared deviations of all entries of X, in float64."""

    weight: float
    mean: float
    deviation: float

    @property
    def variance(self) -> float:
        """The weighted variance of all entries; zero if it is within rounding error."""
        variance = self.deviation / self.weight if self.weight else 0.0
        rounding = 4 * np.finfo(np.float64).eps * abs(self.mean)
        return 0.0 if np.sqrt(variance) <= rounding else variance


def entry_moments(rows: Any, columns: Array | None, context: Context) -> Moments:
    """Return the weighted moments of all entries of X, or of the entries in some columns."""
    n_columns = rows.n_features if columns is None else len(columns)

    def of_block(block: Block, _: Scratch) -> Moments:
        X = as_numbers(block.X if columns is None else block.X[:, columns], np.dtype(np.float64))
        weight = block.weight
        n = block.size if weight is None else float(weight.sum())
        if n == 0:
            return Moments(0.0, 0.0, 0.0)
        row_sums = np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()
        total = row_sums.sum() if weight is None else weight @ row_sums
        mean = float(total) / (n * n_columns)
        squares = _squared_deviations(X, mean)
        deviation = float(squares.sum() if weight is None else weight @ squares)
        return Moments(n * n_columns, mean, deviation)

    def merge(a: Moments, b: Moments) -> Moments:
        weight = a.weight + b.weight
        if weight == 0:
            return a
        shift = b.mean - a.mean
        return Moments(
            weight,
            a.mean + shift * b.weight / weight,
            a.deviation + b.deviation + shift * shift * a.weight * b.weight / weight,
        )

    return context.map_reduce(rows, of_block, merge, Moments(0.0, 0.0, 0.0), record="variance")


def _squared_deviations(X: Matrix, mean: float) -> Array:
    """Return the sum of ``(x - mean)^2`` over each row, including the zeros of sparse rows."""
    if sparse.issparse(X):
        squares = sparse.csr_matrix(((X.data - mean) ** 2, X.indices, X.indptr), X.shape)
        absent = X.shape[1] - np.diff(X.indptr)
        sums: Array = np.asarray(squares.sum(axis=1)).ravel() + absent * (mean * mean)
        return sums
    sums = np.empty(X.shape[0])
    for start in range(0, X.shape[0], 256):
        strip = np.subtract(X[start : start + 256], mean, dtype=np.float64)
        sums[start : start + 256] = np.einsum("ij,ij->i", strip, strip)
    return sums
