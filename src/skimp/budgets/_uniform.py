"""Landmarks drawn uniformly, also stratified by class or cluster."""

from typing import ClassVar, final

import numpy as np

from skimp._core._objects import as_real
from skimp._core._random import draw_seed
from skimp._core._types import Array
from skimp._core._work import Size, Work
from skimp._params._rules import BOOLEAN, NONE, Rule, one_of
from skimp.budgets._base import MANY_ROWS, Budget, RowSelector
from skimp.budgets._clusters import cluster, vectors
from skimp.budgets._groups import class_codes, share_points
from skimp.data import Context, Rows
from skimp.kernels import Kernel

_SAMPLE = 10_000


@final
class Uniform(RowSelector):
    r"""Rows drawn uniformly, optionally stratified by class or cluster.

    By default these are the m rows with the smallest hash of seed and row number. They are the same
    for any data source, and are the first rows of a larger budget with the same seed.

    Strata get points in proportion to their number of rows, and at least one point each if there
    are enough points. Use `Balanced` for equal numbers per class.

    Takes one pass over the rows. Strata, and draws with replacement, take a few numbers of memory
    per row, and use a random part of about 2^20 rows if there are more.

    Parameters
    ----------
    stratify : None, "class" or "cluster", default=None
        Strata: none, the classes of y, or about :math:`\sqrt{m}` k-means clusters.
    replacement : bool, default=False
        Whether a row may be drawn twice.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.budgets import Uniform
    >>> from skimp.kernels import Linear
    >>> X, y = np.arange(20.0).reshape(10, 2), np.repeat([0, 1], [8, 2])
    >>> budget = Uniform(stratify="class").select(X, 5, Linear(), np.random.default_rng(0), y)
    >>> np.bincount(y[budget.indices]).tolist()
    [4, 1]
    """

    rules: ClassVar[dict[str, Rule]] = {
        "stratify": NONE | one_of("class", "cluster"),
        "replacement": BOOLEAN,
    }

    def __init__(self, *, stratify: str | None = None, replacement: bool = False):
        self.stratify = stratify
        self.replacement = replacement

    @property
    def nested(self) -> bool:
        """Whether the first points are a smaller budget: without strata and replacement."""
        return self.stratify is None and not self.replacement

    @property
    def needs_targets(self) -> bool:
        """Whether the strata are the classes of y."""
        return self.stratify == "class"

    @property
    def repeats(self) -> bool:
        """Whether a row may be drawn twice."""
        return self.replacement

    @property
    def most_rows(self) -> int | None:
        """Number of rows that are divided into strata, or drawn with replacement."""
        return None if self.nested else MANY_ROWS

    def choose(
        self, rows: Rows, size: int, kernel: Kernel, rng: np.random.Generator, context: Context
    ) -> Budget:
        """Choose points; see `RowSelector.choose`."""
        if self.stratify is None and not self.replacement:
            sample = rows.sample(size, draw_seed(rng), context)
            return Budget(sample.X, sample.indices)
        if self.stratify == "class":
            codes = class_codes(rows, context, owner=type(self).__name__)
        elif self.stratify == "cluster":
            codes = _cluster_codes(rows, round(np.sqrt(size)), kernel, rng, context)
        else:
            codes = np.zeros(rows.n_rows, np.int64)
        counts = np.bincount(codes)
        given = share_points(size * counts if self.replacement else counts, size, counts)
        chosen = [
            rng.choice(np.flatnonzero(codes == g), m, replace=self.replacement)
            for g, m in enumerate(given)
            if m
        ]
        indices = rng.permutation(np.concatenate(chosen))
        return Budget(rows.take(indices, context).X, indices)

    def count(self, m: int, kernel: Kernel, size: Size) -> tuple[Work, float]:
        """Return work and bytes; see `Selector.count`."""
        work, held = super().count(m, kernel, size)
        return work, held if self.nested else held + 24 * min(size.n_rows, MANY_ROWS)

    def check(self, rows: Rows, context: Context) -> None:
        """Raise if the strata are classes and y does not hold class labels."""
        if self.stratify == "class":
            class_codes(rows, context, owner=type(self).__name__)


def _cluster_codes(
    rows: Rows, n_clusters: int, kernel: Kernel, rng: np.random.Generator, context: Context
) -> Array:
    """Return the number of the nearest k-means centre for each row, counted without gaps."""
    n_clusters = min(n_clusters, rows.n_rows)
    sample = rows.sample(max(_SAMPLE, n_clusters), draw_seed(rng), context)
    X = vectors(sample.X, kernel, rows.dtype, owner="Uniform")
    centres, scaling = cluster(X, n_clusters, rng, sample.weight, context)
    codes = context.compute(
        rows, lambda block, _: scaling.nearest(as_real(block.X, rows.dtype), centres), (), np.int64
    )
    return np.unique(codes, return_inverse=True)[1]
