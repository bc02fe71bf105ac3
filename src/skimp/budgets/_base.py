"""What a selector is, and the record that it returns."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from skimp._core._random import as_generator
from skimp._core._types import Array, Matrix
from skimp._params._names import as_object
from skimp._params._parametrized import Parametrized
from skimp._params._rules import Rule, broken, check_params, integer
from skimp.data import LOCAL, Context, Rows, masked_rows, no_rows, open_rows
from skimp.kernels import Kernel, as_kernel


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
    """A rule by which a budget is chosen: parameters, and `select`.

    Most derive from `RowSelector`, which opens the data, so that choosing is all that is left.
    """

    _rules: ClassVar[dict[str, Rule]] = {}

    @property
    def needs_targets(self) -> bool:
        """True for a rule that looks at y."""
        return False

    @property
    def repeats(self) -> bool:
        """True for a rule that may choose a row twice, and more points than there are rows."""
        return False

    @abstractmethod
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
            Number of points; all rows are taken where there are fewer.
        kernel : Kernel
            The kernel that the points will serve, with numbers for parameters.
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

    def _open(
        self, X: Any, size: int, kernel: Any, y: Any, context: Context
    ) -> tuple[Rows, Kernel]:
        """Check what was passed, and return the rows and the kernel with numbers in it."""
        owner = type(self).__name__
        check_params(self)
        if not _SIZE.test(size):
            raise broken(owner, "size", _SIZE.wording, size)
        rows = open_rows(X, target=y)
        if rows.n_rows == 0:
            raise no_rows()
        return rows, as_kernel(kernel, owner=owner).resolve(context.bind(rows), 0)


class RowSelector(Selector, ABC):
    """A rule that chooses among rows: those of weight zero are absent, few ones are all taken.

    Other weights count for means of clusters; rows are drawn as if they were equal.
    """

    def select(
        self,
        X: Any,
        size: int,
        kernel: Kernel,
        rng: np.random.Generator,
        y: Array | None = None,
        context: Context = LOCAL,
    ) -> Budget:
        """Choose points; see `Selector.select`."""
        rows, kernel = self._open(X, size, kernel, y, context)
        rng = as_generator(rng)
        present = None
        weight = rows.weights(context)
        if weight is not None and not weight.all():
            present = np.flatnonzero(weight)
            rows = masked_rows(rows, weight > 0)
            if len(present) == 0:
                raise no_rows()
        budget = self._choose(rows, size, kernel, rng, context)
        if present is None or budget.indices is None:
            return budget
        return replace(budget, indices=present[budget.indices])

    def _choose(
        self, rows: Rows, size: int, kernel: Kernel, rng: np.random.Generator, context: Context
    ) -> Budget:
        """Choose among rows that all count; all of them where that is what the rule does."""
        if size >= rows.n_rows and self.takes_all:
            self.check(rows, context)
            return Budget(rows.collect().X, np.arange(rows.n_rows))
        return self.choose(rows, size, kernel, rng, context)

    @property
    def takes_all(self) -> bool:
        """True for a rule that takes all rows where there are not more of them than points."""
        return not self.repeats

    def check(self, rows: Rows, context: Context) -> None:
        """Raise where rows are not what the rule needs, though all of them are taken."""

    @abstractmethod
    def choose(
        self, rows: Rows, size: int, kernel: Kernel, rng: np.random.Generator, context: Context
    ) -> Budget:
        """Choose points among rows that all count, more than ``size`` unless `takes_all` is false.

        The kernel has numbers for parameters. Read rows by ``rows.take(numbers, context)``,
        ``rows.sample(size, seed, context)`` or ``context.map_reduce(rows, ...)``.
        """


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


def as_selector(selector: Any, *, owner: str) -> Selector:
    """Return a selector for a name or an object; ``owner`` is named in the error."""
    return as_object(selector, Selector, _NAMES, "skimp.budgets", owner=owner, role="selector")  # type: ignore[type-abstract]
