"""The Gaussian (RBF) kernel."""

from typing import ClassVar, final

import numpy as np

from skimp.kernels import (
    GAMMA,
    Array,
    Gamma,
    PairKernel,
    Spectrum,
    SquaredDistances,
    normal_spectrum,
)


@final
class Gaussian(PairKernel):
    r"""Gaussian kernel, also called RBF kernel.

    .. math:: k(x, y) = \exp(-\gamma \|x - y\|^2)

    An n x m kernel matrix takes 2 n m d operations, and memory for 2 m d more numbers.

    Parameters
    ----------
    gamma : float, array of shape (d,), "scale", "median", "dim" or "auto", default="scale"
        Inverse squared width, for all columns or one per column. Estimators replace a
        string by a number in ``fit`` (see :doc:`/kernels`).

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.kernels import Gaussian
    >>> K = Gaussian(gamma=0.5)(np.array([[0.0], [2.0]]))
    >>> bool(np.isclose(K[0, 1], np.exp(-2)))
    True
    """

    rules: ClassVar = {"gamma": GAMMA}
    statistic = SquaredDistances
    stationary = True
    mergeable = True

    def __init__(self, gamma: Gamma = "scale"):
        self.gamma = gamma

    def profile(self, s: Array) -> None:
        from skimp._core.loops._profiles import negative_exp

        negative_exp(s)

    def slope(self, s: Array) -> None:
        self.profile(s)
        np.negative(s, out=s)

    def spectrum(self, n_features: int) -> Spectrum:
        return normal_spectrum(self.gammas(n_features))
