"""Spectra of stationary kernels, from which random Fourier features draw frequencies."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skimp._core._draws import Draws
from skimp._core._types import Array


@dataclass(frozen=True)
class Spectrum:
    r"""Distribution of frequencies w with :math:`E \cos(w^T (x - y)) = k(x, y) / k(0, 0)`.

    Attributes
    ----------
    frequencies : callable
        ``frequencies(draws)`` turns `Draws` into frequencies, an array of shape (d, draws.size).
    moment : float
        The mean squared norm of a frequency, which may be infinite.
    scale : array of shape (d,) or None
        The standard deviation of each column, if frequencies are normal vectors that are each
        multiplied by a random stretch; otherwise None.
    stretches : callable or None
        ``stretches(draws)`` returns the stretches, one for each frequency; None without ``scale``.
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
    r"""Return the spectrum of a kernel that is a mixture of Gaussian kernels.

    Such a kernel is :math:`E \exp(-t \gamma \|x - y\|^2)` over a random :math:`t > 0`. Its
    frequencies are normal vectors, :math:`N(0, 2 \gamma I)`, each multiplied by a random stretch
    :math:`\sqrt t`.

    Parameters
    ----------
    gamma : array of shape (d,)
        Inverse squared widths of the columns.
    stretches : callable, optional
        ``stretches(draws)`` returns :math:`\sqrt t` for each draw; 1 by default, which gives the
        Gaussian kernel.
    squared_stretch : float, default=1.0
        The mean of t, which may be infinite.

    Returns
    -------
    spectrum : Spectrum
        The spectrum.
    """
    scale = np.sqrt(2 * gamma)

    def frequencies(draws: Draws) -> Array:
        W = draws.normals(len(scale))
        W *= scale[:, None]
        W *= stretches(draws)
        return W

    moment = float(np.sum(scale**2) * squared_stretch)
    return Spectrum(frequencies, moment, scale, stretches)
