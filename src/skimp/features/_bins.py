"""The bins of grids that have a number, found in some rows."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from skimp._core._blocks import fold
from skimp._core._types import Array
from skimp.data import LOCAL, Codes, Context, Rows
from skimp.features._grids import Grids

PRINTS = 2**24
"""Hashes that are looked at in one pass over the rows."""


@dataclass(frozen=True)
class Bins:
    """Sorted hashes of the known bins of each grid, with an index of their leading bits.

    Attributes
    ----------
    known : array of uint32
        The hashes, grid after grid.
    counts : array of shape (P,)
        How many there are of each grid.
    starts : array
        For each grid, where the hashes with the leading bits 0, 1, 2, ... begin in ``known``.
    firsts, shifts : arrays of shape (P,)
        Where the grid begins in ``starts``, and how many bits are not leading ones.
    """

    known: Array
    counts: Array
    starts: Array
    firsts: Array
    shifts: Array

    @classmethod
    def found(cls, grids: Grids, rows: Rows, max_bins: int, context: Context = LOCAL) -> Self:
        """Find the bins of some rows, the fullest ones of each grid."""
        P = grids.shifts.shape[1]
        # passes are cheaper than memory for the hashes of all grids at once
        step = max(1, PRINTS // max(1, rows.n_rows))
        lists: list[Array] = []
        for start in range(0, P, step):
            lists += _found(grids.some(slice(start, start + step)), rows, max_bins, context)
        counts = np.array([len(bins) for bins in lists])
        # about one hash to each number of leading bits
        shifts = np.array([32 - max(1, (len(bins) - 1).bit_length()) for bins in lists], np.uint32)
        begins = np.cumsum(counts) - counts
        starts = [
            _index(begin, bins, shift)
            for begin, bins, shift in zip(begins, lists, shifts.tolist(), strict=True)
        ]
        lengths = np.array([len(part) for part in starts])
        firsts = np.cumsum(lengths) - lengths
        return cls(np.concatenate(lists), counts, np.concatenate(starts), firsts, shifts)

    def look_up(self, prints: Array, codes: Array) -> None:
        """Write the number of each hash among those of its grid, from 1 on, and 0 if unknown."""
        from skimp._core.loops._binning import look_up

        look_up(prints, self.known, self.starts, self.firsts, self.shifts, codes)

    def codes(self, value: np.floating) -> Codes:
        """Return no rows, with a column for each bin and one for none of them in each grid."""
        sizes = self.counts + 1
        dtype = np.min_scalar_type(int(self.counts.max()))
        none = np.empty((0, len(sizes)), dtype)
        return Codes(none, np.cumsum(sizes) - sizes, value, int(sizes.sum()), first=1)


def _found(grids: Grids, rows: Rows, max_bins: int, context: Context) -> list[Array]:
    """Return the hashes of the fullest bins of each grid, in one pass."""
    P = grids.shifts.shape[1]
    prints = context.compute(rows, lambda block, _: grids.prints(block.X), (P,), np.uint32)
    weight = rows.weights(context)
    if weight is not None and not weight.all():
        prints, weight = prints[weight > 0], weight[weight > 0]

    def append(lists: list[Array], bins: Array) -> list[Array]:
        return [*lists, bins]

    initial: list[Array] = []
    return fold(
        range(P),
        lambda p, _: _fullest(prints[:, p], weight, max_bins),
        append,
        initial,
        context.threads,
    )


def _index(begin: int, bins: Array, shift: int) -> Array:
    """Return where the hashes with each number of leading bits begin, and the end."""
    places = np.searchsorted(bins, np.arange(0, 2**32, 2**shift))
    return (begin + np.append(places, len(bins))).astype(np.uint32)


def _fullest(prints: Array, weight: Array | None, most: int) -> Array:
    """Return the hashes that occur, those with the most weight where there are too many, sorted."""
    bins, counts = np.unique(prints, return_counts=True)
    if len(bins) <= most:
        return bins
    if weight is not None:
        counts = np.bincount(np.searchsorted(bins, prints), weight)
    # stable: of bins with equal counts, those with the smaller hash
    chosen = np.argsort(-counts, kind="stable")[:most]
    return np.sort(bins[chosen])
