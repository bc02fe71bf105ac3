"""Randomly pitched and shifted grids, and hashes of the bins that rows fall into."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy import sparse

from skimp._core._linalg import canonical, check_columns, dense
from skimp._core._objects import as_numbers
from skimp._core._types import Array, Matrix

_STRIP = 512


@dataclass(frozen=True)
class Grids:
    """Grids, given by columns.

    Attributes
    ----------
    resolutions : array of shape (d, P)
        One over the pitches; zero for columns that a grid does not look at.
    shifts : array of shape (d, P)
        Where zero is in its bin, between 0 and 1.
    origin : array of shape (d,)
        What most rows have in a column, where most agree: they are cheap to bin.
    factors : array of shape (d,)
        Odd numbers that bins are multiplied by in their hash.
    """

    resolutions: Array
    shifts: Array
    origin: Array
    factors: Array

    @classmethod
    def drawn(cls, pitches: Array, X: Matrix, rng: np.random.Generator) -> Self:
        """Draw shifts and factors; the origin is that of some rows."""
        shifts = rng.random(pitches.shape)
        factors = 2 * rng.integers(2**62, size=len(pitches)) + 1
        with np.errstate(over="ignore"):
            resolutions = np.minimum(1 / pitches, np.finfo(np.float64).max)
        return cls(resolutions, shifts, _majorities(X), factors)

    def some(self, part: slice) -> Self:
        """Return some of the grids."""
        R, S = (np.ascontiguousarray(a[:, part]) for a in (self.resolutions, self.shifts))
        return replace(self, resolutions=R, shifts=S)

    def prints(self, X: Matrix) -> Array:
        """Return a 32-bit hash of the bins of each row in each grid."""
        from skimp._core.loops._binning import dense_keys, prints, sparse_keys

        check_columns(X, len(self.origin))
        grids = self.resolutions, self.shifts, self.origin, self.factors
        n, P = X.shape[0], self.shifts.shape[1]
        found = np.empty((n, P), np.uint32)
        keys = np.empty((min(n, _STRIP), P), np.int64)
        for start in range(0, n, _STRIP):
            strip = as_numbers(canonical(X[start : start + _STRIP]), np.dtype(np.float64))
            part = keys[: strip.shape[0]]
            if sparse.issparse(strip):
                sparse_keys(strip.data, strip.indices, strip.indptr, *grids, part)
            else:
                dense_keys(dense(strip, np.dtype(np.float64)), *grids, part)
            prints(part, found[start : start + _STRIP])
        return found


def _majorities(X: Matrix) -> Array:
    """Return what more than half of the rows have in each column, zero where there is no such."""
    majorities = np.zeros(X.shape[1])
    counts = np.asarray((X != 0).sum(axis=0)).ravel()
    columns = np.flatnonzero(2 * counts > X.shape[0])
    for start in range(0, len(columns), 64):
        some = columns[start : start + 64]
        values = dense(X[:, some], np.dtype(np.float64))
        middle = np.sort(values, axis=0)[len(values) // 2]
        most = 2 * np.count_nonzero(values == middle, axis=0) > X.shape[0]
        majorities[some[most]] = middle[most]
    return majorities
