"""Compare selectors by the quality and the cost of their budgets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from time import perf_counter
from typing import Any

import numpy as np

from skimp._core._lines import Lines
from skimp._core._random import as_generator, draw_seed
from skimp._core._types import RandomState
from skimp._params._rules import RANDOM_STATE, check_values
from skimp.budgets import Selector, as_selector
from skimp.data import LOCAL, open_rows
from skimp.diagnostics._budget_quality import budget_quality
from skimp.diagnostics._inputs import POSITIVE, SIZES
from skimp.diagnostics._table import Comparison, name_parts
from skimp.kernels import Kernel, as_kernel

_RULES = {"sizes": SIZES, "repeats": POSITIVE, "random_state": RANDOM_STATE}


@dataclass(frozen=True, repr=False)
class SelectorComparison(Comparison):
    """Quality of budgets that several selectors chose from the same rows.

    Attributes
    ----------
    records : tuple of dict
        One per budget: ``selector``, the requested ``size``, ``repeat``, the ``seconds`` of the
        selection, and ``quality``, a `BudgetQuality`.
    """

    def _lines(self) -> Lines:
        return self._describe("selector", "residual_trace", "share of the trace missed")

    def _table(self) -> Any:
        rows = []
        for record in self.records:
            quality = record["quality"].to_dict()
            del quality["class_shares"]
            known = {name: value for name, value in record.items() if name != "quality"}
            rows.append({**known, "points": quality.pop("size"), **quality})
        return rows


def compare_selectors(
    selectors: Mapping[str, Selector | str] | Sequence[Selector | str],
    kernel: Kernel | str,
    X: Any,
    y: Any = None,
    *,
    sizes: Sequence[int] = (10, 20, 40, 80, 160, 320),
    repeats: int = 1,
    alpha: float | None = None,
    random_state: RandomState = 0,
) -> SelectorComparison:
    """Choose budgets by several selectors and sizes, and measure the quality of each.

    No model is fitted. Each selection is timed. Budgets of up to 1,000 points are measured on the
    same rows, larger ones on more rows.

    Parameters
    ----------
    selectors : mapping from names to selectors, or sequence of selectors
        The selectors. Members of a sequence are named by their repr.
    kernel : Kernel or str
        The kernel.
    X : array, CSR matrix, frame or Rows of shape (n, d)
        The rows to choose from.
    y : array of shape (n,), optional
        Labels, for selectors that use them and for the shares of classes.
    sizes : sequence of int
        Numbers of points.
    repeats : int, default=1
        Number of budgets per selector and size, each with its own seed.
    alpha : float, optional
        As in `budget_quality`.
    random_state : int, Generator, RandomState or None, default=0
        Seed of all selections and of the measured sample.

    Returns
    -------
    SelectorComparison

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.diagnostics import compare_selectors
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> comparison = compare_selectors(["uniform", "kmeans"], "rbf", X, sizes=[10, 20])
    >>> [(record["selector"], record["size"]) for record in comparison.records]
    [('uniform', 10), ('uniform', 20), ('kmeans', 10), ('kmeans', 20)]
    """
    owner = "compare_selectors"
    kinds = str | Selector
    named = name_parts(owner, "selectors", selectors, kinds, "selectors or their names")
    check_values(owner, _RULES, sizes=sizes, repeats=repeats, random_state=random_state)
    rows = open_rows(X, target=y)
    kernel = as_kernel(kernel, owner=owner).resolve(LOCAL.bind(rows), 0)
    rng = as_generator(random_state)
    judging = draw_seed(rng)
    seeds = [draw_seed(rng) for _ in range(repeats)]
    records = []
    for name, selector in named.items():
        rule = as_selector(selector, owner=owner)
        for size, (repeat, seed) in product(sizes, enumerate(seeds)):
            start = perf_counter()
            budget = rule.select(rows, size, kernel, np.random.default_rng(seed))
            seconds = perf_counter() - start
            quality = budget_quality(budget, kernel, rows, alpha=alpha, random_state=judging)
            record = {"selector": name, "size": size, "repeat": repeat, "seconds": seconds}
            records.append(record | {"quality": quality})
    return SelectorComparison(tuple(records))
