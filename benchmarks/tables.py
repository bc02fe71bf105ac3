"""A registry of generated and public data sets, and fits of them."""

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[Any]
Make = Callable[[Generator, int], tuple[Any, Array]]

TABLES: dict[str, "Table"] = {}


@dataclass(frozen=True)
class Table:
    """A data set: a function of a generator and a number of rows that returns X and y.

    Two fits belong to each size and split: raw and scaled columns, one of them in float32. All
    four if ``full``.
    """

    name: str
    make: Make
    classes: bool
    sizes: tuple[int, ...]
    splits: int
    full: bool

    def cases(self) -> Iterator["Case"]:
        for turn, (n, split) in enumerate((n, s) for n in self.sizes for s in range(self.splits)):
            for scaled in (False, True):
                for single in (False, True):
                    if self.full or single == ((turn % 2 == 0) == scaled):
                        yield Case(self, n, scaled, single, split)


@dataclass(frozen=True)
class Case:
    """One default fit: n training rows of a table, and half as many test rows (at least 50)."""

    table: Table
    n: int
    scaled: bool
    single: bool
    split: int

    def __str__(self) -> str:
        form, dtype = "scaled" if self.scaled else "raw", "float32" if self.single else "float64"
        kind = "class" if self.table.classes else "regr"
        return f"{kind}/{self.table.name}/{self.n}/{form}/{dtype}/{self.split}"

    def data(self) -> tuple[Any, Array, Any, Array]:
        """Return X, y, X_test and y_test."""
        rng = np.random.default_rng([zlib.crc32(self.table.name.encode()), self.n, self.split])
        X, y = self.table.make(rng, self.n + max(50, self.n // 2))
        order = rng.permutation(len(y))
        train, test = order[: self.n], order[self.n :]
        if self.scaled:
            X = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=float)
            spread = X[train].std(axis=0)
            X = (X - X[train].mean(axis=0)) / np.where(spread > 0, spread, 1)
        dtype = np.float32 if self.single else np.float64
        X = X.astype(dtype)
        y = y.astype(dtype) if y.dtype.kind == "f" else y
        return X[train], y[train], X[test], y[test]


def table(
    *sizes: int, classes: bool = False, splits: int = 1, full: bool = False
) -> Callable[[Make], Make]:
    """Register a function of a generator and a number of rows under its own name."""

    def register(make: Make) -> Make:
        name = make.__name__
        key = f"{'class' if classes else 'regr'}/{name}"
        TABLES[key] = Table(name, make, classes, sizes, splits, full)
        return make

    return register


def one_hot(levels: Array, count: int) -> Array:
    return np.asarray(levels[:, None] == np.arange(count), dtype=float)


def some(rng: Generator, n: int, X: Any, y: Array) -> tuple[Any, Array]:
    """Return n rows, or all if there are fewer."""
    rows = rng.permutation(len(y))[:n]
    return X[rows].astype(float), y[rows]
