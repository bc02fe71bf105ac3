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
    r"""Cauchy kernel, whose tails are long: rows far apart still know of each other.

    .. math:: k(x, y) = \frac{1}{1 + \gamma \|x - y\|^2}

    It is the rational quadratic kernel with exponent one. The kernel of that name in Rahimi and
    Recht (2007) is a product over columns instead: ``Cauchy().on(0) * Cauchy().on(1)``.

    Parameters
    ----------
    gamma : float, array of shape (d,), "scale", "median" or "dim", default="scale"
        Inverse squared width, for all columns or for each; a name is resolved in ``fit`` (see
        :doc:`/kernels`).

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
            # 1 / (1 + s) is the mean of exp(-t s) over an exponential t
            return np.sqrt(-np.log(draws.uniforms()))

        return normal_spectrum(self.gammas(n_features), stretches)
