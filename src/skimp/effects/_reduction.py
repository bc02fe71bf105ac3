"""Which functions KRLS is a sum of: kernel columns of a budget, or random sums of all of them."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from skimp._core._types import DType
from skimp._params._rules import FRACTION, NONE, Rule, instance, integer, one_of
from skimp.budgets import Selector, as_selector
from skimp.data import Rows
from skimp.effects._sketch import SKETCHES, Sketch, random_matrix
from skimp.features import Landmarks
from skimp.kernels import Kernel

SELECTORS = ("auto", "uniform", "kmeans", "agglomerative", "leverage", "rpcholesky")

REDUCTION = (
    NONE
    | integer(at_least=1)
    | one_of("sample", *SELECTORS, *SKETCHES)
    | instance(Selector, "a selector")
)
"""The rule for ``reduction``."""

BUDGET: Rule = NONE | integer(at_least=1) | FRACTION
"""The rule for ``budget``."""

_DOUBLE: DType = np.dtype(np.float64)


@dataclass(frozen=True)
class Reduction:
    """What to fit with, and how large it is to be; see `skimp.KRLS`."""

    kind: Any
    budget: Any

    @property
    def alone(self) -> bool:
        """Whether the model is the exact one of sampled rows."""
        return isinstance(self.kind, str) and self.kind == "sample"

    @property
    def exact(self) -> bool:
        """Whether every row that is fitted has a kernel column."""
        return self.kind is None or self.alone

    @property
    def sketched(self) -> bool:
        """Whether functions are random sums."""
        return isinstance(self.kind, str) and self.kind in SKETCHES

    @property
    def selector(self) -> Selector:
        """The rule that chooses points."""
        given = "auto" if isinstance(self.kind, Integral) else self.kind
        return as_selector(given, owner="KRLS")

    def size(self, n_rows: int) -> int:
        """Return the number of functions, or of rows that are fitted alone."""
        if isinstance(self.kind, Integral):
            size = int(self.kind)
        elif self.budget is None:
            size = min(max(100, n_rows // 10), 1000)
        elif isinstance(self.budget, Integral):
            size = int(self.budget)
        else:
            size = max(1, round(float(self.budget) * n_rows))
        return min(size, n_rows)

    def basis(self, rows: Rows, kernel: Kernel, rng: np.random.Generator) -> Landmarks | Sketch:
        """Return the functions for scaled rows."""
        size = self.size(rows.n_rows)
        if self.sketched:
            points = rows.collect().X
            mixing = random_matrix(self.kind, len(points), size, rng)
            return Sketch(kernel, points, mixing, rows.n_jobs)
        points = self.selector.select(rows, size, kernel, rng, context=rows.context).points
        return Landmarks(kernel, points, _DOUBLE, n_jobs=rows.n_jobs)
