"""Scale columns: standardize numbers, encode categories as indicators, list the effects."""

from dataclasses import dataclass
from operator import itemgetter
from typing import Any, final

import numpy as np

from skimp._core._blocks import Scratch
from skimp._core._linalg import dense
from skimp._core._types import Array, DType, Matrix
from skimp._core._work import DOUBLE
from skimp.data import LOCAL, Block, Context, Rows


@dataclass(frozen=True)
class Term:
    """One effect: the derivative in a column, or the difference between two of its values.

    ``scale`` converts a derivative to units of the column. A difference is taken from ``low`` to
    ``high``, which are None for a derivative. ``kind`` describes the effect in words.
    """

    name: str
    column: int
    scale: float = 1.0
    low: float | None = None
    high: float | None = None
    kind: str = "derivative"


@final
class Design:
    r"""A block map that scales columns.

    Numeric columns are centred and divided by their standard deviation. A categorical column
    becomes one indicator per level, divided by :math:`\sqrt{1 - \sum_l p_l^2}`, where p are the
    shares of the levels. Two random rows then have a mean squared distance of 2 in every column.
    ``levels`` maps the number of a column to its levels; the rows hold codes of the levels.
    """

    dtype: DType = DOUBLE

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
        found = _scan(rows, levels, context)
        deviation, varies = np.sqrt(found.square / found.weight), found.high > found.low
        lost = np.flatnonzero(varies & ~((deviation > 0) & np.isfinite(deviation)))
        if len(lost):
            j = lost[0]
            raise ValueError(
                f"X must have columns whose squares float64 can represent, found column "
                f"{names[j]!r} between {found.low[j]:.3g} and {found.high[j]:.3g}: rescale it."
            )
        self.limits = np.stack([found.low, found.high])
        self.typical = np.array(
            [
                mean if tally is None else max(sorted(tally.items()), key=itemgetter(1))[0]
                for mean, tally in zip(found.mean, found.tallies, strict=True)
            ]
        )
        numeric = np.array([j not in levels for j in range(len(names))])
        self._mean = np.where(numeric & standardize, found.mean, 0.0)
        unbiased = np.sqrt(rows.n_rows / max(rows.n_rows - ddof, 1))
        self._scale = np.where(numeric & varies & standardize, unbiased * deviation, 1.0)
        for j in levels if standardize else ():
            shares = np.array(list((found.tallies[j] or {}).values())) / found.weight
            spread = 1 - np.square(shares).sum()
            self._scale[j] = np.sqrt(spread) if spread > 0 else 1.0
        self.deviations = np.where(varies, deviation, 1.0) / self._scale
        """Standard deviations of the scaled numeric columns."""
        widths = [len(levels.get(j, (0,))) for j in range(len(names))]
        self._starts = np.concatenate([[0], np.cumsum(widths)])
        self.terms = [
            term for j, tally in enumerate(found.tallies) for term in self._terms(j, tally or {})
        ]

    def _terms(self, j: int, tally: dict[float, float]) -> list[Term]:
        name = self.names[j]
        if j in self.levels:
            first, *others = self.levels[j]
            return [
                Term(f"{name}={level}", j, low=0.0, high=float(i), kind=f"from {first}")
                for i, level in enumerate(others, start=1)
            ]
        if len(tally) == 2:
            low, high = sorted(tally)
            return [Term(name, j, low=low, high=high, kind=f"from {low:.12g} to {high:.12g}")]
        kind = "constant" if tally else "derivative"
        return [Term(name, j, scale=1 / float(self._scale[j]), kind=kind)]

    @property
    def width(self) -> int:
        """Number of scaled columns, indicators included."""
        return int(self._starts[-1])

    @property
    def column_names(self) -> list[str]:
        """Names of the scaled columns."""
        return [
            name if j not in self.levels else f"{name}={level}"
            for j, name in enumerate(self.names)
            for level in self.levels.get(j, ("",))
        ]

    def place(self, column: int) -> slice:
        """Return the positions of a column's scaled values."""
        return slice(*self._starts[column : column + 2])

    def values_along(self, column: int, n_points: int) -> Array:
        """Return all levels of a column, its two values, or points between its limits."""
        if column in self.levels:
            return np.arange(len(self.levels[column]), dtype=float)
        low, high = self.limits[:, column]
        two = any(term.column == column and term.high is not None for term in self.terms)
        return np.array([low, high]) if two else np.linspace(low, high, n_points)

    def decoded(self, column: int, values: Array) -> Array:
        """Return the levels for codes; values of numeric columns stay unchanged."""
        if column not in self.levels:
            return values
        return np.asarray(np.array(self.levels[column], dtype=object)[values.astype(int)])

    def map_block(self, X: Matrix, out: Array) -> None:
        """Write the scaled rows X into ``out``."""
        X = dense(X, DOUBLE)
        for j in range(X.shape[1]):
            out[:, self.place(j)] = self.encoded(j, X[:, j])

    def encoded(self, column: int, values: Any) -> Array:
        """Return the scaled values of one column, of shape (n, width)."""
        values = np.asarray(values, DOUBLE).reshape(-1, 1)
        if column in self.levels:
            numbers = np.arange(len(self.levels[column]))
            return np.asarray((values == numbers) / self._scale[column])
        return np.asarray((values - self._mean[column]) / self._scale[column])


@dataclass
class _Statistics:
    """Statistics of the columns, from one pass over the rows.

    ``tallies`` holds the weight of each value of a column that is categorical or has at most two
    values, and None for other columns.
    """

    weight: float
    mean: Array
    square: Array
    low: Array
    high: Array
    tallies: list[dict[float, float] | None]


def _scan(rows: Rows, levels: dict[int, list[Any]], context: Context) -> _Statistics:
    most = [len(levels[j]) if j in levels else 2 for j in range(rows.n_features)]

    def of_block(block: Block, _: Scratch) -> _Statistics:
        X, w = dense(block.X, DOUBLE), block.weights()
        mean = w @ X / w.sum()
        tallies = [_tally(x, w, limit) for x, limit in zip(X.T, most, strict=True)]
        square = w @ np.square(X - mean)
        return _Statistics(float(w.sum()), mean, square, X.min(axis=0), X.max(axis=0), tallies)

    def merge(a: _Statistics | None, b: _Statistics) -> _Statistics:
        if a is None:
            return b
        weight, shift = a.weight + b.weight, b.mean - a.mean
        return _Statistics(
            weight=weight,
            mean=a.mean + shift * b.weight / weight,
            square=a.square + b.square + shift**2 * a.weight * b.weight / weight,
            low=np.minimum(a.low, b.low),
            high=np.maximum(a.high, b.high),
            tallies=list(map(_add_tallies, a.tallies, b.tallies, most)),
        )

    initial: _Statistics | None = None
    found = context.map_reduce(rows, of_block, merge, initial)
    assert found is not None, "rows that were checked are not empty"
    return found


def _tally(values: Array, weight: Array, most: int) -> dict[float, float] | None:
    # the first rows decide for nearly every numeric column, without sorting all values
    if len(np.unique(values[: most + 1])) > most:
        return None
    found, numbers = np.unique(values, return_inverse=True)
    if len(found) > most:
        return None
    return dict(zip(found.tolist(), np.bincount(numbers, weight).tolist(), strict=True))


def _add_tallies(
    a: dict[float, float] | None, b: dict[float, float] | None, most: int
) -> dict[float, float] | None:
    if a is None or b is None:
        return None
    total = {value: a.get(value, 0.0) + b.get(value, 0.0) for value in {**a, **b}}
    return total if len(total) <= most else None
