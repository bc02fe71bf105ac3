"""Landmarks by distance-based hashing."""

from math import floor, log2
from typing import ClassVar, final

import numpy as np

from skimp._core._blocks import Scratch
from skimp._core._linalg import check_representable, product
from skimp._core._objects import as_real
from skimp._core._random import draw_seed, row_keys
from skimp._core._types import Array, Matrix
from skimp._core._work import Size, Work
from skimp._params._rules import Rule, integer, one_of
from skimp.budgets._base import MANY_ROWS, Budget, RowSelector
from skimp.budgets._clusters import vectors
from skimp.budgets._groups import find_medoids, share_points
from skimp.data import LOCAL, Block, Context, Rows
from skimp.kernels import Kernel

_ROUNDING = 64
_MANY = 2**31


@final
class DBH(RowSelector):
    r"""Medoids of the buckets of distance-based hashing.

    Each of :math:`\lfloor \log_2 m \rfloor` random pairs of rows :math:`(a, b)` gives one bit
    per row. The bit comes from the projection :math:`k(x, a) - k(x, b)`, which is the position of
    x on the line through a and b in feature space, up to a constant factor and shift. Half of the
    rows get a one, the others a zero; ties are broken at random. Rows with equal bits form a
    bucket, and the medoid of a few rows of the bucket represents it.

    Some buckets may be empty. Large buckets then get several points, each the medoid of different
    rows.

    Takes 2 n log m kernel values and O(n log m) memory. Of more than 2^20 rows, a random part of
    about 2^20 is hashed.

    Parameters
    ----------
    members : int, default=10
        Number of rows from which a medoid is chosen. 1 draws a row of the bucket uniformly.
    hashing : "median", "interval" or "floor", default="median"
        How to hash a projection:

        - ``"median"``: one bit, whether it is above the median.
        - ``"interval"``: one bit, whether it is in a random interval that holds half of the rows.
        - ``"floor"``: an integer, :math:`\lfloor v^T x / w + c \rfloor`, with normal v, c uniform
          in [0, 1) and w twice the standard deviation of :math:`v^T x`. Needs rows that are
          numeric vectors.

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

    most_rows = MANY_ROWS

    def choose(
        self, rows: Rows, size: int, kernel: Kernel, rng: np.random.Generator, context: Context
    ) -> Budget:
        """Choose points; see `RowSelector.choose`."""
        buckets = self._buckets(rows, floor(log2(size)), kernel, rng, context)
        counts = np.bincount(buckets)
        given = share_points(counts, size)
        # the points of a bucket share out its rows, in an order that is given by a hash
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

    def count(self, m: int, kernel: Kernel, size: Size) -> tuple[Work, float]:
        """Return work and bytes; see `Selector.count`."""
        work, held = super().count(m, kernel, size)
        # projections and codes of each row, and numbers of buckets
        of_row = floor(log2(m)) * (size.dtype.itemsize + 8) + 40
        return work, held + min(size.n_rows, MANY_ROWS) * of_row

    def _buckets(
        self, rows: Rows, n_hashes: int, kernel: Kernel, rng: np.random.Generator, context: Context
    ) -> Array:
        """Return the bucket number of each row, counted from zero without gaps."""
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
    """Draw pairs of rows; return the first rows of all pairs, then the second rows."""
    numbers = [rng.choice(rows.n_rows, 2, replace=rows.n_rows < 2) for _ in range(size)]
    return rows.take(np.reshape(numbers, (size, 2)).T.ravel(), context).X


def _bits(projection: Array, first: float, seed: int) -> Array:
    """Return ones for half of the rows: those from rank ``first * n`` of the projection upwards.

    Values that differ by rounding only are ties, which a hash of the row number breaks.
    """
    n, largest = len(projection), np.abs(projection).max()
    resolution = _ROUNDING * np.finfo(projection.dtype).eps
    steps = np.round(projection / largest / resolution) if largest > 0 else projection
    keys = row_keys(seed, 0, n)
    start = round(first * n)
    bits: Array = _least(steps, keys, min(n, start + (n + 1) // 2)) & ~_least(steps, keys, start)
    return bits


def _least(values: Array, keys: Array, count: int) -> Array:
    """Return a mask of the ``count`` smallest values; ties are broken by the smallest keys."""
    if count == 0:
        return np.zeros(len(values), bool)
    limit = np.partition(values, count - 1)[count - 1]
    mask: Array = values < limit
    tied = np.flatnonzero(values == limit)
    mask[tied[np.argsort(keys[tied], kind="stable")[: count - np.count_nonzero(mask)]]] = True
    return mask


def _number(codes: Array) -> Array:
    """Return one integer per row, counted from zero without gaps; equal codes get the same."""
    numbers = np.zeros(len(codes), np.int64)
    for column in codes.T:
        column = column - column.min(initial=0)
        span = int(column.max(initial=0)) + 1
        numbers = numbers * span + column
        if int(numbers.max(initial=0)) > _MANY:
            numbers = np.unique(numbers, return_inverse=True)[1]
    dense: Array = np.unique(numbers, return_inverse=True)[1]
    return dense
