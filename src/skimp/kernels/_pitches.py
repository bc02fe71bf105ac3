"""Distributions of grid pitches (bin widths), from which random binning draws its grids."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from skimp._core._types import Array
from skimp.kernels._checks import unsupported

if TYPE_CHECKING:
    from skimp.kernels._base import Kernel

_T = np.concatenate([[0.0], np.logspace(-8, 8, 8192)])
_PROBES = np.logspace(-150, 150, 601)
_LITTLE_LESS = 0.9
"""The distance at which the function falls below this value is the unit of its distances."""
_ROUNDING = 1e-9
"""Negative weights above minus this value are rounding errors."""
_STEADY = 1.001
"""If the slope grows by a larger factor in the first decade, it counts as infinite at zero."""

Sampler = Callable[[Any, np.random.Generator], Array]


@dataclass(frozen=True)
class Pitches:
    """Distribution of grid pitches; two rows share a bin with probability k(x, y) / k(0, 0).

    Attributes
    ----------
    sample : callable
        ``sample(size, rng)`` draws pitches h, an array of shape (d, size); infinite for columns
        that a grid ignores.
    rates : array of shape (d,)
        The mean of 1 / h for each column, which may be infinite.
    """

    sample: Sampler
    rates: Array


def column_pitches(gamma: Array, sample: Sampler, rate: float) -> Pitches:
    r"""Return the pitches of a product over columns of :math:`\phi(\gamma_j |x_j - y_j|)`.

    Parameters
    ----------
    gamma : array of shape (d,)
        Inverse widths of the columns.
    sample : callable
        ``sample(shape, rng)`` draws from the density :math:`h \phi''(h)`.
    rate : float
        The mean of 1 / h, which is :math:`-\phi'(0)`.

    Returns
    -------
    pitches : Pitches
        The distribution of pitches.
    """
    seen = gamma > 0

    def divided(size: int, rng: np.random.Generator) -> Array:
        h = sample((len(gamma), size), rng)
        return np.divide(h, gamma[:, None], out=np.full_like(h, np.inf), where=seen[:, None])

    return Pitches(divided, np.multiply(gamma, rate, out=np.zeros(len(gamma)), where=seen))


def convex_pitches(kernel: "Kernel", n_features: int) -> Pitches:
    """Return the pitches of a stationary kernel of one column, computed from its values."""

    def error(wording: str) -> ValueError:
        return unsupported(kernel, wording, owner="RandomBinning")

    if n_features != 1 or not kernel.stationary:
        raise error("a product over columns of convex functions, such as Laplacian()")
    origin = np.zeros((1, 1))
    mixture = TentMixture(
        lambda t: kernel(t[:, None], origin)[:, 0] / kernel.diagonal(origin), error
    )
    return Pitches(lambda size, rng: mixture.sample((1, size), rng), np.array([mixture.rate]))


@final
class TentMixture:
    r"""Convex function as a mixture of tents, :math:`\phi(t) = \sum_h p_h \max(0, 1 - t / h)`.

    The weights are :math:`p(h) = h \phi''(h)`, computed from :math:`\phi` at 8,192 distances
    between 1e-8 and 1e8 times the distance at which it falls to 0.9. Between these distances the
    mixture is linear and differs from a smooth function by less than 1e-5. The value of
    :math:`\phi` at the largest distance is the weight of an infinite pitch.

    Parameters
    ----------
    profile : callable
        :math:`\phi` of an array of distances, with :math:`\phi(0) = 1`.
    error : callable
        ``error(wording)`` returns the error for a function that is not convex; the wording
        completes "must be".
    """

    def __init__(self, profile: Callable[[Array], Any], error: Callable[[str], ValueError]):
        with np.errstate(all="ignore"):
            fallen = np.flatnonzero(np.asarray(profile(_PROBES.copy())) < _LITTLE_LESS)
            T = _T * (_PROBES[fallen[0]] if len(fallen) else 1.0)
            phi = np.asarray(profile(T.copy()), dtype=np.float64)
        if phi.shape != T.shape or not np.isfinite(phi).all() or abs(phi[0] - 1) > _ROUNDING:
            raise error("1 at distance 0 and finite at all other distances")
        slopes = np.append(np.diff(phi) / np.diff(T), 0.0)
        weights = T[1:] * np.diff(slopes)
        worst = int(np.argmin(weights))
        if not weights[worst] >= -_ROUNDING:
            raise error(
                "a decreasing convex function of distances, such as that of Laplacian() (the "
                f"density h k''(h) of its pitches is negative at h = {T[1:][worst]:.2g})"
            )
        if phi.min() < -_ROUNDING:
            raise error("a nonnegative function")
        self.pitches = np.append(T[1:], np.inf)
        self.weights = np.append(np.maximum(weights, 0), max(phi[-1], 0))
        self.weights /= self.weights.sum()
        decade = int(np.searchsorted(_T, 10 * _T[1]))
        self.rate = float(-slopes[0] if slopes[1] >= _STEADY * slopes[decade] else np.inf)

    def sample(self, size: int | tuple[int, ...], rng: np.random.Generator) -> Array:
        return rng.choice(self.pitches, size, p=self.weights)
