"""Random grids, hashes of bins, and the numbering of known bins."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy import sparse

from skimp._core._blocks import Scratch, fold
from skimp._core._linalg import canonical, check_columns, dense
from skimp._core._objects import as_numbers
from skimp._core._types import Array, Matrix
from skimp._core._work import DOUBLE
from skimp.data import LOCAL, Block, Codes, Context, Rows

_STRIP = 512
WAITING = 2**21
"""Number of hashes of rows that are merged at once."""
HELD = 2**23
"""Maximum number of distinct hashes held during one pass over the rows."""


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
        """Find the fullest ``max_bins`` bins of each grid, in one pass unless bins are many."""
        lists: list[Array] = []
        n_grids = grids.shifts.shape[1]
        while len(lists) < n_grids:
            some = grids.some(slice(len(lists), n_grids))
            found = _count(some, rows, context)
            lists += [_fullest(*bins, max_bins) for bins in found.bins]
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


def _count(grids: Grids, rows: Rows, context: Context) -> "_Counts":
    """Return the bins of the first grids, or of all of them, in one pass over the rows."""

    def of_block(block: Block, _: Scratch) -> tuple[Array, Array | None]:
        return grids.prints(block.X), block.weight

    counts = _Counts(grids.shifts.shape[1], context.threads)
    context.map_reduce(rows, of_block, _Counts.add, counts)
    counts.merge()
    return counts


class _Counts:
    """Distinct hashes of each grid and their weights, merged from blocks of rows.

    If there are more than `HELD` hashes, the last grids are left to another pass over the rows.
    """

    def __init__(self, n_grids: int, n_threads: int):
        self._n_threads = n_threads
        self._waiting: list[tuple[Array, Array | None]] = []
        self._size = 0
        none = np.empty(0, np.uint32), np.empty(0, np.int64)
        self.bins: list[tuple[Array, Array]] = [none] * n_grids

    def add(self, part: tuple[Array, Array | None]) -> "_Counts":
        """Add the hashes of some rows, with their weights."""
        self._waiting.append(part)
        self._size += part[0].size
        if self._size > WAITING:
            self.merge()
        return self

    def merge(self) -> None:
        """Merge the hashes that wait with the known ones."""
        if not self._waiting:
            return
        prints, weights = zip(*self._waiting, strict=True)
        self._waiting, self._size = [], 0
        weight = None if weights[0] is None else np.concatenate(weights)
        hashes = np.concatenate([part[:, : len(self.bins)] for part in prints])
        if weight is not None:
            hashes, weight = hashes[weight > 0], weight[weight > 0]
        initial: list[tuple[Array, Array]] = []
        self.bins = fold(
            range(len(self.bins)),
            lambda p, _: _merged(*self.bins[p], hashes[:, p], weight),
            lambda lists, bins: [*lists, bins],
            initial,
            self._n_threads,
        )
        held = np.cumsum([len(bins) for bins, _ in self.bins])
        del self.bins[max(1, int(np.searchsorted(held, HELD, side="right"))) :]


def _merged(bins: Array, counts: Array, prints: Array, weight: Array | None) -> tuple[Array, Array]:
    """Return the sorted distinct hashes after some more rows, and their counts or weights."""
    found, times = np.unique(prints, return_counts=True)
    merged = np.union1d(bins, found)
    places = np.searchsorted(merged, bins)
    if weight is None:
        total = np.zeros(len(merged), np.int64)
        total[places] = counts
        total[np.searchsorted(merged, found)] += times
        return merged, total
    # in the order of the rows, so that sums do not depend on the blocks
    places = np.concatenate([places, np.searchsorted(merged, prints)])
    return merged, np.bincount(places, np.concatenate([counts, weight]))


def _fullest(bins: Array, counts: Array, most: int) -> Array:
    """Return the sorted hashes, restricted to the ``most`` heaviest bins."""
    if len(bins) <= most:
        return bins
    # stable: ties go to the smaller hash
    chosen = np.argsort(-counts, kind="stable")[:most]
    return np.sort(bins[chosen])
