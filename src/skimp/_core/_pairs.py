"""Statistics of pairs of rows that kernels are functions of, on strips of rows.

Each class takes the second argument of the pairs once, in the form that its loop wants, and then
fills blocks ``out[i, j] = s(X_i, B_j)`` for as many X as come along.
"""

from abc import ABC, abstractmethod
from typing import ClassVar, final

import numpy as np
from scipy import sparse

from skimp._core._linalg import dense, product, squared_norms
from skimp._core._types import Array, DType, Matrix

_LARGEST_DENSE = 2**26
"""Entries up to which a sparse B is made dense, for the faster product."""


class Pairs(ABC):
    """Pairs of any rows with the rows of B."""

    def __init__(self, B: Matrix, dtype: DType):
        self.size: int = B.shape[0]
        self.dtype = dtype
        self._prepare(B)

    @abstractmethod
    def _prepare(self, B: Matrix) -> None: ...

    @abstractmethod
    def fill(self, X: Matrix, out: Array) -> None:
        """Write the statistic of each pair into ``out``, of shape (len(X), size)."""


class Distances(Pairs, ABC):
    """A statistic that is zero for equal rows, and grows with a power of their scale."""

    degree: ClassVar[int]
    """The power."""


@final
class InnerProducts(Pairs):
    """The inner product <x, b>."""

    def _prepare(self, B: Matrix) -> None:
        if sparse.issparse(B) and B.shape[0] * B.shape[1] > _LARGEST_DENSE:
            self._Bt = B.astype(self.dtype).T.tocsr()
        else:
            self._Bt = np.ascontiguousarray(dense(B, self.dtype).T)

    def fill(self, X: Matrix, out: Array) -> None:
        """Write the inner products: one matrix product."""
        product(X, self._Bt, out)


@final
class SquaredDistances(Distances):
    """The squared Euclidean distance, by way of inner products.

    Dense rows are centred by the mean of B first, which keeps the digits that large offsets would
    cancel; sparse rows stay as they are.
    """

    degree = 2

    def _prepare(self, B: Matrix) -> None:
        self._centre = None
        if not sparse.issparse(B):
            B = np.asarray(B, self.dtype)
            self._centre = B.mean(axis=0, dtype=np.float64).astype(self.dtype)
            B = B - self._centre
        self._products = InnerProducts(B, self.dtype)
        self._norms = squared_norms(B, self.dtype)

    def fill(self, X: Matrix, out: Array) -> None:
        """Write the squared distances, none of them negative."""
        from skimp._core._pair_loops import squared_distances

        if self._centre is not None:
            X = X.toarray() if sparse.issparse(X) else X
            X = np.subtract(X, self._centre, dtype=self.dtype, casting="same_kind")
        self._products.fill(X, out)
        squared_distances(out, squared_norms(X, self.dtype), self._norms)


@final
class ManhattanDistances(Distances):
    """The sum of absolute differences."""

    degree = 1

    def _prepare(self, B: Matrix) -> None:
        self._Bt = np.ascontiguousarray(dense(B, self.dtype).T)

    def fill(self, X: Matrix, out: Array) -> None:
        """Write the L1 distances."""
        from skimp._core._pair_loops import manhattan

        manhattan(_private(X, self.dtype), self._Bt, out)


@final
class ChiSquareDistances(Distances):
    """The sum of (x - b)^2 / (x + b), for rows without negative entries."""

    degree = 1

    def _prepare(self, B: Matrix) -> None:
        self._Bt = np.ascontiguousarray(dense(B, self.dtype).T)

    def fill(self, X: Matrix, out: Array) -> None:
        """Write the chi-square distances."""
        from skimp._core._pair_loops import chi_square

        chi_square(_private(X, self.dtype), self._Bt, out)


def _private(X: Matrix, dtype: DType) -> Array:
    """Copy a strip of rows: compiled loops want one dtype and layout, and writable memory."""
    return X.toarray().astype(dtype) if sparse.issparse(X) else np.array(X, dtype, order="C")
