"""Random draws for the frequencies of Fourier features: independent, orthogonal or quasi-random."""

from abc import ABC, abstractmethod
from typing import final

import numpy as np
from scipy.special import ndtri

from skimp._core._threads import single_threaded_blas
from skimp._core._types import Array

_HALF_STEP = 2.0**-31
"""Added to Sobol points, multiples of 2^-30, because the normal quantile of 0 is infinite."""


class Draws(ABC):
    """A fixed number of random vectors of any dimension; calls are independent of each other."""

    def __init__(self, size: int, rng: np.random.Generator):
        self.size = size
        self._rng = rng

    @abstractmethod
    def normals(self, dimension: int) -> Array:
        """Return standard normal entries, of shape (dimension, size)."""

    @abstractmethod
    def cauchys(self, dimension: int) -> Array:
        """Return standard Cauchy entries, of shape (dimension, size)."""

    @abstractmethod
    def uniforms(self) -> Array:
        """Return one uniform number between 0 and 1 for each draw."""


@final
class IndependentDraws(Draws):
    """Independent draws."""

    def normals(self, dimension: int) -> Array:
        return self._rng.standard_normal((dimension, self.size))

    def cauchys(self, dimension: int) -> Array:
        return self._rng.standard_cauchy((dimension, self.size))

    def uniforms(self) -> Array:
        return self._rng.random(self.size)


@final
class OrthogonalDraws(Draws):
    """Normal vectors that are orthogonal within groups of as many vectors as dimensions.

    Directions are uniform and lengths are independent, with the distribution of a normal vector's
    length, so each vector by itself is normal (Yu et al. 2016, Orthogonal random features,
    section 3).
    """

    def normals(self, dimension: int) -> Array:
        W = self.directions(dimension)
        W *= np.sqrt(self._rng.chisquare(dimension, self.size))
        return W

    def directions(self, dimension: int) -> Array:
        """Return unit vectors as columns, orthogonal within each group."""
        W = np.empty((dimension, self.size))
        with single_threaded_blas():
            for start in range(0, self.size, dimension):
                group = W[:, start : start + dimension]
                G = self._rng.standard_normal((dimension, dimension))
                Q, R = np.linalg.qr(G)
                # the signs of R make Q uniform over all rotations
                group[...] = (Q * np.where(R.diagonal() < 0, -1.0, 1.0))[:, : group.shape[1]]
        return W

    def cauchys(self, dimension: int) -> Array:
        raise ValueError(
            "sampling='orthogonal' requires a kernel of the Euclidean distance, found one of the "
            "L1 distance (Laplacian), whose spectrum is not rotation invariant: choose "
            "sampling='iid' or 'qmc'."
        )

    def uniforms(self) -> Array:
        return self._rng.random(self.size)


@final
class QuasiDraws(Draws):
    """Quasi-random draws: scrambled Sobol points, or shifted Halton points in high dimensions.

    Each point by itself is uniform. Each call shuffles its points: without it, the points of two
    calls would be correlated.
    """

    def normals(self, dimension: int) -> Array:
        return np.asarray(ndtri(self._points(dimension)))

    def cauchys(self, dimension: int) -> Array:
        return np.asarray(np.tan(np.pi * (self._points(dimension) - 0.5)))

    def uniforms(self) -> Array:
        return np.asarray(self._points(1)[0])

    def _points(self, dimension: int) -> Array:
        from scipy.stats import qmc

        if dimension <= qmc.Sobol.MAXDIM:
            sequence = qmc.Sobol(dimension, seed=int(self._rng.integers(2**63)))
            points = sequence.random_base2(max(0, self.size - 1).bit_length())[: self.size]
            points += _HALF_STEP
        else:
            # scrambling would store a permutation for each prime: tens of gigabytes
            points = qmc.Halton(dimension, scramble=False).random(self.size)
            points = (points + self._rng.random(dimension)) % 1
        return np.ascontiguousarray(self._rng.permutation(points).T)


KINDS: dict[str, type[Draws]] = {
    "iid": IndependentDraws,
    "orthogonal": OrthogonalDraws,
    "qmc": QuasiDraws,
}
"""Classes of draws by the value of the parameter ``sampling``."""
