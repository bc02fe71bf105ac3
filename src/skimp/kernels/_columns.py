"""Kernel columns k(., b): a kernel with its second arguments, evaluated on strips of rows."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, final

import numpy as np

from skimp._core._objects import as_numbers
from skimp._core._tally import count
from skimp._core._types import Array, DType, Matrix
from skimp._params._rules import broken

if TYPE_CHECKING:
    from skimp.kernels._pair_kernel import PairKernel

STRIP = 512
"""Rows of a strip: long enough for GEMM, short enough to stay in cache for what follows it."""


class Columns(ABC):
    """k(., b) for each row b of some B, ready to be evaluated on many blocks of rows."""

    def fill(self, X: Matrix, out: Array) -> None:
        """Write k(X_i, B_j) into ``out``, strip by strip."""
        count(out.size)
        for start in range(0, X.shape[0], STRIP):
            part = slice(start, start + STRIP)
            self.fill_strip(X[part], out[part])

    def add_gradient(self, X: Matrix, A: Array, out: Array) -> None:
        """Add the sum over j of A_ij times the derivative of k(x, B_j) at X_i to ``out_i``."""
        for start in range(0, X.shape[0], STRIP):
            part = slice(start, start + STRIP)
            self.add_gradient_strip(X[part], A[part], out[part])

    def add_gradient_sums(self, X: Matrix, A: Array, out: Array) -> None:
        """Add the sum over i of A_ij times the derivative of k(x, B_j) at X_i to ``out_j``."""
        for start in range(0, X.shape[0], STRIP):
            part = slice(start, start + STRIP)
            self.add_gradient_sums_strip(X[part], A[part], out)

    @abstractmethod
    def fill_strip(self, X: Matrix, out: Array) -> None:
        """Do what `fill` does, for one strip."""

    @abstractmethod
    def add_gradient_strip(self, X: Matrix, A: Array, out: Array) -> None:
        """Do what `add_gradient` does, for one strip."""

    @abstractmethod
    def add_gradient_sums_strip(self, X: Matrix, A: Array, out: Array) -> None:
        """Do what `add_gradient_sums` does, for one strip."""


@final
class PairColumns(Columns):
    """Columns of a kernel that is a function of one statistic of pairs."""

    def __init__(self, kernel: "PairKernel", B: Matrix, dtype: DType):
        B = as_numbers(B, dtype)
        kernel.check_rows(B)
        self._kernel = kernel
        weights = kernel.column_weights(B.shape[1])
        if np.max(weights) > np.finfo(dtype).max:
            raise broken(type(kernel).__name__, "gamma", f"of a size that {dtype} holds", weights)
        self._statistic = kernel._pairs(B, dtype, weights)

    def fill_strip(self, X: Matrix, out: Array) -> None:
        """Compute the statistic, then the function of it, in place."""
        X = as_numbers(X, out.dtype)
        self._kernel.check_rows(X)
        self._statistic.fill(X, out)
        self._kernel._profile(out)

    def add_gradient_strip(self, X: Matrix, A: Array, out: Array) -> None:
        """Apply the chain rule."""
        X, S = self._slopes(X, A, out.dtype)
        self._statistic.add_gradient(X, S, out)

    def add_gradient_sums_strip(self, X: Matrix, A: Array, out: Array) -> None:
        """Apply the chain rule."""
        X, S = self._slopes(X, A, out.dtype)
        self._statistic.add_gradient_sums(X, S, out)

    def _slopes(self, X: Matrix, A: Array, dtype: DType) -> tuple[Matrix, Array]:
        """Return the rows as numbers, and the derivatives in the statistic, times A."""
        X = as_numbers(X, dtype)
        self._kernel.check_rows(X)
        S = np.empty(A.shape, dtype)
        self._statistic.fill(X, S)
        self._kernel._slope(S)
        S *= A
        return X, S
