"""What random features draw from a kernel: frequencies of its spectrum, pitches of grids."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from skimp._core._draws import KINDS, Draws, draws_of
from skimp._core._types import Array, Matrix
from skimp._params._parametrized import Parametrized
from skimp._params._rules import broken, one_of
from skimp.kernels._checks import require
from skimp.kernels._tents import TentMixture


class Drawn(Parametrized, ABC):
    """A kernel, as random features know it.

    Kernels with a spectrum say how frequencies are made of random numbers (``_frequencies``), those
    that are products over columns how pitches are drawn (``_pitches``).
    """

    @property
    @abstractmethod
    def stationary(self) -> bool:
        """True if k(x, y) depends on x - y alone; there is a spectrum to sample then."""

    @abstractmethod
    def check_resolved(self) -> None:
        """Raise unless every parameter is one that the formula can be computed with."""

    @abstractmethod
    def __call__(self, X: Any, Y: Any = None, *, n_jobs: int | None = None) -> Array:
        """Return the matrix of k(x, y)."""

    @abstractmethod
    def _diag(self, X: Matrix) -> Array: ...

    def sample_frequencies(
        self, n_features: int, size: int, rng: np.random.Generator, sampling: str = "iid"
    ) -> Array:
        r"""Draw frequencies w from the spectrum of a stationary kernel.

        They are such that :math:`E \cos(w^T (x - y)) = k(x, y) / k(0, 0)`.

        Parameters
        ----------
        n_features : int
            Number of columns d of the rows.
        size : int
            Number of frequencies.
        rng : numpy.random.Generator
            Source of randomness.
        sampling : "iid", "orthogonal" or "qmc", default="iid"
            Independent of each other, orthogonal in groups of d, or a scrambled Sobol sequence; see
            `~skimp.features.RandomFourier`. Each frequency alone has the same distribution.

        Returns
        -------
        W : array of shape (d, size)

        Examples
        --------
        >>> import numpy as np
        >>> from skimp.kernels import Gaussian
        >>> W = Gaussian(gamma=0.5).sample_frequencies(1, 100_000, np.random.default_rng(0))
        >>> bool(abs(np.cos(W).mean() - np.exp(-0.5)) < 0.01)
        True
        """
        self.check_resolved()
        require(self, "stationary", owner="sample_frequencies", advice="others have no spectrum")
        if not one_of(*KINDS).test(sampling):
            raise broken("sample_frequencies", "sampling", one_of(*KINDS).wording, sampling)
        return self._frequencies(n_features, draws_of(sampling, size, rng))

    def _frequencies(self, n_features: int, draws: Draws) -> Array:
        """Make frequencies of random numbers; every stationary kernel does."""
        raise NotImplementedError(f"{type(self).__name__} is stationary, but has no _frequencies.")

    def spectral_moment(self, n_features: int) -> float:
        """Return the mean squared length of a frequency, which may be infinite.

        Parameters
        ----------
        n_features : int
            Number of columns d of the rows.

        Examples
        --------
        >>> from skimp.kernels import Gaussian
        >>> round(Gaussian(gamma=0.5).spectral_moment(3), 6)
        3.0
        """
        self.check_resolved()
        return self._spectral_moment(n_features)

    def _spectral_moment(self, n_features: int) -> float:
        return np.inf

    def sample_pitches(self, n_features: int, size: int, rng: np.random.Generator) -> Array:
        r"""Draw pitches of grids: rows share a bin of such a grid with probability k(x, y).

        More exactly with :math:`k(x, y) / k(0, 0)`, for kernels that are products over columns of
        functions :math:`k_j(|x_j - y_j|)` for which :math:`p(h) = h \, k_j''(h)` is a density:
        that fall, ever more slowly. Rahimi and Recht (2007), section 4.

        Parameters
        ----------
        n_features : int
            Number of columns d of the rows.
        size : int
            Number of grids.
        rng : numpy.random.Generator
            Source of randomness.

        Returns
        -------
        h : array of shape (d, size)
            Infinite for columns that a grid does not look at.

        Examples
        --------
        >>> import numpy as np
        >>> from skimp.kernels import Laplacian
        >>> h = Laplacian(gamma=0.5).sample_pitches(1, 100_000, np.random.default_rng(0))
        >>> bool(abs(np.maximum(0, 1 - 2.0 / h).mean() - np.exp(-1)) < 0.01)
        True
        """
        self.check_resolved()
        h = self._pitches(n_features, size, rng)
        if h.shape != (n_features, size) or not (h > 0).all():
            wording = f"one whose _pitches are > 0, of shape {(n_features, size)}"
            raise broken("sample_pitches", "kernel", wording, self)
        return h

    def _pitches(self, n_features: int, size: int, rng: np.random.Generator) -> Array:
        """Draw pitches of a kernel of one column by its values; others say how, or have none."""
        return self._tent_mixture(n_features).sample(size, rng)[None]

    def pitch_rates(self, n_features: int) -> Array:
        r"""Return :math:`E[1/h] = -k_j'(0)` of the pitches of each column, infinite ones included.

        Parameters
        ----------
        n_features : int
            Number of columns d of the rows.

        Examples
        --------
        >>> from skimp.kernels import Laplacian
        >>> Laplacian(gamma=[0.5, 2.0]).pitch_rates(2).tolist()
        [0.5, 2.0]
        """
        self.check_resolved()
        return self._pitch_rates(n_features)

    def _pitch_rates(self, n_features: int) -> Array:
        return np.array([self._tent_mixture(n_features).rate])

    def _tent_mixture(self, n_features: int) -> TentMixture:
        if n_features != 1 or not self.stationary:
            wording = "a product over columns of functions that fall ever more slowly (Laplacian())"
            raise broken("RandomBinning", "kernel", wording, self)
        origin = np.zeros((1, 1))

        def profile(t: Array) -> Array:
            values: Array = self(t[:, None], origin)[:, 0] / self._diag(origin)
            return values

        return TentMixture(profile, owner="RandomBinning", value=self)
