"""Convex functions of a distance as mixtures of tents, max(0, 1 - t / h)."""

from collections.abc import Callable
from typing import Any, final

import numpy as np

from skimp._core._types import Array
from skimp._params._rules import broken

_T = np.concatenate([[0.0], np.logspace(-8, 8, 8192)])
_PROBES = np.logspace(-150, 150, 601)
_LITTLE_LESS = 0.9
"""Where a function falls below this, there is the unit that its distances are taken in."""
_ROUNDING = 1e-9
"""Weight below zero that rounding explains."""
_STEADY = 1.001
"""Growth of the slope over the first decade above which it is taken for infinite at zero."""


@final
class TentMixture:
    r"""Pitches h and weights p with :math:`\phi(t) = \sum_h p_h \max(0, 1 - t / h)`.

    Where :math:`\phi` is convex, :math:`p(h) = h \phi''(h)`. It is taken at 8,192 distances, from
    1e-8 to 1e8 of the one at which it has fallen to 0.9: between them the mixture is the straight
    line, which differs from a smooth function by less than 1e-5. What :math:`\phi` is beyond is the
    weight of an infinite pitch.

    Parameters
    ----------
    profile : callable
        :math:`\phi` of an array of distances, with :math:`\phi(0) = 1`.
    owner, name, value
        Whose parameter an error names, with its value.
    """

    def __init__(
        self, profile: Callable[[Array], Any], *, owner: str, name: str = "kernel", value: object
    ):
        with np.errstate(all="ignore"):
            fallen = np.flatnonzero(np.asarray(profile(_PROBES.copy())) < _LITTLE_LESS)
            T = _T * (_PROBES[fallen[0]] if len(fallen) else 1.0)
            phi = np.asarray(profile(T.copy()), dtype=np.float64)
        if phi.shape != T.shape or not np.isfinite(phi).all() or abs(phi[0] - 1) > _ROUNDING:
            raise broken(owner, name, "1 at a distance of 0, and a number at any other", value)
        slopes = np.append(np.diff(phi) / np.diff(T), 0.0)
        weights = T[1:] * np.diff(slopes)
        worst = int(np.argmin(weights))
        if not weights[worst] >= -_ROUNDING:
            raise broken(
                owner,
                name,
                "a function of distances that falls ever more slowly, as that of Laplacian() does: "
                "the density h k''(h) of the pitches of this one would be negative at "
                f"h = {T[1:][worst]:.2g}",
                value,
            )
        if phi.min() < -_ROUNDING:
            raise broken(owner, name, "a function that is nowhere negative", value)
        self._pitches = np.append(T[1:], np.inf)
        self._weights = np.append(np.maximum(weights, 0), max(phi[-1], 0))
        self._weights /= self._weights.sum()
        decade = int(np.searchsorted(_T, 10 * _T[1]))
        self.rate = -slopes[0] if slopes[1] >= _STEADY * slopes[decade] else np.inf

    def sample(self, size: int | tuple[int, ...], rng: np.random.Generator) -> Array:
        """Draw pitches."""
        return rng.choice(self._pitches, size, p=self._weights)
