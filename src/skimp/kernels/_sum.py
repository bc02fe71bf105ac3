"""The sum of two kernels."""

from typing import final

import numpy as np

from skimp._core._types import Array, DType, Matrix
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

    def _frequencies(self, n_features: int, size: int, rng: np.random.Generator) -> Array:
        """Draw each frequency from one spectrum or the other, in proportion to k(0, 0)."""
        origin = np.zeros((1, n_features))
        share = float((self.k1._diag(origin) / self._diag(origin)).item())
        first = rng.random(size) < share
        W1, W2 = (k._frequencies(n_features, size, rng) for k in (self.k1, self.k2))
        W: Array = np.where(first, W1, W2)
        return W

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
