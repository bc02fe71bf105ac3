"""Statistics of pairs of rows that kernels are functions of, on strips of rows.

Each class takes the second argument of the pairs once, in the form that its loop wants, and then
fills blocks ``out[i, j] = s(X_i, B_j)`` for as many X as come along.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, final

import numpy as np
from scipy import sparse

from skimp._core._linalg import dense, product, squared_norms
from skimp._core._types import Array, DType, Matrix

LARGEST_DENSE = 2**26
"""Entries up to which a sparse B may be made dense, for the faster product."""

LEAST_DENSITY = 0.03
"""Share of stored entries from which on the product with a dense B is the faster one."""


def stays_sparse(B: Matrix) -> bool:
    """Tell whether a second argument is kept sparse."""
    if not sparse.issparse(B):
        return False
    size = B.shape[0] * B.shape[1]
    return bool(size > LARGEST_DENSE or B.nnz < LEAST_DENSITY * size)


class Pairs(ABC):
    """Pairs of any rows with the rows of B.

    The statistic is a sum over columns, each with its weight.

    Parameters
    ----------
    B : array or CSR matrix of shape (m, d)
        Second arguments.
    dtype : float32 or float64
        What is computed in.
    weights : float or array of shape (d,)
        Weights of the columns, not negative.
    """

    degree: ClassVar[int]
    """The power of t by which the statistic grows when all rows are multiplied by t."""
    looped: ClassVar[bool] = False
    """True if terms are computed one by one, False for a matrix product."""
    rotation_invariant: ClassVar[bool] = False
    """True if the statistic of Qx and Qy is that of x and y for every rotation Q."""

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
    """The inner product <x, b>."""

    degree = 2
    rotation_invariant = True

    def _prepare(self, B: Matrix) -> None:
        if stays_sparse(B):
            self._Bt = scaled(B, self._weights).T.tocsr()
        else:
            self._Bt = np.ascontiguousarray(scaled(dense(B, self.dtype), self._weights).T)

    @staticmethod
    def own(X: Matrix, weights: Array) -> Array:
        """Return the squared lengths of the rows."""
        return squared_norms(X, weights)

    def fill(self, X: Matrix, out: Array) -> None:
        """Write the inner products: one matrix product."""
        product(X, self._Bt, out)

    def add_gradient(self, X: Matrix, A: Array, out: Array) -> None:
        """Add ``A B``."""
        out += A @ self._Bt.T

    def add_gradient_sums(self, X: Matrix, A: Array, out: Array) -> None:
        """Add ``b_j sum_i A_ij``."""
        out += dense(self._Bt, out.dtype).T * A.sum(axis=0)[:, None]


class _LoopPairs(Pairs, ABC):
    """A statistic whose terms are computed one by one; sparse rows are made dense."""

    degree = 1
    looped = True
    _loop: ClassVar[str]
    """The name of the compiled loop; that of the derivative ends in "_gradient"."""

    def _prepare(self, B: Matrix) -> None:
        self._Bt = np.ascontiguousarray(dense(B, self.dtype).T)

    def _run(self, ending: str, X: Array, Bt: Array, *rest: Array) -> None:
        from skimp._core.loops import _pairs as loops

        vars(loops)[self._loop + ending](X, Bt, self._weights, *rest)

    def fill(self, X: Matrix, out: Array) -> None:
        """Write the sums of terms."""
        self._run("", private(X, self.dtype), self._Bt, out)

    def add_gradient(self, X: Matrix, A: Array, out: Array) -> None:
        """Add the sums of derivatives of terms."""
        self._run("_gradient", private(X, self.dtype), self._Bt, A, out)

    def add_gradient_sums(self, X: Matrix, A: Array, out: Array) -> None:
        """Add the sums of derivatives of terms, one row of B after the other."""
        X = private(X, self.dtype)
        for j in range(self.size):
            b, weights = (np.ascontiguousarray(M[:, j : j + 1]) for M in (self._Bt, A))
            G = np.zeros(X.shape, self.dtype)
            self._run("_gradient", X, b, weights, G)
            out[j] += G.sum(axis=0)


@final
class ManhattanDistances(_LoopPairs, Distances):
    """The sum of absolute differences; its derivative is zero where they are."""

    _loop = "manhattan"


@final
class ChiSquareDistances(_LoopPairs, Distances):
    """The sum of (x - b)^2 / (x + b), for rows without negative entries."""

    _loop = "chi_square"


@final
class HarmonicMeans(_LoopPairs):
    """The sum of 2 x b / (x + b), for rows without negative entries."""

    _loop = "harmonic"

    @staticmethod
    def own(X: Matrix, weights: Array) -> Array:
        """Return the sums of the rows."""
        return np.asarray(scaled(X, weights).sum(axis=1)).ravel()


def private(X: Matrix, dtype: DType) -> Array:
    """Copy a strip of rows: compiled loops want one dtype and layout, and writable memory."""
    return X.toarray().astype(dtype) if sparse.issparse(X) else np.array(X, dtype, order="C")


def scaled(X: Matrix, factors: Array) -> Matrix:
    """Return X with each column multiplied by its factor, in the dtype of the factors."""
    if sparse.issparse(X):
        data = X.data.astype(factors.dtype) * factors[X.indices]
        return sparse.csr_matrix((data, X.indices, X.indptr), X.shape)
    product: Array = np.multiply(X, factors, dtype=factors.dtype, casting="same_kind")
    return product
