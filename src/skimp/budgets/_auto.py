"""The default: centres of each class, or rows at random."""

from typing import final

import numpy as np

from skimp._core._objects import is_object
from skimp._core._random import draw_seed
from skimp._core._work import Size, Work
from skimp.budgets._balanced import choose_by_class
from skimp.budgets._base import Budget, RowSelector
from skimp.budgets._clusters import clustering
from skimp.budgets._groups import are_classes
from skimp.budgets._kmeans import KMeans
from skimp.budgets._uniform import Uniform
from skimp.data import ArrayRows, Context, Rows
from skimp.kernels import Kernel

_LEAST_SAMPLE, _ROWS_A_POINT = 20_000, 16
_WIDEST = 4096


@final
class Auto(RowSelector):
    """The default rule: as many centres of k-means for each class, or rows drawn uniformly.

    Centres if rows are vectors of up to 4,096 columns and y are classes: on every labelled data set
    that we measured they reach a given accuracy with far fewer points than random rows do. They are
    found in one pass, in a uniform sample of 20,000 rows, and of at least sixteen a point.

    Uniform rows otherwise, and if there are more classes than points: no rule is better on most
    regression problems, centres of very wide rows take much memory, and other objects have none.
    The y of a classifier are always classes, those of a regressor never; if `Nystroem` is used
    alone, up to thirty whole numbers are.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.budgets import Auto
    >>> from skimp.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> rows = Auto().select(X, 10, Gaussian(gamma=1.0), np.random.default_rng(0))
    >>> centres = Auto().select(X, 10, Gaussian(gamma=1.0), np.random.default_rng(0), X[:, 0] > 0)
    >>> rows.indices is None, centres.indices is None
    (False, True)
    """

    needs_targets = True

    def choose(
        self, rows: Rows, size: int, kernel: Kernel, rng: np.random.Generator, context: Context
    ) -> Budget:
        """Choose points; see `RowSelector.choose`."""
        first = next(rows.blocks())
        narrow = rows.n_features <= _WIDEST and not (kernel.takes_objects or is_object(first.X))
        if narrow and are_classes(first.y, size, rows.labelled):
            count = max(_LEAST_SAMPLE, _ROWS_A_POINT * size)
            sample = rows.sample(count, draw_seed(rng), context)
            if are_classes(sample.y, size, rows.labelled):
                within = ArrayRows(sample.X, sample.y, sample.weight)
                codes = np.unique(sample.y, return_inverse=True)[1].ravel()
                return choose_by_class(KMeans(), within, codes, size, kernel, rng, context)
        return Uniform().choose(rows, size, kernel, rng, context)

    def count(self, m: int, kernel: Kernel, size: Size) -> tuple[Work, float]:
        """Return work and bytes; see `Selector.count`."""
        n, d, n_groups = size.n_rows, size.n_features, max(2, size.n_outputs)
        if not size.classes or d > _WIDEST or n_groups > m:
            return Uniform().count(m, kernel, size)
        c = min(n, max(_LEAST_SAMPLE, _ROWS_A_POINT * m))
        work, held = clustering(c / n_groups, m / n_groups, size)
        return n_groups * work, held + c * d * size.dtype.itemsize + 16 * n
