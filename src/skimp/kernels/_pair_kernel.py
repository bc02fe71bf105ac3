"""Kernels that are functions of a distance, an inner product or a similar statistic."""

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
    r"""Base class of kernels :math:`k(x, y) = \phi(s(x, y))`, where s is a statistic of two rows.

    The statistic is a sum over columns, :math:`s(x, y) = \sum_k \gamma_k s_k(x_k, y_k)`, such as a
    squared distance. The weights :math:`\gamma_k` are the parameter ``gamma`` (one number, or one
    per column), or 1 if the kernel has no such parameter.

    A subclass sets `statistic`, and implements `profile`, the function :math:`\phi`, and `slope`,
    its derivative.
    """

    statistic: ClassVar[type[Pairs]]
    """The class of the statistic s, such as `SquaredDistances`."""

    @abstractmethod
    def profile(self, s: Array) -> None:
        r"""Replace values s of the statistic by :math:`\phi(s)`, in place."""

    @abstractmethod
    def slope(self, s: Array) -> None:
        r"""Replace values s of the statistic by :math:`\phi'(s)`, in place."""

    @property
    def rotation_invariant(self) -> bool:  # type: ignore[override]
        """True if the statistic is rotation invariant and all columns share one gamma."""
        return self._pairs().rotation_invariant and np.ndim(self.gamma) == 0

    def diagonal(self, X: Matrix) -> Array:
        """Return k(x, x) for each row."""
        X = self.as_rows(X, np.dtype(np.float64))
        s = self._pairs().own(X, self.gammas(X.shape[1]))[:, None]
        self.profile(s)
        return s[:, 0]

    def bind(self, B: Matrix, dtype: DType) -> Columns:
        """Return the functions k(., b); see `Kernel.bind`."""
        return _PairColumns(self, B, dtype)

    @classmethod
    def _pairs(cls) -> type[Pairs]:
        """Return the statistic, or raise if the class does not define it."""
        if not (isinstance(cls.statistic, type) and issubclass(cls.statistic, Pairs)):
            raise TypeError(
                f"{cls.__name__}: statistic must be a class such as SquaredDistances or "
                f"InnerProducts, got {cls.statistic!r}: set it in the body of the class."
            )
        return cls.statistic

    def as_rows(self, X: Matrix, dtype: DType) -> Matrix:
        """Return rows as numbers; raise if the kernel does not accept their negative entries."""
        X = as_numbers(X, dtype)
        if self.needs_nonnegative and X.shape[0] and X.min() < 0:
            raise ValueError(
                f"Negative values in data: X must not be negative for the {type(self).__name__} "
                f"kernel, found {X.min()}: shift the columns, or use another kernel."
            )
        return X


@final
class _PairColumns(Columns):
    def __init__(self, kernel: PairKernel, B: Matrix, dtype: DType):
        B, gamma = kernel.as_rows(B, dtype), kernel.gammas(B.shape[1])
        if gamma.max() > np.finfo(dtype).max:
            wording = f"at most {np.finfo(dtype).max:.3g}, the largest {dtype}"
            raise broken(type(kernel).__name__, "gamma", wording, kernel.gamma)
        self._kernel = kernel
        self._statistic: Any = kernel._pairs()(B, dtype, gamma)

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
