"""Statistics of pairs of rows, such as distances, from which kernels are computed.

Each class prepares the second rows B once, and then fills blocks ``out[i, j] = s(X_i, B_j)`` for
any number of strips X.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, final

import numpy as np
from scipy import sparse

from skimp._core._linalg import dense, product, squared_norms
from skimp._core._types import Array, DType, Matrix

LARGEST_DENSE = 2**26
"""The largest number of entries at which a sparse B may be converted to a dense array."""

LEAST_DENSITY = 0.03
"""The share of stored entries above which the product with a dense B is faster."""


def stays_sparse(B: Matrix) -> bool:
    """Return whether B is sparse and should remain so."""
    if not sparse.issparse(B):
        return False
    size = B.shape[0] * B.shape[1]
    return bool(size > LARGEST_DENSE or B.nnz < LEAST_DENSITY * size)


class Pairs(ABC):
    """A statistic of any row and each row of B: a weighted sum over the columns.

    Parameters
    ----------
    B : array or CSR matrix of shape (m, d)
        The second rows of the pairs.
    dtype : float32 or float64
        Precision of the computation.
    weights : float or array of shape (d,)
        Nonnegative weights of the columns.
    """

    degree: ClassVar[int]
    """Multiplying all rows by t multiplies the statistic by t to this power."""
    looped: ClassVar[bool] = False
    """True if a loop computes the terms one by one, False if a matrix product does."""
    rotation_invariant: ClassVar[bool] = False
    """True if rotating both rows does not change the statistic."""

    def __init__(self, B: Matrix, dtype: DType, weights: Any = 1.0):
        self.size: int = B.shape[0]
        self.dtype = dtype
        self._weights = np.array(np.broadcast_to(weights, B.shape[1]), dtype)
        self._prepare(B)

    @abstractmethod
    def _prepare(self, B: Matrix) -> None: ...

    @staticmethod
    @abstractmethod
    def own(X: Matrix, weights: Array) -> Array:
        """Return the statistic of each row with itself, in float64."""

    @abstractmethod
    def fill(self, X: Matrix, out: Array) -> None:
        """Write the statistic of each pair into ``out``, of shape (len(X), size)."""

    @abstractmethod
    def add_gradient(self, X: Matrix, A: Array, out: Array) -> None:
        """Add the sum over j of ``A_ij`` times the derivative in ``X_i`` to ``out_i``."""

    @abstractmethod
    def add_gradient_sums(self, X: Matrix, A: Array, out: Array) -> None:
        """Add the sum over i of ``A_ij`` times the derivative in ``X_i`` to ``out_j``."""


class Distances(Pairs, ABC):
    """A statistic that is zero for equal rows."""

    @staticmethod
    def own(X: Matrix, weights: Array) -> Array:
        """Return zeros."""
        return np.zeros(X.shape[0])


@final
class InnerProducts(Pairs):
    """The weighted inner product of x and b."""

    degree = 2
    rotation_invariant = True

    def _prepare(self, B: Matrix) -> None:
        if stays_sparse(B):
            self._Bt = scaled(B, self._weights).T.tocsr()
        else:
            self._Bt = np.ascontiguousarray(scaled(dense(B, self.dtype), self._weights).T)

    @staticmethod
    def own(X: Matrix, weights: Array) -> Array:
        """Return the squared norms of the rows."""
        return squared_norms(X, weights)

    def fill(self, X: Matrix, out: Array) -> None:
        product(X, self._Bt, out)

    def add_gradient(self, X: Matrix, A: Array, out: Array) -> None:
        """Add ``A B``."""
        out += A @ self._Bt.T

    def add_gradient_sums(self, X: Matrix, A: Array, out: Array) -> None:
        """Add ``b_j sum_i A_ij``."""
        out += dense(self._Bt, out.dtype).T * A.sum(axis=0)[:, None]


class _LoopPairs(Pairs, ABC):
    """A statistic whose terms are computed by a loop; sparse rows are converted to dense ones."""

    degree = 1
    looped = True
    _loop: ClassVar[str]
    """The name of the compiled loop; its derivative has the suffix "_gradient"."""

    def _prepare(self, B: Matrix) -> None:
        self._Bt = np.ascontiguousarray(dense(B, self.dtype).T)

    def _run(self, ending: str, X: Array, Bt: Array, *rest: Array) -> None:
        from skimp._core.loops import _pairs as loops

        vars(loops)[self._loop + ending](X, Bt, self._weights, *rest)

    def fill(self, X: Matrix, out: Array) -> None:
        self._run("", private(X, self.dtype), self._Bt, out)

    def add_gradient(self, X: Matrix, A: Array, out: Array) -> None:
        self._run("_gradient", private(X, self.dtype), self._Bt, A, out)

    def add_gradient_sums(self, X: Matrix, A: Array, out: Array) -> None:
        X = private(X, self.dtype)
        for j in range(self.size):
            b, weights = (np.ascontiguousarray(M[:, j : j + 1]) for M in (self._Bt, A))
            G = np.zeros(X.shape, self.dtype)
            self._run("_gradient", X, b, weights, G)
            out[j] += G.sum(axis=0)


@final
class ManhattanDistances(_LoopPairs, Distances):
    """The sum of |x - b|; its derivative at x = b is taken as zero."""

    _loop = "manhattan"


@final
class ChiSquareDistances(_LoopPairs, Distances):
    """The sum of (x - b)^2 / (x + b), for nonnegative rows."""

    _loop = "chi_square"


@final
class HarmonicMeans(_LoopPairs):
    """The sum of 2 x b / (x + b), for nonnegative rows."""

    _loop = "harmonic"

    @staticmethod
    def own(X: Matrix, weights: Array) -> Array:
        """Return the weighted sum of each row."""
        return np.asarray(scaled(X, weights).sum(axis=1)).ravel()


def private(X: Matrix, dtype: DType) -> Array:
    """Copy rows into the dtype and layout that compiled loops require, in writable memory."""
    return X.toarray().astype(dtype) if sparse.issparse(X) else np.array(X, dtype, order="C")


def scaled(X: Matrix, factors: Array) -> Matrix:
    """Multiply each column of X by its factor, in the dtype of the factors."""
    if sparse.issparse(X):
        data = X.data.astype(factors.dtype) * factors[X.indices]
        return sparse.csr_matrix((data, X.indices, X.indptr), X.shape)
    product: Array = np.multiply(X, factors, dtype=factors.dtype, casting="same_kind")
    return product
