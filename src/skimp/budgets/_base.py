"""What a selector is, and the record that it returns."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from skimp._core._random import as_generator
from skimp._core._types import Array, Matrix
from skimp._core._work import DOUBLE, Size, Stage, Work, values
from skimp._params._names import as_object
from skimp._params._parametrized import Parametrized
from skimp._params._rules import Rule, broken, check_params, integer
from skimp.data import LOCAL, Context, Rows, masked_rows, no_rows, open_rows
from skimp.kernels import Kernel, as_kernel

_SIZE = integer(at_least=1)
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
    """Points that stand for the data.

    Attributes
    ----------
    points : array or CSR matrix of shape (m, d)
        The points, in the dtype of the data.
    indices : array of shape (m,), or None
        Their row numbers, None if the points are not rows of the data.
    weights : array of shape (m,), or None
        Their weights in a rank-truncated approximation, None for equal ones.
    """

    points: Matrix
    indices: Array | None = None
    weights: Array | None = None


class Selector(Parametrized, ABC):
    """A rule that chooses a budget: parameters, and `select`.

    Derive your own rule from `RowSelector`, which opens and checks the data.
    """

    rules: ClassVar[dict[str, Rule]] = {}

    @property
    def needs_targets(self) -> bool:
        """True for a rule that looks at y."""
        return False

    @property
    def nested(self) -> bool:
        """True for a rule whose first points are a smaller budget of the same rule."""
        return False

    @property
    def spreads(self) -> bool:
        """True for a rule whose points are far better conditioned than rows drawn at random."""
        return False

    @property
    def repeats(self) -> bool:
        """True for a rule that may choose a row twice, and more points than there are rows."""
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
        """Choose points.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows
            The data.
        size : int
            Number of points; if there are fewer rows, all of them are taken.
        kernel : Kernel
            The kernel that the points will serve.
        rng : numpy.random.Generator
            Source of randomness.
        y : array, optional
            Targets, for rules that look at them.
        context : Context
            How to run over the rows.

        Returns
        -------
        Budget
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
        """Choose points among rows that are open, with a kernel whose parameters are numbers."""

    def cost(self, m: int, kernel: Kernel, size: Size) -> Stage:
        """Return the work and the memory of choosing m points among data of a size."""
        work, held = Work(), float(m * size.n_features * size.dtype.itemsize)
        if m < size.n_rows:
            work, held = self.count(m, kernel, size)
        return Stage("select", values(size.n_rows, DOUBLE) + work, held)

    def count(self, m: int, kernel: Kernel, size: Size) -> tuple[Work, float]:
        """Return the work of choosing m of more rows, besides a pass over them, and the bytes held.

        By default those of a uniform draw.
        """
        return Work(), 16 * size.n_rows + m * size.n_features * size.dtype.itemsize


class RowSelector(Selector, ABC):
    """A rule that chooses among rows. Derive your own from it, and write `choose`.

    Rows of weight zero are absent, and all rows are taken if there are not more than points. Other
    weights count for means of clusters; rows are drawn as if they were equal.

    A rule may also say that it `needs_targets`, `repeats` rows or `spreads` points, and what it
    costs (`count`). `skimp.testing.check_selector` checks it.

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
    def takes_all(self) -> bool:
        """True for a rule that takes all rows if there are not more of them than points."""
        return not self.repeats

    def check(self, rows: Rows, context: Context) -> None:
        """Raise if all rows are taken, and are not what the rule needs."""

    @abstractmethod
    def choose(
        self, rows: Rows, size: int, kernel: Kernel, rng: np.random.Generator, context: Context
    ) -> Budget:
        """Choose points among rows of positive weight.

        There are more than ``size`` rows if the rule `takes_all` of fewer. Parameters of the kernel
        are numbers. Read rows by ``rows.take(numbers, context)``, ``rows.sample(size, seed,
        context)`` or ``context.map_reduce(rows, ...)``.
        """

    def select_from(
        self, rows: Rows, size: int, kernel: Kernel, rng: np.random.Generator, context: Context
    ) -> Budget:
        """Choose points; see `Selector.select_from`."""
        present, weight = None, rows.weights(context)
        if weight is not None and not weight.all():
            present, rows = np.flatnonzero(weight), masked_rows(rows, weight > 0)
            if len(present) == 0:
                raise no_rows()
        if size >= rows.n_rows and self.takes_all:
            self.check(rows, context)
            budget = Budget(rows.collect().X, np.arange(rows.n_rows))
        else:
            budget = self.choose(rows, size, kernel, rng, context)
        if present is None or budget.indices is None:
            return budget
        return replace(budget, indices=present[budget.indices])


def complete(chosen: Array, size: int, n_rows: int, rng: np.random.Generator) -> Array:
    """Return distinct row numbers: the first ``size`` of those chosen, then others at random."""
    missing = size - len(chosen)
    if missing <= 0:
        return chosen[:size]
    others = np.setdiff1d(np.arange(n_rows), chosen)
    return np.append(chosen, rng.permutation(others)[:missing])


def as_selector(selector: Any, *, owner: str) -> Selector:
    """Return a selector for a name or an object; ``owner`` is named in the error."""
    return as_object(selector, Selector, _NAMES, "skimp.budgets", owner=owner, role="selector")  # type: ignore[type-abstract]
