"""Columns on one scale: numbers standardized, categories as indicators, and what to ask of each."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from skimp._core._blocks import Scratch
from skimp._core._linalg import dense
from skimp._core._types import Array, DType, Matrix
from skimp.data import LOCAL, Block, Context, Rows

_DOUBLE = np.dtype(np.float64)


@dataclass(frozen=True)
class Term:
    """One effect: the derivative in a column, or the difference between two of its values.

    ``scale`` gives a derivative the units of the column; ``low`` and ``high`` are the values that a
    difference is taken between, None for a derivative; ``kind`` says in words what it is.
    """

    name: str
    column: int
    scale: float = 1.0
    low: float | None = None
    high: float | None = None
    kind: str = "derivative"


@final
class Design:
    r"""A block map from columns to numbers on one scale.

    Numbers are centred and divided by their standard deviation. A column of levels becomes one
    indicator for each of its levels, divided by :math:`\sqrt{1 - \sum_l p_l^2}`, with p the shares
    of the levels: two random rows then have the mean squared distance 2, as in every other column.
    ``levels`` are those of each column by its number; the rows hold their numbers instead.
    """

    dtype: DType = _DOUBLE

    def __init__(
        self,
        rows: Rows,
        names: list[str],
        levels: dict[int, list[Any]],
        *,
        standardize: bool,
        ddof: int = 0,
        context: Context = LOCAL,
    ):
        self.names = names
        self.levels = levels
        found = _Statistics.of(rows, levels, context)
        self.typical = np.where(found.binary, found.common, found.mean)
        self.limits = np.stack([found.low, found.high])
        for j, counts in found.counts.items():
            self.typical[j] = np.argmax(counts)
        varies = found.high > found.low
        self._check_scale(varies, found)
        numeric = np.array([j not in levels for j in range(len(names))])
        self._mean = np.where(numeric & standardize, found.mean, 0.0)
        unbiased = np.sqrt(rows.n_rows / max(rows.n_rows - ddof, 1))
        self._scale = np.where(numeric & varies & standardize, unbiased * found.deviation, 1.0)
        for j, counts in found.counts.items():
            spread = 1 - np.square(counts / counts.sum()).sum()
            self._scale[j] = np.sqrt(spread) if standardize and spread > 0 else 1.0
        widths = [len(levels.get(j, (0,))) for j in range(len(names))]
        self._deviation = np.where(varies, found.deviation, 1.0) / self._scale
        self._starts = np.concatenate([[0], np.cumsum(widths)])
        self.terms = [term for j in range(len(names)) for term in self._terms(j, found)]

    def _check_scale(self, varies: Array, found: "_Statistics") -> None:
        """Raise for columns whose squares overflow or vanish."""
        deviation = found.deviation
        lost = np.flatnonzero(varies & ~((deviation > 0) & np.isfinite(deviation)))
        if len(lost):
            j = int(lost[0])
            raise ValueError(
                f"X must be of a scale whose squares float64 can hold, found column "
                f"{self.names[j]!r} between {found.low[j]:.3g} and {found.high[j]:.3g}: rescale it."
            )

    def _terms(self, j: int, found: "_Statistics") -> list[Term]:
        name = self.names[j]
        if j in self.levels:
            first, *others = self.levels[j]
            return [
                Term(f"{name}={level}", j, low=0.0, high=float(i), kind=f"from {first}")
                for i, level in enumerate(others, start=1)
            ]
        if found.binary[j]:
            low, high = float(found.low[j]), float(found.high[j])
            return [Term(name, j, low=low, high=high, kind=f"from {low:.12g} to {high:.12g}")]
        kind = "derivative" if found.high[j] > found.low[j] else "constant"
        return [Term(name, j, scale=1 / float(self._scale[j]), kind=kind)]

    @property
    def width(self) -> int:
        """Number of columns of the result."""
        return int(self._starts[-1])

    @property
    def column_names(self) -> list[str]:
        """Names of the columns of the result."""
        return [
            name if j not in self.levels else f"{name}={level}"
            for j, name in enumerate(self.names)
            for level in self.levels.get(j, ("",))
        ]

    def deviation(self, column: int) -> float:
        """Return the standard deviation of a column of numbers in the result."""
        return float(self._deviation[column])

    def place(self, column: int) -> slice:
        """Return where the numbers of a column are in the result."""
        return slice(*self._starts[column : column + 2])

    def values_along(self, column: int, n_points: int) -> Array:
        """Return all levels of a column, both of two values, or points from least to largest."""
        if column in self.levels:
            return np.arange(len(self.levels[column]), dtype=float)
        low, high = self.limits[:, column]
        two = any(term.column == column and term.high is not None for term in self.terms)
        return np.array([low, high]) if two else np.linspace(low, high, n_points)

    def decoded(self, column: int, values: Array) -> Array:
        """Return numbers of levels as levels, other numbers as they are."""
        if column not in self.levels:
            return values
        return np.asarray(np.array(self.levels[column], dtype=object)[values.astype(int)])

    def map_block(self, X: Matrix, out: Array) -> None:
        """Write the scaled numbers of the rows X into ``out``."""
        X = dense(X, _DOUBLE)
        for j in range(X.shape[1]):
            out[:, self.place(j)] = self.encoded(j, X[:, j])

    def encoded(self, column: int, values: Any) -> Array:
        """Return values of one column as the result has them, of shape (n, width)."""
        values = np.asarray(values, _DOUBLE).reshape(-1, 1)
        if column in self.levels:
            numbers = np.arange(len(self.levels[column]))
            return np.asarray((values == numbers) / self._scale[column])
        return np.asarray((values - self._mean[column]) / self._scale[column])


@dataclass
class _Statistics:
    """What one pass over the rows finds out about their columns."""

    weight: float
    mean: Array
    square: Array
    low: Array
    high: Array
    binary: Array
    at_high: Array
    counts: dict[int, Array]

    @property
    def deviation(self) -> Array:
        return np.asarray(np.sqrt(self.square / self.weight))

    @property
    def common(self) -> Array:
        """The more frequent of two values."""
        return np.where(2 * self.at_high > self.weight, self.high, self.low)

    @classmethod
    def of(cls, rows: Rows, levels: dict[int, list[Any]], context: Context) -> "_Statistics":
        def of_block(block: Block, _: Scratch) -> "_Statistics":
            X = dense(block.X, _DOUBLE)
            w = block.weights()
            low, high, mean = X.min(axis=0), X.max(axis=0), w @ X / w.sum()
            return cls(
                weight=float(w.sum()),
                mean=mean,
                square=w @ np.square(X - mean),
                low=low,
                high=high,
                binary=((low == X) | (high == X)).all(axis=0) & (low < high),
                at_high=w @ (high == X),
                counts={j: np.bincount(X[:, j].astype(int), w, len(levels[j])) for j in levels},
            )

        initial: _Statistics | None = None
        found = context.map_reduce(rows, of_block, _merge, initial)
        assert found is not None, "rows that were checked are not empty"
        return found


def _merge(a: _Statistics | None, b: _Statistics) -> _Statistics:
    if a is None:
        return b
    weight, shift = a.weight + b.weight, b.mean - a.mean
    low, high = np.minimum(a.low, b.low), np.maximum(a.high, b.high)

    def within(part: _Statistics) -> Array:
        """Return whether all values of a part are the least or the largest of both, by column."""
        two = part.binary | (part.low == part.high)
        ends = [(end == low) | (end == high) for end in (part.low, part.high)]
        return np.asarray(two & ends[0] & ends[1])

    def at_high(part: _Statistics) -> Array:
        """Return the weight at the largest value of both, for columns of two values."""
        return np.where(part.high == high, part.at_high, 0.0)

    return _Statistics(
        weight=weight,
        mean=a.mean + shift * b.weight / weight,
        square=a.square + b.square + shift**2 * a.weight * b.weight / weight,
        low=low,
        high=high,
        binary=within(a) & within(b) & (low < high),
        at_high=at_high(a) + at_high(b),
        counts={j: a.counts[j] + b.counts[j] for j in a.counts},
    )
