"""Base classes of selectors, and the `Budget` that they return."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from skimp._core._random import as_generator, draw_seed
from skimp._core._types import Array, Matrix
from skimp._core._work import DOUBLE, Size, Stage, Work, values
from skimp._params._names import as_object
from skimp._params._parametrized import Parametrized
from skimp._params._rules import Rule, broken, check_params, integer
from skimp.data import LOCAL, Context, Rows, no_rows, open_rows, split_rows, weighted_rows
from skimp.kernels import Kernel, as_kernel

_SIZE = integer(at_least=1)
MANY_ROWS = 2**20
"""Number of rows from which selectors choose that store a few numbers per row."""
_PER_POINT = 16
"""Least number of rows to choose from, per point."""
_NAMES = {
    "auto": "Auto",
    "uniform": "Uniform",
    "weighted": "Weighted",
    "balanced": "Balanced",
    "column_subset": "ColumnSubset",
    "dbh": "DBH",
    "kmeans": "KMeans",
    "agglomerative": "Agglomerative",
    "leverage": "Leverage",
    "rpcholesky": "RPCholesky",
}


@dataclass(frozen=True)
class Budget:
    """Landmark points that represent the data.

    Attributes
    ----------
    points : array or CSR matrix of shape (m, d)
        The points, in the dtype of the data.
    indices : array of shape (m,), or None
        Row numbers of the points; None if the points are not rows of the data.
    weights : array of shape (m,), or None
        Weights of the points in a rank-truncated approximation; None means equal weights.
    """

    points: Matrix
    indices: Array | None = None
    weights: Array | None = None


class Selector(Parametrized, ABC):
    """Base class of selectors, which choose the budget points.

    To write a selector, derive from `RowSelector`, which opens and validates the data.
    """

    rules: ClassVar[dict[str, Rule]] = {}

    @property
    def needs_targets(self) -> bool:
        """Whether the selector uses the targets y."""
        return False

    @property
    def nested(self) -> bool:
        """Whether the first m points of a larger budget are a valid budget of m points."""
        return False

    @property
    def spreads(self) -> bool:
        """Whether the points' kernel matrix is much better conditioned than for random rows."""
        return False

    @property
    def repeats(self) -> bool:
        """Whether a row may be chosen twice, which allows more points than rows."""
        return False

    def select(
        self,
        X: Any,
        size: int,
        kernel: Kernel,
        rng: np.random.Generator,
        y: Array | None = None,
        context: Context = LOCAL,
    ) -> Budget:
        """Choose the budget points.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows
            The data.
        size : int
            Number of points. If X has fewer rows, all rows are used.
        kernel : Kernel
            Kernel that the points are chosen for.
        rng : numpy.random.Generator
            Source of randomness.
        y : array, optional
            Targets, required if the selector `needs_targets`.
        context : Context
            Number of threads and progress reports.

        Returns
        -------
        Budget
            The points, and their row numbers if they are rows of X.
        """
        owner = type(self).__name__
        check_params(self)
        if not _SIZE.test(size):
            raise broken(owner, "size", _SIZE.wording, size)
        rows = open_rows(X, target=y)
        if rows.n_rows == 0:
            raise no_rows()
        kernel = as_kernel(kernel, owner=owner).resolve(context.bind(rows), 0)
        return self.select_from(rows, size, kernel, as_generator(rng), context)

    @abstractmethod
    def select_from(
        self, rows: Rows, size: int, kernel: Kernel, rng: np.random.Generator, context: Context
    ) -> Budget:
        """Choose points from opened rows; all parameters of the kernel are numbers by now."""

    def cost(self, m: int, kernel: Kernel, size: Size) -> Stage:
        """Return the work and memory needed to choose m points from data of this size."""
        work, held = Work(), float(m * size.n_features * size.dtype.itemsize)
        if m < size.n_rows:
            work, held = self.count(m, kernel, size)
        return Stage("select", values(size.n_rows, DOUBLE) + work, held)

    def count(self, m: int, kernel: Kernel, size: Size) -> tuple[Work, float]:
        """Return the work and the bytes held to choose m points from more than m rows.

        One pass over the rows is added by `cost`. The default is that of a uniform draw.
        """
        return Work(), m * size.n_features * size.dtype.itemsize


