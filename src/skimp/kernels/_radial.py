"""What functions of the Euclidean distance share."""

from abc import ABC
from typing import Any, ClassVar

import numpy as np

from skimp._core._rules import Rule
from skimp._core._squared_distances import SquaredDistances
from skimp._core._types import Array, Matrix
from skimp.kernels._gamma import GAMMA
from skimp.kernels._pair_kernel import PairKernel


class Radial(PairKernel, ABC):
    r"""A kernel :math:`\phi(\gamma \|x - y\|^2)` with :math:`\phi(0) = 1`.

    As a mixture of Gaussian kernels of other widths it has a spectrum that is easy to sample:
    normal frequencies, each multiplied by a random stretch.
    """

    _pairs = SquaredDistances
    _rules: ClassVar[dict[str, Rule]] = {"gamma": GAMMA}

    stationary = True
    gamma: Any

    @property
    def rotation_invariant(self) -> bool:
        """True unless columns have widths of their own."""
        return np.ndim(self.gamma) == 0

    def _diag(self, X: Matrix) -> Array:
        """Return ones."""
        return np.ones(X.shape[0])

    def _frequencies(self, n_features: int, size: int, rng: np.random.Generator) -> Array:
        r"""Draw from the spectrum: :math:`N(0, 2 \gamma I)` times a stretch, as columns."""
        root = np.sqrt(2 * np.reshape(self.column_weights(n_features), (-1, 1)))
        W: Array = rng.standard_normal((n_features, size)) * root * self._stretches(size, rng)
        return W

    def _stretches(self, size: int, rng: np.random.Generator) -> Array | float:
        """Return a factor for each frequency; one for the Gaussian kernel."""
        return 1.0
