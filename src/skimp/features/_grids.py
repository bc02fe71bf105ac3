"""Random grids, hashes of bins, and the numbering of known bins."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy import sparse

from skimp._core._blocks import fold
from skimp._core._linalg import canonical, check_columns, dense
from skimp._core._objects import as_numbers
from skimp._core._types import Array, Matrix
from skimp._core._work import DOUBLE
from skimp.data import LOCAL, Codes, Context, Rows

_STRIP = 512
PRINTS = 2**24
"""Maximum number of hashes held during one pass over the rows."""


@dataclass(frozen=True)
class Grids:
    """P random grids over d columns."""

    resolutions: Array  # (d, P): 1 / pitch; 0 if a grid ignores the column
    shifts: Array  # (d, P): position of zero within its bin, between 0 and 1
    origin: Array  # (d,): value of more than half of the rows, which are then cheap to bin, or 0
    factors: Array  # (d,): odd multipliers of the hash

    @classmethod
    def draw(cls, pitches: Array, X: Matrix, rng: np.random.Generator) -> Self:
        """Draw shifts and hash factors; find the origin from the sample X."""
        shifts = rng.random(pitches.shape)
        factors = 2 * rng.integers(2**62, size=len(pitches)) + 1
        with np.errstate(over="ignore"):
            resolutions = np.minimum(1 / pitches, np.finfo(np.float64).max)
        return cls(resolutions, shifts, _majorities(X), factors)

    def some(self, part: slice) -> Self:
        R, S = (np.ascontiguousarray(a[:, part]) for a in (self.resolutions, self.shifts))
        return replace(self, resolutions=R, shifts=S)

    def prints(self, X: Matrix) -> Array:
        """Return a 32-bit hash of the bin of each row in each grid."""
        from skimp._core.loops._binning import dense_keys, prints, sparse_keys

        check_columns(X, len(self.origin))
        grids = self.resolutions, self.shifts, self.origin, self.factors
        n, P = X.shape[0], self.shifts.shape[1]
        found = np.empty((n, P), np.uint32)
        keys = np.empty((min(n, _STRIP), P), np.int64)
        for start in range(0, n, _STRIP):
            strip = as_numbers(canonical(X[start : start + _STRIP]), DOUBLE)
            part = keys[: strip.shape[0]]
            if sparse.issparse(strip):
                sparse_keys(strip.data, strip.indices, strip.indptr, *grids, part)
            else:
                dense_keys(dense(strip, DOUBLE), *grids, part)
            prints(part, found[start : start + _STRIP])
        return found


def _majorities(X: Matrix) -> Array:
    """Return the value of more than half of the rows in each column, or zero if there is none."""
    majorities = np.zeros(X.shape[1])
    counts = np.asarray((X != 0).sum(axis=0)).ravel()
    columns = np.flatnonzero(2 * counts > X.shape[0])
    for start in range(0, len(columns), 64):
        some = columns[start : start + 64]
        values = dense(X[:, some], DOUBLE)
        middle = np.sort(values, axis=0)[len(values) // 2]
        most = 2 * np.count_nonzero(values == middle, axis=0) > X.shape[0]
        majorities[some[most]] = middle[most]
    return majorities


@dataclass(frozen=True)
class Bins:
    """Sorted hashes of the known bins of each grid, indexed by their leading bits."""

    known: Array  # 32-bit hashes of all grids, one grid after the other
    counts: Array  # (P,): number of hashes per grid
    starts: Array  # per grid: positions in ``known`` where leading bits 0, 1, 2, ... start
    firsts: Array  # (P,): position in ``starts`` where each grid starts
    shifts: Array  # (P,): number of bits that are not leading bits

    @classmethod
    def find(cls, grids: Grids, rows: Rows, max_bins: int, context: Context = LOCAL) -> Self:
        """Find the fullest ``max_bins`` bins of each grid."""
        # several passes over the rows are cheaper than holding the hashes of all grids
        step = max(1, PRINTS // max(1, rows.n_rows))
        lists: list[Array] = []
        for start in range(0, grids.shifts.shape[1], step):
            lists += _fill_bins(grids.some(slice(start, start + step)), rows, max_bins, context)
        counts = np.array([len(bins) for bins in lists])
        begins = np.cumsum(counts) - counts
        # choose the number of leading bits so that each of their values has about one hash
        shifts = np.array([32 - max(1, (len(bins) - 1).bit_length()) for bins in lists], np.uint32)
        starts = []
        for begin, bins, shift in zip(begins, lists, shifts.tolist(), strict=True):
            places = np.searchsorted(bins, np.arange(0, 2**32, 2**shift))
            starts.append((begin + np.append(places, len(bins))).astype(np.uint32))
        lengths = np.array([len(part) for part in starts])
        firsts = np.cumsum(lengths) - lengths
        return cls(np.concatenate(lists), counts, np.concatenate(starts), firsts, shifts)

    def look_up(self, prints: Array, codes: Array) -> None:
        """Write the number of each hash within its grid, from 1; 0 for unknown hashes."""
        from skimp._core.loops._binning import look_up

        look_up(prints, self.known, self.starts, self.firsts, self.shifts, codes)

    def layout(self, value: np.floating) -> Codes:
        """Return empty `Codes`: for each grid, one column for unknown bins and one per bin."""
        sizes = self.counts + 1
        dtype = np.min_scalar_type(int(self.counts.max()))
        none = np.empty((0, len(sizes)), dtype)
        return Codes(none, np.cumsum(sizes) - sizes, value, int(sizes.sum()), first=1)


def _fill_bins(grids: Grids, rows: Rows, max_bins: int, context: Context) -> list[Array]:
    """Return the hashes of the fullest bins of each grid, in one pass over the rows."""
    P = grids.shifts.shape[1]
    prints = context.compute(rows, lambda block, _: grids.prints(block.X), (P,), np.uint32)
    weight = rows.weights(context)
    if weight is not None and not weight.all():
        prints, weight = prints[weight > 0], weight[weight > 0]
    initial: list[Array] = []
    return fold(
        range(P),
        lambda p, _: _fullest(prints[:, p], weight, max_bins),
        lambda lists, bins: [*lists, bins],
        initial,
        context.threads,
    )


def _fullest(prints: Array, weight: Array | None, most: int) -> Array:
    """Return the sorted distinct hashes, restricted to the ``most`` heaviest bins."""
    bins, counts = np.unique(prints, return_counts=True)
    if len(bins) <= most:
        return bins
    if weight is not None:
        counts = np.bincount(np.searchsorted(bins, prints), weight)
    # stable: ties go to the smaller hash
    chosen = np.argsort(-counts, kind="stable")[:most]
    return np.sort(bins[chosen])
