"""What functions of the Euclidean distance share."""

from abc import ABC
from typing import Any, ClassVar

import numpy as np

from skimp._core._draws import Draws, IndependentDraws
from skimp._core._squared_distances import SquaredDistances
from skimp._core._types import Array, Matrix
from skimp._params._rules import Rule
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

    def _frequencies(self, n_features: int, draws: Draws) -> Array:
        r"""Draw from the spectrum: :math:`N(0, 2 \gamma I)` times a stretch, as columns."""
        W = draws.normals(n_features)
        W *= self.frequency_scale(n_features)[:, None]
        W *= self._stretches(draws)
        return W

    def frequency_scale(self, n_features: int) -> Array:
        r"""Return :math:`\sqrt{2 \gamma}` for each column."""
        gamma = np.broadcast_to(self.column_weights(n_features), n_features)
        return np.sqrt(2 * np.asarray(gamma, np.float64))

    def stretches(self, size: int, rng: np.random.Generator) -> Array:
        """Draw factors of frequencies."""
        return np.broadcast_to(self._stretches(IndependentDraws(size, rng)), size)

    def _stretches(self, draws: Draws) -> Array | float:
        """Return a factor for each frequency; one for the Gaussian kernel."""
        return 1.0

    @property
    def _squared_stretch(self) -> float:
        """The mean of the squared stretch."""
        return 1.0

    def _spectral_moment(self, n_features: int) -> float:
        """Return the mean squared length of a frequency."""
        return float(np.sum(self.frequency_scale(n_features) ** 2) * self._squared_stretch)
