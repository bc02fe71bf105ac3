"""The product of two kernels."""

from collections.abc import Iterator
from typing import final

import numpy as np

from skimp._core._draws import Draws
from skimp._core._types import Array, DType, Matrix
from skimp._params._rules import broken
from skimp.kernels._binary import Binary, BinaryColumns
from skimp.kernels._columns import Columns
from skimp.kernels._composite import grouped


@final
class Product(Binary):
    r"""Product of two kernels, written ``k1 * k2``.

    .. math:: k(x, y) = k_1(x, y) \, k_2(x, y)

    Rows are alike if both kernels say so: effects that interact.

    Parameters
    ----------
    k1, k2 : Kernel
        The factors.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.kernels import Linear, Polynomial
    >>> (Linear() * Polynomial(degree=1, gamma=1.0))(np.array([[2.0]])).item()
    20.0
    """

    _level = 1

    def _diag(self, X: Matrix) -> Array:
        """Return the product of the diagonals."""
        return self.k1._diag(X) * self.k2._diag(X)

    def bind(self, B: Matrix, dtype: DType) -> Columns:
        """Return the functions k(., b); see `Kernel.bind`."""
        return _ProductColumns(self.k1.bind(B, dtype), self.k2.bind(B, dtype))

    def _frequencies(self, n_features: int, draws: Draws) -> Array:
        """Draw from the convolution of both spectra: the sum of a frequency of each."""
        W1, W2 = (k._frequencies(n_features, draws) for k in (self.k1, self.k2))
        W: Array = W1 + W2
        return W

    def _spectral_moment(self, n_features: int) -> float:
        """Return the mean squared length of a sum of independent frequencies."""
        return self.k1._spectral_moment(n_features) + self.k2._spectral_moment(n_features)

    def _pitches(self, n_features: int, size: int, rng: np.random.Generator) -> Array:
        """Draw the pitches of each factor; no column can have two."""
        self._pitch_rates(n_features)
        h1, h2 = (k._pitches(n_features, size, rng) for k in (self.k1, self.k2))
        return np.minimum(h1, h2)

    def _pitch_rates(self, n_features: int) -> Array:
        """Return those of the factors, on the columns that they look at."""
        r1, r2 = (k._pitch_rates(n_features) for k in (self.k1, self.k2))
        if np.any((r1 > 0) & (r2 > 0)):
            raise broken("RandomBinning", "kernel", "a product over different columns", self)
        rates: Array = r1 + r2
        return rates

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return the product as it is written."""
        return f"{grouped(self.k1, 1)} * {grouped(self.k2, 2)}"


@final
class _ProductColumns(BinaryColumns):
    _combine = np.multiply

    def add_gradient_strip(self, X: Matrix, A: Array, out: Array) -> None:
        """Differentiate each factor, weighted by the other one."""
        for factor, K in self._weighted(X, A, out.dtype):
            factor.add_gradient_strip(X, K, out)

    def add_gradient_sums_strip(self, X: Matrix, A: Array, out: Array) -> None:
        """Differentiate each factor, weighted by the other one."""
        for factor, K in self._weighted(X, A, out.dtype):
            factor.add_gradient_sums_strip(X, K, out)

    def _weighted(self, X: Matrix, A: Array, dtype: DType) -> Iterator[tuple[Columns, Array]]:
        """Yield each factor with the other one times A."""
        K = np.empty(A.shape, dtype)
        for factor, other in ((self._first, self._second), (self._second, self._first)):
            other.fill_strip(X, K)
            K *= A
            yield factor, K
