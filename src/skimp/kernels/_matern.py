"""The Matern kernels."""

from typing import Any, ClassVar, final

import numpy as np
from scipy.special import gammaincinv, gammaln, kve

from skimp.kernels import (
    GAMMA,
    Array,
    Draws,
    Gamma,
    PairKernel,
    Spectrum,
    SquaredDistances,
    normal_spectrum,
    number,
)

_CLOSED = {0.5: (0.0, 0.0), 1.5: (1.0, 0.0), 2.5: (1.0, 1 / 3)}
"""Coefficients a, b of ``(1 + a t + b t^2) exp(-t)``, for the values of nu with a fast loop."""


@final
class Matern(PairKernel):
    r"""Matern kernel, whose smoothness is the parameter :math:`\nu`.

    .. math::
        k(x, y) = \frac{2^{1 - \nu}}{\Gamma(\nu)} \, t^\nu K_\nu(t), \qquad
        t = 2 \sqrt{\nu \gamma} \, \|x - y\|

    As :math:`\nu` grows, it converges to the Gaussian kernel with the same :math:`\gamma`. It is
    :math:`e^{-t}` for :math:`\nu = 1/2`, :math:`(1 + t) e^{-t}` for 3/2 and
    :math:`(1 + t + t^2 / 3) e^{-t}` for 5/2. An n x m kernel matrix takes 2 n m d operations, and
    n m values of the profile. For these three values of nu, the profile is about as fast as the
    Gaussian one. Other values need Bessel functions, which are about 100 times slower.

    Parameters
    ----------
    nu : float, default=1.5
        Smoothness, at most 100. Functions in the kernel's space have (weak) derivatives up to
        order nu. Above 100, the Gaussian kernel differs by less than 0.003.
    gamma : float, array of shape (d,), "scale", "median", "dim" or "auto", default="scale"
        Inverse squared width, for all columns or one per column. Estimators replace a
        string by a number in ``fit`` (see :doc:`/kernels`). The length scale l of scikit-learn
        corresponds to ``gamma = 1 / (2 l^2)``.

    References
    ----------
    Rasmussen and Williams (2006), Gaussian Processes for Machine Learning, eq. 4.14 to 4.17.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.kernels import Matern
    >>> K = Matern(nu=0.5, gamma=0.5)(np.array([[0.0], [2.0]]))
    >>> bool(np.isclose(K[0, 1], np.exp(-2)))
    True
    """

    rules: ClassVar = {"nu": number(above=0, at_most=100), "gamma": GAMMA}
    statistic = SquaredDistances
    stationary = True

    def __init__(self, nu: float = 1.5, gamma: Gamma = "scale"):
        self.nu = nu
        self.gamma = gamma

    def profile(self, s: Array) -> None:
        if self.nu in _CLOSED:
            self._decay(s, *_CLOSED[self.nu])
        else:
            s[...] = _matern(s, self.nu, self.nu)

    def slope(self, s: Array) -> None:
        if self.nu == 0.5:
            t = np.sqrt(2 * s)
            self._decay(s, 0.0, 0.0)
            np.divide(-s, t, out=s, where=t > 0)
            s[t == 0] = 0
        elif self.nu == 1.5:
            self._decay(s, 0.0, 0.0)
            s *= -3
        elif self.nu == 2.5:
            self._decay(s, 1.0, 0.0)
            s *= -5 / 3
        elif self.nu > 1:
            s[...] = -self.nu / (self.nu - 1) * _matern(s, self.nu, self.nu - 1)
        else:
            s[...] = -2 * self.nu * _power_times_bessel(s, self.nu, self.nu - 1, at_zero=0.0)

    def _decay(self, s: Array, a: float, b: float) -> None:
        from skimp._core.loops._profiles import decaying_polynomial

        real = s.dtype.type
        decaying_polynomial(s, real(4 * self.nu), real(a), real(b))

    def spectrum(self, n_features: int) -> Spectrum:
        def stretches(draws: Draws) -> Array:
            # frequencies have a Student t distribution with 2 nu degrees of freedom: one chi-square
            # variable for all entries of a vector
            halves = np.maximum(gammaincinv(self.nu, draws.uniforms()), np.finfo(np.float64).tiny)
            return np.asarray(np.sqrt(self.nu / halves))

        squared = self.nu / (self.nu - 1) if self.nu > 1 else np.inf
        return normal_spectrum(self.gammas(n_features), stretches, squared)


def _matern(s: Array, nu: float, order: float) -> Array:
    """Return the Matern kernel of smoothness ``order`` at the scaled distances t of ``nu``."""
    # if the Bessel function overflows, two terms of its series are accurate to 1e-10
    series = 1 - s * (nu / (order - 1)) if order > 1 else 1.0
    scale = float(np.exp(gammaln(nu) - gammaln(order) + (nu - order) * np.log(2)))
    return scale * _power_times_bessel(s, nu, order, at_zero=series / scale)


def _power_times_bessel(s: Array, nu: float, order: float, at_zero: Any) -> Array:
    r"""Return :math:`2^{1 - \nu} / \Gamma(\nu) \, t^{order} K_{order}(t)`, in logarithms."""
    # all values beyond 1e4 are zero, and kve would underflow
    t = np.minimum(2 * np.sqrt(nu * s, dtype=np.float64), 1e4)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = order * np.log(t) + np.log(kve(order, t)) - t
    values: Array = np.exp(logs + (1 - nu) * np.log(2) - gammaln(nu))
    lost = ~np.isfinite(logs)
    values[lost] = np.broadcast_to(at_zero, values.shape)[lost]
    return values
