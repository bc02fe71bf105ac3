"""The sum of two kernels."""

from typing import final

import numpy as np

from skimp._core._draws import Draws
from skimp._core._types import Array, DType, Matrix
from skimp.kernels._base import Kernel
from skimp.kernels._binary import Binary, BinaryColumns
from skimp.kernels._columns import Columns
from skimp.kernels._composite import grouped


@final
class Sum(Binary):
    r"""Sum of two kernels, written ``k1 + k2``.

    .. math:: k(x, y) = k_1(x, y) + k_2(x, y)

    Its space holds the sums of functions of the two: two effects that add up.

    Parameters
    ----------
    k1, k2 : Kernel
        The terms.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.kernels import Gaussian, Linear
    >>> (Gaussian(gamma=1.0) + Linear())(np.array([[2.0]])).item()
    5.0
    """

    _level = 0

    def _diag(self, X: Matrix) -> Array:
        """Return the sum of the diagonals."""
        return self.k1._diag(X) + self.k2._diag(X)

    def bind(self, B: Matrix, dtype: DType) -> Columns:
        """Return the functions k(., b); see `Kernel.bind`."""
        return _SumColumns(self.k1.bind(B, dtype), self.k2.bind(B, dtype))

    def _frequencies(self, n_features: int, draws: Draws) -> Array:
        """Draw each frequency from one spectrum or the other, in proportion to k(0, 0)."""
        first = draws.uniforms() < self._share(n_features)
        W1, W2 = (k._frequencies(n_features, draws) for k in (self.k1, self.k2))
        W: Array = np.where(first, W1, W2)
        return W

    def _share(self, n_features: int) -> float:
        """Return the first term's share of k(0, 0)."""
        origin = np.zeros((1, n_features))
        return float((self.k1._diag(origin) / self._diag(origin)).item())

    def _spectral_moment(self, n_features: int) -> float:
        """Return the mean of those of the terms, in proportion to k(0, 0)."""
        shares = self._shares(n_features)
        return float(sum(share * k._spectral_moment(n_features) for share, k in shares))

    def _pitches(self, n_features: int, size: int, rng: np.random.Generator) -> Array:
        """Draw each grid for one term or the other, in proportion to k(0, 0)."""
        first = rng.random(size) < self._share(n_features)
        h1, h2 = (k._pitches(n_features, size, rng) for k in (self.k1, self.k2))
        return np.where(first, h1, h2)

    def _pitch_rates(self, n_features: int) -> Array:
        """Return the means of those of the terms, in proportion to k(0, 0)."""
        rates = np.zeros(n_features)
        for share, k in self._shares(n_features):
            rates += share * k._pitch_rates(n_features)
        return rates

    def _shares(self, n_features: int) -> list[tuple[float, Kernel]]:
        """Return the terms that matter with their shares of k(0, 0)."""
        first = self._share(n_features)
        return [(share, k) for share, k in ((first, self.k1), (1 - first, self.k2)) if share > 0]

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return the sum as it is written."""
        return f"{self.k1!r} + {grouped(self.k2, 1)}"


@final
class _SumColumns(BinaryColumns):
    _combine = np.add

    def add_gradient_strip(self, X: Matrix, A: Array, out: Array) -> None:
        """Add both gradients."""
        self._first.add_gradient_strip(X, A, out)
        self._second.add_gradient_strip(X, A, out)

    def add_gradient_sums_strip(self, X: Matrix, A: Array, out: Array) -> None:
        """Add both sums."""
        self._first.add_gradient_sums_strip(X, A, out)
        self._second.add_gradient_sums_strip(X, A, out)
