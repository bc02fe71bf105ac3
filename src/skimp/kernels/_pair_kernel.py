"""Kernels that are a function of one statistic of a pair of rows."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, final

import numpy as np

from skimp._core._objects import as_numbers
from skimp._core._pairs import Pairs
from skimp._core._types import Array, DType, Matrix
from skimp._params._rules import broken
from skimp.kernels._base import Kernel
from skimp.kernels._columns import Columns


class PairKernel(Kernel, ABC):
    r"""A kernel :math:`k(x, y) = \phi(s(x, y))` of a sum :math:`s` over columns.

    The sum is :math:`\sum_k \gamma_k s_k(x_k, y_k)`, with :math:`\gamma` the parameter of that name
    (one number for all columns, or one for each) and one if there is none.

    A concrete kernel names the statistic s (`statistic`) and says what the function is (`profile`)
    and what its derivative is (`slope`).
    """

    statistic: ClassVar[type[Pairs]]

    @abstractmethod
    def profile(self, s: Array) -> None:
        r"""Replace a strip of the statistic by :math:`\phi`, in place."""

    @abstractmethod
    def slope(self, s: Array) -> None:
        r"""Replace a strip of the statistic by :math:`\phi'`, in place."""

    @property
    def rotation_invariant(self) -> bool:  # type: ignore[override]
        """True if the statistic is, and columns have one gamma."""
        return self.statistic.rotation_invariant and np.ndim(self.gamma) == 0

    def diagonal(self, X: Matrix) -> Array:
        """Return the function of the statistic of each row with itself."""
        X = self.as_rows(X, np.dtype(np.float64))
        s = self.statistic.own(X, self.gammas(X.shape[1]))[:, None]
        self.profile(s)
        return s[:, 0]

    def bind(self, B: Matrix, dtype: DType) -> Columns:
        """Return the functions k(., b); see `Kernel.bind`."""
        return _PairColumns(self, B, dtype)

    def as_rows(self, X: Matrix, dtype: DType) -> Matrix:
        """Return rows of numbers; raise if some are negative and that has no meaning."""
        X = as_numbers(X, dtype)
        if self.needs_nonnegative and X.shape[0] and X.min() < 0:
            raise ValueError(
                f"Negative values in data: X must not be negative for the {type(self).__name__} "
                f"kernel, found {X.min()}: shift or rescale the columns, or use another kernel."
            )
        return X


@final
class _PairColumns(Columns):
    def __init__(self, kernel: PairKernel, B: Matrix, dtype: DType):
        B, gamma = kernel.as_rows(B, dtype), kernel.gammas(B.shape[1])
        if gamma.max() > np.finfo(dtype).max:
            wording = f"of a size that {dtype} holds"
            raise broken(type(kernel).__name__, "gamma", wording, kernel.gamma)
        self._kernel = kernel
        self._statistic: Any = kernel.statistic(B, dtype, gamma)

    def fill_strip(self, X: Matrix, out: Array) -> None:
        self._statistic.fill(self._kernel.as_rows(X, out.dtype), out)
        self._kernel.profile(out)

    def add_gradient_strip(self, X: Matrix, A: Array, out: Array, by_column: bool = False) -> None:
        X, s = self._kernel.as_rows(X, out.dtype), np.empty(A.shape, out.dtype)
        self._statistic.fill(X, s)
        self._kernel.slope(s)
        s *= A
        add = self._statistic.add_gradient_sums if by_column else self._statistic.add_gradient
        add(X, s, out)
