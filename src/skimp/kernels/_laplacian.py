"""The Laplacian kernel."""

from typing import final

import numpy as np

from skimp._core._draws import Draws
from skimp._core._pairs import ManhattanDistances
from skimp._core._types import Array
from skimp.kernels._exponential import Exponential
from skimp.kernels._gamma import Gamma


@final
class Laplacian(Exponential):
    r"""Laplacian kernel, with the L1 distance.

    .. math:: k(x, y) = \exp(-\gamma \|x - y\|_1)

    A block of n x m values takes 3 n m d operations; sparse rows are made dense a strip at a time.
    The exponential of the Euclidean distance is `Matern` with ``nu=0.5``.

    Parameters
    ----------
    gamma : float, array of shape (d,), "scale", "median" or "dim", default="scale"
        Inverse width, for all columns or for each; a name is resolved in ``fit`` (see
        :doc:`/kernels`).

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.kernels import Laplacian
    >>> K = Laplacian(gamma=0.5)(np.array([[0.0, 0.0], [1.0, 3.0]]))
    >>> bool(np.isclose(K[0, 1], np.exp(-2)))
    True
    """

    _pairs = ManhattanDistances
    stationary = True

    def __init__(self, gamma: Gamma = "scale"):
        self.gamma = gamma

    def _frequencies(self, n_features: int, draws: Draws) -> Array:
        r"""Draw from the spectrum, independent Cauchy entries of scale :math:`\gamma`."""
        gamma = np.reshape(self.column_weights(n_features), (-1, 1))
        W: Array = draws.cauchys(n_features) * gamma
        return W

    def _pitches(self, n_features: int, size: int, rng: np.random.Generator) -> Array:
        r"""Draw from :math:`h k''(h) = \gamma^2 h e^{-\gamma h}`, of the family Gamma(2)."""
        return self._in_widths(rng.standard_gamma(2.0, (n_features, size)))

    def _pitch_rates(self, n_features: int) -> Array:
        """Return gamma for each column."""
        return np.array(np.broadcast_to(self.column_weights(n_features), n_features), float)
