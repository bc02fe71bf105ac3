"""Projections onto the lines between pairs of rows, in feature space."""

from typing import ClassVar, final

import numpy as np

from skimp._core._random import draw_seed
from skimp._core._types import Array, Matrix, RandomState
from skimp._core._work import DOUBLE
from skimp._params._rules import RANDOM_STATE, Rule, integer
from skimp.budgets import random_pairs
from skimp.data import Context, Rows
from skimp.features._base import FeatureMap
from skimp.features._landmarks import Landmarks
from skimp.features._strips import strips
from skimp.kernels import Kernel

_SAMPLE = 10_000


@final
class PairProjection(FeatureMap):
    """Where rows lie between the two of a pair, from the median on: distance-based hashing.

    Features are k(x, a) - k(x, b) less the median of that among the rows (10,000 of them). Their
    signs are bits; inner products of the features do not approximate the kernel. Kernel values, of
    which differences are taken, are in float64.
    """

    size_name = "n_components"
    _rules: ClassVar[dict[str, Rule]] = {
        "n_components": integer(at_least=1),
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        kernel: Kernel | str | None = None,
        *,
        n_components: int = 1000,
        random_state: RandomState = None,
    ):
        self.kernel = kernel
        self.n_components = n_components
        self.random_state = random_state

    def draw(self, rows: Rows, rng: np.random.Generator, context: Context) -> None:
        points = random_pairs(rows, int(self.n_components), rng, context)
        self.landmarks_ = Landmarks(self.kernel_, points, DOUBLE, n_jobs=context.n_jobs)
        sample = rows.sample(_SAMPLE, draw_seed(rng), context).X
        self.medians_ = np.zeros(int(self.n_components))
        Z = np.empty((sample.shape[0], self.width))
        self.map_block(sample, Z)
        self.medians_ = np.median(Z, axis=0)

    @property
    def width(self) -> int:
        return len(self.medians_)

    def map_block(self, X: Matrix, out: Array) -> None:
        k = self.width
        for rows, strip, K in strips(X, out, k, 1024, columns=2 * k, dtype=DOUBLE):
            self.landmarks_.map_block(rows, K)
            strip[...] = K[:, :k] - K[:, k:] - self.medians_
