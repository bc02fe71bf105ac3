"""As many points of each class."""

from dataclasses import replace
from typing import final

import numpy as np

from skimp._core._types import Array
from skimp._core._work import Size, Work
from skimp._params._rules import broken, check_params
from skimp.budgets._base import Budget, RowSelector, Selector, as_selector
from skimp.budgets._groups import class_codes, share_points
from skimp.data import Context, Rows, concatenate_rows, masked_rows
from skimp.kernels import Kernel


@final
class Balanced(RowSelector):
    """As many points of each class, chosen within each by another rule.

    Rare classes get the share that frequent ones have, as far as they have rows; the others share
    the rest. A class that has no more rows than its share gives all of them, so that budgets of
    centres may contain rows.

    Parameters
    ----------
    selector : RowSelector or str, default="uniform"
        The rule, which sees the rows of one class at a time.

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
        """True for a rule that may choose a row twice."""
        return self._rule().repeats

    def _rule(self) -> RowSelector:
        owner = type(self).__name__
        selector = as_selector(self.selector, owner=owner)
        if not isinstance(selector, RowSelector):
            raise broken(owner, "selector", "a rule that chooses among any rows", selector)
        check_params(selector)
        return selector

    def check(self, rows: Rows, context: Context) -> None:
        """Raise unless y are classes."""
        class_codes(rows, context, owner=type(self).__name__)

    def choose(
        self, rows: Rows, size: int, kernel: Kernel, rng: np.random.Generator, context: Context
    ) -> Budget:
        """Choose points; see `RowSelector.choose`."""
        selector = self._rule()
        codes = class_codes(rows, context, owner=type(self).__name__)
        return choose_by_class(selector, rows, codes, size, kernel, rng, context)

    def count(self, m: int, kernel: Kernel, size: Size) -> tuple[Work, float]:
        """Return work and bytes; see `Selector.count`."""
        n_groups = max(2, size.n_outputs)
        part = replace(size, n_rows=max(1, size.n_rows // n_groups))
        stage = self._rule().cost(max(1, m // n_groups), kernel, part)
        return n_groups * stage.work, stage.bytes + m * size.n_features * size.dtype.itemsize


def choose_by_class(
    selector: RowSelector,
    rows: Rows,
    codes: Array,
    size: int,
    kernel: Kernel,
    rng: np.random.Generator,
    context: Context,
) -> Budget:
    """Choose as many points of each class by a rule; codes are the numbers of the classes."""
    counts = np.bincount(codes)
    limits = size * counts if selector.repeats else counts
    given = share_points(limits, size, np.ones(len(counts)))
    budgets, indices = [], []
    for group in np.flatnonzero(given):
        mask = codes == group
        part, m = masked_rows(rows, mask), int(given[group])
        budget = selector.select_from(part, m, kernel, rng, context)
        budgets.append(budget)
        if budget.indices is not None:
            indices.append(np.flatnonzero(mask)[budget.indices])
    weights = [budget.weights for budget in budgets if budget.weights is not None]
    return Budget(
        concatenate_rows([budget.points for budget in budgets]),
        np.concatenate(indices) if len(indices) == len(budgets) else None,
        np.concatenate(weights) if len(weights) == len(budgets) else None,
    )
