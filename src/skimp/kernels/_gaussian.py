"""The Gaussian (RBF) kernel."""

from typing import final

import numpy as np

from skimp._core._pairs import SquaredDistances
from skimp._core._types import Array
from skimp.kernels._exponential import Exponential


@final
class Gaussian(Exponential):
    r"""Gaussian kernel, also called RBF.

    .. math:: k(x, y) = \exp(-\gamma \|x - y\|^2)

    A block of n x m values takes 2 n m d operations and m d numbers besides.

    Parameters
    ----------
    gamma : float, "scale", "median" or "dim", default="scale"
        Inverse squared width; a name is resolved in ``fit`` (see :doc:`/guide`).

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.kernels import Gaussian
    >>> K = Gaussian(gamma=0.5)(np.array([[0.0], [2.0]]))
    >>> bool(np.isclose(K[0, 1], np.exp(-2)))
    True
    """

    _pairs = SquaredDistances

    def __init__(self, gamma: float | str = "scale"):
        self.gamma = gamma

    def sample_frequencies(self, n_features: int, size: int, rng: np.random.Generator) -> Array:
        r"""Draw from the spectrum, :math:`w \sim N(0, 2 \gamma I)`, as columns."""
        W: Array = rng.standard_normal((n_features, size)) * np.sqrt(2 * self.gamma)
        return W
