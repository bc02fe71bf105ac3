"""Distance-based hashing: a point of each bucket."""

from math import floor, log2
from typing import ClassVar, final

import numpy as np

from skimp._core._blocks import Scratch
from skimp._core._linalg import check_representable, product
from skimp._core._objects import as_real
from skimp._core._random import draw_seed, row_keys
from skimp._core._types import Array, Matrix
from skimp._params._rules import Rule, integer, one_of
from skimp.budgets._base import Budget, RowSelector
from skimp.budgets._clusters import vectors
from skimp.budgets._groups import find_medoids, share_points
from skimp.data import LOCAL, Block, Context, Rows
from skimp.kernels import Kernel

_ROUNDING = 64
_MANY = 2**31


@final
class DBH(RowSelector):
    r"""Distance-based hashing: rows fall into buckets, of each of which a medoid is taken.

    Pairs of random rows :math:`(a, b)`, the whole part of :math:`\log_2 m` of them, give a
    projection each, :math:`k(x, a) - k(x, b)`, which is where x lies between the two in feature
    space, up to a constant factor and shift. Half of the rows get a zero, the others a one. Rows
    with equal bits share a bucket; the point of a bucket is the medoid of a few of its rows.

    Rows of equal projections are split at random. Buckets differ in size, and some are empty: large
    buckets give more points then, each the medoid of other rows.

    Takes 2 n log m kernel values, and O(n log m) memory.

    Parameters
    ----------
    members : int, default=10
        Rows of a bucket that a medoid is taken of. One makes it a uniform draw from each bucket.
    hashing : "median", "interval" or "floor", default="median"
        A bit says whether the projection is above the median, or in an interval, drawn at random,
        of half of the rows. Or integers instead of bits,
        :math:`\lfloor (v^T x + c) / w \rfloor`, with a normal v, a uniform c, and cells whose
        width w is twice the standard deviation of the projection, for kernels of vectors.

    References
    ----------
    Athitsos, Potamias, Papapetrou and Kollios (2008), Nearest neighbor retrieval using
    distance-based hashing.
    Castellanos (2021), Scalable kernel methods using randomized numerical linear algebra, algorithm
    1.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.budgets import DBH
    >>> from skimp.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(1000, 3))
    >>> budget = DBH().select(X, 100, Gaussian(gamma=0.1), np.random.default_rng(0))
    >>> len(np.unique(budget.indices))
    100
    """

    rules: ClassVar[dict[str, Rule]] = {
        "members": integer(at_least=1, at_most=1000),
        "hashing": one_of("median", "interval", "floor"),
    }

    def __init__(self, *, members: int = 10, hashing: str = "median"):
        self.members = members
        self.hashing = hashing

    def choose(
        self, rows: Rows, size: int, kernel: Kernel, rng: np.random.Generator, context: Context
    ) -> Budget:
        """Choose points; see `RowSelector.choose`."""
        buckets = self._buckets(rows, floor(log2(size)), kernel, rng, context)
        counts = np.bincount(buckets)
        given = share_points(counts, size)
        # each point has members of its own, drawn by hash, that no other point of the bucket has
        order = np.lexsort((row_keys(draw_seed(rng), 0, rows.n_rows), buckets))
        rank = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        offsets = np.cumsum(given) - given
        taken = rank < (given * self.members)[buckets[order]]
        bucket, rank = buckets[order][taken], rank[taken]
        point = offsets[bucket] + rank % given[bucket]
        by_point = np.argsort(point, kind="stable")
        numbers = order[taken][by_point]
        X = as_real(rows.take(numbers, context).X, rows.dtype)
        chosen = find_medoids(X, point[by_point], kernel, rows.dtype, context)
        return Budget(rows.take(numbers[chosen], context).X, numbers[chosen])

    def _buckets(
        self, rows: Rows, n_hashes: int, kernel: Kernel, rng: np.random.Generator, context: Context
    ) -> Array:
        """Return the number of each row's bucket, from zero, none of them empty."""
        if n_hashes == 0:
            return np.zeros(rows.n_rows, np.int64)
        dtype = rows.dtype
        if self.hashing == "floor":
            V = rng.standard_normal((rows.n_features, n_hashes)).astype(dtype)
        else:
            pairs = random_pairs(rows, n_hashes, rng, context)
            columns = kernel.bind(as_real(pairs, dtype), dtype)

        def project(block: Block, scratch: Scratch) -> Array:
            if self.hashing == "floor":
                P = scratch.array("P", (block.size, n_hashes), dtype)
                product(vectors(block.X, kernel, dtype, owner=type(self).__name__), V, P)
                return P
            K = scratch.array("K", (block.size, 2 * n_hashes), dtype)
            columns.fill(block.X, K)
            return K[:, :n_hashes] - K[:, n_hashes:]

        P = context.compute(rows, project, (n_hashes,), dtype)
        check_representable(P)
        if self.hashing == "floor":
            P = P / (np.abs(P).max(axis=0) + np.finfo(dtype).tiny)
            widths = 2 * P.std(axis=0, dtype=np.float64)
            widths[widths == 0] = 1
            return _number(np.floor(P / widths + rng.uniform(size=n_hashes)).astype(np.int64))
        codes = np.empty(P.shape, np.int64)
        for i in range(n_hashes):
            first = 0.5 if self.hashing == "median" else rng.uniform(0, 0.5)
            codes[:, i] = _bits(P[:, i], first, draw_seed(rng))
        return _number(codes)


def random_pairs(
    rows: Rows, size: int, rng: np.random.Generator, context: Context = LOCAL
) -> Matrix:
    """Return the first rows of some pairs, then the second ones; a pair is of two rows."""
    numbers = [rng.choice(rows.n_rows, 2, replace=rows.n_rows < 2) for _ in range(size)]
    return rows.take(np.reshape(numbers, (size, 2)).T.ravel(), context).X


def _bits(projection: Array, first: float, seed: int) -> Array:
    """Return ones for the half of the rows that begins at a fraction of the projection's ranks.

    Differences by rounding are ties, which a hash of the row number breaks.
    """
    n, largest = len(projection), np.abs(projection).max()
    resolution = _ROUNDING * np.finfo(projection.dtype).eps
    steps = np.round(projection / largest / resolution) if largest > 0 else projection
    keys = row_keys(seed, 0, n)
    start = round(first * n)
    bits: Array = _least(steps, keys, min(n, start + (n + 1) // 2)) & ~_least(steps, keys, start)
    return bits


def _least(values: Array, keys: Array, count: int) -> Array:
    """Return a mask of the ``count`` least values, of equal ones those with the least keys."""
    if count == 0:
        return np.zeros(len(values), bool)
    limit = np.partition(values, count - 1)[count - 1]
    mask: Array = values < limit
    tied = np.flatnonzero(values == limit)
    mask[tied[np.argsort(keys[tied], kind="stable")[: count - np.count_nonzero(mask)]]] = True
    return mask


def _number(codes: Array) -> Array:
    """Return the number of each row's combination of codes, counted from zero, without gaps."""
    numbers = np.zeros(len(codes), np.int64)
    for column in codes.T:
        column = column - column.min(initial=0)
        span = int(column.max(initial=0)) + 1
        numbers = numbers * span + column
        if int(numbers.max(initial=0)) > _MANY:
            numbers = np.unique(numbers, return_inverse=True)[1]
    dense: Array = np.unique(numbers, return_inverse=True)[1]
    return dense
