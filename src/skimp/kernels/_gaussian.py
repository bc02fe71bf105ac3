"""The Gaussian (RBF) kernel."""

from typing import final

from skimp._params._rules import broken
from skimp.kernels._exponential import Exponential
from skimp.kernels._gamma import Gamma
from skimp.kernels._radial import Radial
from skimp.kernels._tents import TentMixture


@final
class Gaussian(Radial, Exponential):
    r"""Gaussian kernel, also called RBF.

    .. math:: k(x, y) = \exp(-\gamma \|x - y\|^2)

    A block of n x m values takes 2 n m d operations and 2 m d numbers besides.

    Parameters
    ----------
    gamma : float, array of shape (d,), "scale", "median" or "dim", default="scale"
        Inverse squared width, for all columns or for each; a name is resolved in ``fit`` (see
        :doc:`/kernels`).

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.kernels import Gaussian
    >>> K = Gaussian(gamma=0.5)(np.array([[0.0], [2.0]]))
    >>> bool(np.isclose(K[0, 1], np.exp(-2)))
    True
    """

    def __init__(self, gamma: Gamma = "scale"):
        self.gamma = gamma

    def _tent_mixture(self, n_features: int) -> TentMixture:
        """Raise: it is a product over columns, but none of its functions is convex."""
        raise broken(
            "RandomBinning",
            "kernel",
            "a product of functions that fall ever more slowly, such as Laplacian(): the density "
            "h k''(h) of the pitches of a Gaussian would be negative at h < 1 / sqrt(2 gamma)",
            self,
        )
