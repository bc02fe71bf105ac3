"""Projections onto the lines between pairs of rows, in feature space."""

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, final

import numpy as np

from skimp._core._random import draw_seed
from skimp._core._types import Array, Matrix, RandomState
from skimp._core._work import DOUBLE
from skimp._params._rules import Rule
from skimp.budgets import random_pairs
from skimp.data import Context, Rows
from skimp.features._base import SIZED, FeatureMap
from skimp.features._landmarks import Landmarks
from skimp.kernels import Kernel

_SAMPLE = 10_000


@final
@dataclass(eq=False, repr=False)
class PairProjection(FeatureMap):
    """Where rows lie between the two of a pair, from the median on: distance-based hashing.

    Features are k(x, a) - k(x, b) less the median of that among the rows (10,000 of them). Their
    signs are bits; inner products of the features do not approximate the kernel. Kernel values, of
    which differences are taken, are in float64.
    """

    kernel: Kernel | str | None = None
    _: KW_ONLY
    n_components: int = 1000
    random_state: RandomState = None

    size_name = "n_components"
    _rules: ClassVar[dict[str, Rule]] = SIZED

    def draw(self, rows: Rows, rng: np.random.Generator, context: Context) -> None:
        size = int(self.n_components)
        points = random_pairs(rows, size, rng, context)
        self.landmarks_ = Landmarks(self.kernel_, points, DOUBLE, n_jobs=context.n_jobs)
        sample = rows.sample(_SAMPLE, draw_seed(rng), context).X
        K = self.landmarks_.block(sample)
        self.medians_ = np.median(K[:, :size] - K[:, size:], axis=0)

    @property
    def width(self) -> int:
        return len(self.medians_)

    def map_block(self, X: Matrix, out: Array) -> None:
        k = self.width
        for strip, K in self.landmarks_.strips(X, out, k):
            strip[...] = K[:, :k] - K[:, k:] - self.medians_
