"""The Cauchy kernel."""

from typing import ClassVar, final

import numpy as np

from skimp.kernels import (
    GAMMA,
    Array,
    Draws,
    Gamma,
    PairKernel,
    Spectrum,
    SquaredDistances,
    normal_spectrum,
)


@final
class Cauchy(PairKernel):
    r"""Cauchy kernel, which decays slowly: distant rows still influence each other.

    .. math:: k(x, y) = \frac{1}{1 + \gamma \|x - y\|^2}

    An n x m kernel matrix takes 2 n m d operations. This is the rational quadratic kernel with
    exponent 1. The Cauchy kernel of Rahimi and Recht (2007) is a product over columns instead,
    such as ``Cauchy().on(0) * Cauchy().on(1)``.

    Parameters
    ----------
    gamma : float, array of shape (d,), "scale", "median", "dim" or "auto", default="scale"
        Inverse squared width, for all columns or one per column. Estimators replace a
        string by a number in ``fit`` (see :doc:`/kernels`).

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.kernels import Cauchy
    >>> Cauchy(gamma=1.0)(np.array([[0.0], [1.0]])).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """

    rules: ClassVar = {"gamma": GAMMA}
    statistic = SquaredDistances
    stationary = True

    def __init__(self, gamma: Gamma = "scale"):
        self.gamma = gamma

    def profile(self, s: Array) -> None:
        from skimp._core.loops._profiles import reciprocal

        reciprocal(s)

    def slope(self, s: Array) -> None:
        self.profile(s)
        np.multiply(s, -s, out=s)

    def spectrum(self, n_features: int) -> Spectrum:
        def stretches(draws: Draws) -> Array:
            # 1 / (1 + s) is the mean of exp(-t s) over an exponentially distributed t
            return np.sqrt(-np.log(draws.uniforms()))

        return normal_spectrum(self.gammas(n_features), stretches)
