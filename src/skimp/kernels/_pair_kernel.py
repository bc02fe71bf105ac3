"""Kernels that are a function of one statistic of a pair of rows."""

from abc import ABC, abstractmethod

from skimp._core._linalg import squared_norms
from skimp._core._types import Array, DType, Matrix
from skimp.kernels._columns import Columns, PairColumns
from skimp.kernels._widths import Widths


class PairKernel(Widths, ABC):
    r"""A kernel :math:`k(x, y) = \phi(s(x, y))` of a sum :math:`s` over columns.

    The sum is :math:`\sum_k \gamma_k s_k(x_k, y_k)`, with :math:`\gamma` the parameter of that name
    (one number for all columns, or one for each) and one where there is none.

    A concrete kernel names the statistic s (``_pairs``) and says what the function is
    (``_profile``), what its derivative is (``_slope``), and what k(x, x) is (``_diag``).
    """

    @abstractmethod
    def _profile(self, S: Array) -> None:
        r"""Replace a strip of the statistic by :math:`\phi`, in place."""

    @abstractmethod
    def _slope(self, S: Array) -> None:
        r"""Replace a strip of the statistic by :math:`\phi'`, in place."""

    def bind(self, B: Matrix, dtype: DType) -> Columns:
        """Return the functions k(., b); see `Kernel.bind`."""
        return PairColumns(self, B, dtype)

    def _diag_of_squares(self, X: Matrix) -> Array:
        r"""Return :math:`\phi(\sum_k \gamma_k x_k^2)` of each row, for functions of <x, y>."""
        S: Array = squared_norms(X, self.column_weights(X.shape[1]))[:, None]
        self._profile(S)
        return S[:, 0]
