"""What random Fourier features draw from a stationary kernel: frequencies of its spectrum."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skimp._core._draws import Draws
from skimp._core._types import Array


@dataclass(frozen=True)
class Spectrum:
    r"""The distribution of frequencies w with :math:`E \cos(w^T (x - y)) = k(x, y) / k(0, 0)`.

    Attributes
    ----------
    frequencies : callable
        ``frequencies(draws)`` makes `Draws` into an array of frequencies, of shape (d, draws.size).
    moment : float
        The mean squared length of a frequency, which may be infinite.
    scale : array of shape (d,) or None
        If frequencies are normal vectors times stretches, the standard deviation of each column.
    stretches : callable or None
        In that case, ``stretches(draws)`` returns the stretches, one for each frequency.
    """

    frequencies: Callable[[Draws], Array]
    moment: float = np.inf
    scale: Array | None = None
    stretches: Callable[[Draws], Array | float] | None = None


def normal_spectrum(
    gamma: Array,
    stretches: Callable[[Draws], Array | float] = lambda draws: 1.0,
    squared_stretch: float = 1.0,
) -> Spectrum:
    r"""Return the spectrum of a function of :math:`\gamma \|x - y\|^2`, a mixture of Gaussians.

    Frequencies are :math:`N(0, 2 \gamma I)`, each multiplied by a random stretch.

    Parameters
    ----------
    gamma : array of shape (d,)
        Bandwidths of the columns.
    stretches : callable, optional
        ``stretches(draws)`` returns the square root of a random factor of gamma for each draw; one
        by default, for a Gaussian.
    squared_stretch : float, default=1.0
        The mean of the squared stretch, which may be infinite.
    """
    scale = np.sqrt(2 * gamma)

    def frequencies(draws: Draws) -> Array:
        W = draws.normals(len(scale))
        W *= scale[:, None]
        W *= stretches(draws)
        return W

    moment = float(np.sum(scale**2) * squared_stretch)
    return Spectrum(frequencies, moment, scale, stretches)
