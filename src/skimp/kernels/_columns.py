"""Kernel columns: functions k(., b) with fixed b, evaluated on strips of rows."""

from abc import ABC, abstractmethod

from skimp._core._tally import count
from skimp._core._types import Array, Matrix

STRIP = 512
"""Rows of a strip: enough for an efficient matrix product, and few enough to stay in cache."""


class Columns(ABC):
    """Base class of the functions k(., b) for the rows b of B, evaluated on many blocks of rows.

    A subclass computes a strip of values, and a strip of gradients if the kernel has them.
    """

    @abstractmethod
    def fill_strip(self, X: Matrix, out: Array) -> None:
        """Write k(X_i, B_j) into ``out``, for one strip of rows."""

    def add_gradient_strip(self, X: Matrix, A: Array, out: Array, by_column: bool = False) -> None:
        """Add A_ij times the derivative of k(x, B_j) at X_i, for one strip of rows.

        Sums over j are added to ``out_i``; with ``by_column``, sums over i are added to ``out_j``.
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement derivatives.")

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
            self.add_gradient_strip(X[part], A[part], out, by_column=True)
