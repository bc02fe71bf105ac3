"""Landmarks by k-means."""

from typing import ClassVar, final

import numpy as np

from skimp._core._random import draw_seed
from skimp._core._work import Size, Work
from skimp._params._rules import Rule, integer
from skimp.budgets._base import Budget, RowSelector, complete
from skimp.budgets._clusters import POINTS, cluster, clustering, complete_centres, vectors
from skimp.data import Context, Rows
from skimp.kernels import Kernel


@final
class KMeans(RowSelector):
    r"""k-means centres, or the rows nearest to them.

    At most five k-means steps on a uniform sample of the rows reduce

    .. math:: \sum_i w_i \min_j \|x_i - b_j\|^2

    over the centres b, with the sample weights w. The rows must be numeric vectors. Centres that
    coincide are replaced by random rows.

    Takes O(c m d) time and O((c + m) d) memory for a sample of c rows.

    Parameters
    ----------
    points : "centres" or "rows", default="centres"
        Whether to return the centres, or the rows of the sample that are nearest to them.
    presample : int, default=10000
        Number c of rows to cluster, drawn uniformly; raised to 8 m if that is larger.

    References
    ----------
    Zhang, Tsang and Kwok (2008), Improved Nystroem low-rank approximation and error analysis.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.budgets import KMeans
    >>> from skimp.kernels import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat([[0.0], [10.0], [20.0]], 100, axis=0) + rng.normal(size=(300, 1))
    >>> budget = KMeans().select(X, 3, Gaussian(gamma=1.0), rng)
    >>> np.sort(budget.points.ravel()).round(-1).tolist()
    [0.0, 10.0, 20.0]
    """

    rules: ClassVar[dict[str, Rule]] = {"points": POINTS, "presample": integer(at_least=1)}

    def __init__(self, *, points: str = "centres", presample: int = 10_000):
        self.points = points
        self.presample = presample

    def choose(
        self, rows: Rows, size: int, kernel: Kernel, rng: np.random.Generator, context: Context
    ) -> Budget:
        """Choose points; see `RowSelector.choose`."""
        sample = rows.sample(max(self.presample, 8 * size), draw_seed(rng), context)
        X = vectors(sample.X, kernel, rows.dtype, owner=type(self).__name__)
        centres, scaling = cluster(X, size, rng, sample.weight, context)
        if self.points == "centres":
            return Budget(complete_centres(centres, size, X, rng))
        chosen = complete(np.unique(scaling.nearest(centres, X)), size, X.shape[0], rng)
        return Budget(sample.X[chosen], sample.indices[chosen])

    def count(self, m: int, kernel: Kernel, size: Size) -> tuple[Work, float]:
        """Return work and bytes; see `Selector.count`."""
        return clustering(min(size.n_rows, max(self.presample, 8 * m)), m, size)