class RowSelector(Selector, ABC):
    """Base class for your own selectors: implement `choose`.

    This class drops rows of weight zero. If there are at most ``size`` rows, it returns them all
    without calling `choose`. Other sample weights affect cluster means only: all rows are equally
    likely to be drawn.

    Override the properties `needs_targets`, `repeats` and `spreads` if they apply, and `count` to
    state the cost. Test your selector with `skimp.testing.check_selector`.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.budgets import Budget, RowSelector
    >>> from skimp.kernels import Linear
    >>> from skimp.testing import check_selector
    >>> class First(RowSelector):
    ...     def choose(self, rows, size, kernel, rng, context):
    ...         indices = np.arange(size)
    ...         return Budget(rows.take(indices, context).X, indices)
    >>> First().select(np.eye(9), 3, Linear(), np.random.default_rng(0)).indices.tolist()
    [0, 1, 2]
    >>> check_selector(First())
    """

    @property
    def most_rows(self) -> int | None:
        """Largest number of rows to choose from; None to choose from all.

        A selector whose memory grows with the number of rows sets it. Of more rows, `choose`
        receives a random part of about this size.
        """
        return None

    @property
    def takes_all(self) -> bool:
        """Whether all rows are returned if there are at most ``size`` of them."""
        return not self.repeats

    def check(self, rows: Rows, context: Context) -> None:
        """Raise if the data are unsuitable; called only if all rows are returned."""

    @abstractmethod
    def choose(
        self, rows: Rows, size: int, kernel: Kernel, rng: np.random.Generator, context: Context
    ) -> Budget:
        """Choose points from rows of positive weight.

        There are more than ``size`` rows, unless `takes_all` is false. All parameters of the kernel
        are numbers. Read rows with ``rows.take(numbers, context)``, ``rows.sample(size, seed,
        context)`` or ``context.map_reduce(rows, ...)``.
        """

    def select_from(
        self, rows: Rows, size: int, kernel: Kernel, rng: np.random.Generator, context: Context
    ) -> Budget:
        """Choose points; see `Selector.select_from`."""
        present = weighted_rows(rows, context)
        if present is not None:
            rows = present
            if rows.n_rows == 0:
                raise no_rows()
        if size >= rows.n_rows and self.takes_all:
            self.check(rows, context)
            budget = Budget(rows.collect().X, np.arange(rows.n_rows))
        else:
            budget = self._choose_among_most(rows, size, kernel, rng, context)
        if present is None or budget.indices is None:
            return budget
        return replace(budget, indices=present.origin(budget.indices, context))

    def _choose_among_most(
        self, rows: Rows, size: int, kernel: Kernel, rng: np.random.Generator, context: Context
    ) -> Budget:
        """Choose points from all rows, or from a random part of very many rows."""
        most = rows.n_rows if self.most_rows is None else max(self.most_rows, _PER_POINT * size)
        if rows.n_rows <= most:
            return self.choose(rows, size, kernel, rng, context)
        part = split_rows(rows, most / rows.n_rows, draw_seed(rng))[1]
        budget = self.choose(part, size, kernel, rng, context)
        indices = None if budget.indices is None else part.origin(budget.indices)
        return replace(budget, indices=indices)


def complete(chosen: Array, size: int, n_rows: int, rng: np.random.Generator) -> Array:
    """Return ``size`` distinct row numbers: those chosen, filled up with random others."""
    missing = size - len(chosen)
    if missing <= 0:
        return chosen[:size]
    others = np.setdiff1d(np.arange(n_rows), chosen)
    return np.append(chosen, rng.permutation(others)[:missing])


def as_selector(selector: Any, *, owner: str) -> Selector:
    """Return the selector for a name or an object; errors name ``owner``."""
    return as_object(selector, Selector, _NAMES, "skimp.budgets", owner=owner, role="selector")  # type: ignore[type-abstract]
