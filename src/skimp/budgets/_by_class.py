"""Selectors that give every class the same number of points."""

from dataclasses import replace
from functools import partial
from typing import Any, final

import numpy as np

from skimp._core._objects import is_object
from skimp._core._random import draw_seed
from skimp._core._types import Array
from skimp._core._work import Size, Work
from skimp._params._rules import broken, check_params
from skimp.budgets._base import Budget, RowSelector, Selector, as_selector
from skimp.budgets._clusters import clustering
from skimp.budgets._groups import are_classes, count_classes, share_points
from skimp.budgets._kmeans import KMeans
from skimp.budgets._uniform import Uniform
from skimp.data import ArrayRows, Block, Context, FilteredRows, Rows, concatenate_rows
from skimp.kernels import Kernel

_MIN_SAMPLE, _ROWS_PER_POINT = 20_000, 16
_MAX_COLUMNS = 4096


@final
class Balanced(RowSelector):
    """Equally many points from each class, chosen by another selector.

    A class with fewer rows than its share contributes all its rows, and the other classes share
    the remaining points. The budget of a selector of cluster centres may therefore contain rows.

    Takes the cost of the inner selector for each class, and a pass over the rows to count them.

    Parameters
    ----------
    selector : RowSelector or str, default="uniform"
        Selector that is applied to the rows of one class at a time.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.budgets import Balanced, KMeans
    >>> from skimp.kernels import Linear
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> y = np.repeat(["rare", "usual"], [10, 90])
    >>> budget = Balanced(KMeans()).select(X, 8, Linear(), np.random.default_rng(0), y)
    >>> budget.points.shape
    (8, 2)
    """

    needs_targets = True

    def __init__(self, selector: Selector | str = "uniform"):
        self.selector = selector

    @property
    def repeats(self) -> bool:
        """Whether the inner selector may choose a row twice."""
        return self._inner().repeats

    def _inner(self) -> RowSelector:
        owner = type(self).__name__
        selector = as_selector(self.selector, owner=owner)
        if not isinstance(selector, RowSelector):
            raise broken(
                owner, "selector", "a RowSelector, which can choose within a class", selector
            )
        check_params(selector)
        return selector

    def check(self, rows: Rows, context: Context) -> None:
        """Raise unless y holds class labels."""
        count_classes(rows, context, owner=type(self).__name__)

    def choose(
        self, rows: Rows, size: int, kernel: Kernel, rng: np.random.Generator, context: Context
    ) -> Budget:
        """Choose points; see `RowSelector.choose`."""
        selector = self._inner()
        classes = count_classes(rows, context, owner=type(self).__name__)
        return _choose_by_class(selector, rows, *classes, size, kernel, rng, context)

    def count(self, m: int, kernel: Kernel, size: Size) -> tuple[Work, float]:
        """Return work and bytes; see `Selector.count`."""
        n_groups = max(2, size.n_outputs)
        part = replace(size, n_rows=max(1, size.n_rows // n_groups))
        stage = self._inner().cost(max(1, m // n_groups), kernel, part)
        return n_groups * stage.work, stage.bytes + m * size.n_features * size.dtype.itemsize


@final
class Auto(RowSelector):
    """Default selector: k-means centres per class for classification, uniform rows otherwise.

    For class labels and numeric rows of up to 4,096 columns, every class gets equally many k-means
    centres. On every labelled data set that we measured, they reach a given accuracy with far fewer
    points than random rows. k-means runs on a uniform sample of ``max(20000, 16 * size)`` rows, so
    one pass over the data is enough.

    All other data get uniformly drawn rows: regression targets, because no selector was better on
    most regression problems; wider rows, because their centres take much memory; objects that
    have no mean; and problems with more classes than points.

    A classifier always passes class labels, a regressor never does. If `Nystroem` is used alone,
    numeric y count as classes if they are whole numbers with at most thirty different values.

    Takes O(c m d / q) time for a sample of c rows and q classes, and O(c d) memory.

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
        narrow = rows.n_features <= _MAX_COLUMNS and not (
            kernel.takes_objects or is_object(first.X)
        )
        if narrow and are_classes(first.y, size, rows.labelled):
            count = max(_MIN_SAMPLE, _ROWS_PER_POINT * size)
            sample = rows.sample(count, draw_seed(rng), context)
            if are_classes(sample.y, size, rows.labelled):
                within = ArrayRows(sample.X, sample.y, sample.weight)
                classes = np.unique(sample.y, return_counts=True)
                return _choose_by_class(KMeans(), within, *classes, size, kernel, rng, context)
        return Uniform().choose(rows, size, kernel, rng, context)

    def count(self, m: int, kernel: Kernel, size: Size) -> tuple[Work, float]:
        """Return work and bytes; see `Selector.count`."""
        n, d, n_groups = size.n_rows, size.n_features, max(2, size.n_outputs)
        if not size.classes or d > _MAX_COLUMNS or n_groups > m:
            return Uniform().count(m, kernel, size)
        c = min(n, max(_MIN_SAMPLE, _ROWS_PER_POINT * m))
        work, held = clustering(c / n_groups, m / n_groups, size)
        return n_groups * work, held + c * d * size.dtype.itemsize


def _choose_by_class(
    selector: RowSelector,
    rows: Rows,
    labels: Array,
    counts: Array,
    size: int,
    kernel: Kernel,
    rng: np.random.Generator,
    context: Context,
) -> Budget:
    """Choose equally many points from each class, given its label and its number of rows."""
    limits = size * counts if selector.repeats else counts
    given = share_points(limits, size, np.ones(len(counts)))
    budgets, indices = [], []
    for group in np.flatnonzero(given):
        part = FilteredRows(rows, partial(_has_label, labels[group]))
        part.remember_n_rows(int(counts[group]))
        budget = selector.select_from(part, int(given[group]), kernel, rng, context)
        budgets.append(budget)
        if budget.indices is not None:
            indices.append(part.origin(budget.indices, context))
    weights = [budget.weights for budget in budgets if budget.weights is not None]
    return Budget(
        concatenate_rows([budget.points for budget in budgets]),
        np.concatenate(indices) if len(indices) == len(budgets) else None,
        np.concatenate(weights) if len(weights) == len(budgets) else None,
    )


def _has_label(label: Any, block: Block) -> Array:
    """Return which rows of a block have a label; a module-level function, so that it pickles."""
    same: Array = np.asarray(block.y).ravel() == label
    return same
