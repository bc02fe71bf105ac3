"""The Laplacian kernel."""

from typing import ClassVar, final

import numpy as np

from skimp.kernels import (
    GAMMA,
    Array,
    Gamma,
    ManhattanDistances,
    PairKernel,
    Pitches,
    Spectrum,
    column_pitches,
)


@final
class Laplacian(PairKernel):
    r"""Laplacian kernel, the exponential of the L1 distance.

    .. math:: k(x, y) = \exp(-\gamma \|x - y\|_1)

    An n x m kernel matrix takes 3 n m d operations; sparse rows are converted to dense strips.
    For the exponential of the Euclidean distance, use `Matern` with ``nu=0.5``.

    Parameters
    ----------
    gamma : float, array of shape (d,), "scale", "median", "dim" or "auto", default="scale"
        Inverse width, for all columns or one per column. Estimators replace a
        string by a number in ``fit`` (see :doc:`/kernels`).

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.kernels import Laplacian
    >>> K = Laplacian(gamma=0.5)(np.array([[0.0, 0.0], [1.0, 3.0]]))
    >>> bool(np.isclose(K[0, 1], np.exp(-2)))
    True
    """

    rules: ClassVar = {"gamma": GAMMA}
    statistic = ManhattanDistances
    stationary = True

    def __init__(self, gamma: Gamma = "scale"):
        self.gamma = gamma

    def profile(self, s: Array) -> None:
        from skimp._core.loops._profiles import negative_exp

        negative_exp(s)

    def slope(self, s: Array) -> None:
        self.profile(s)
        np.negative(s, out=s)

    def spectrum(self, n_features: int) -> Spectrum:
        gamma = self.gammas(n_features)[:, None]
        return Spectrum(lambda draws: draws.cauchys(n_features) * gamma)

    def pitches(self, n_features: int) -> Pitches:
        def sample(shape: tuple[int, int], rng: np.random.Generator) -> Array:
            # the density h k''(h) = h exp(-h) for gamma = 1
            return rng.standard_gamma(2.0, shape)

        return column_pitches(self.gammas(n_features), sample, 1.0)
