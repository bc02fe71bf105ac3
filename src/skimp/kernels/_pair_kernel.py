"""Kernels that are a function of one statistic of a pair of rows."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from skimp._core._linalg import squared_norms
from skimp._core._objects import as_numbers
from skimp._core._pairs import Distances, Pairs
from skimp._core._rules import broken
from skimp._core._squared_distances import SquaredDistances
from skimp._core._types import Array, DType, Matrix
from skimp.kernels._base import Kernel
from skimp.kernels._columns import Columns, PairColumns
from skimp.kernels._gamma import RowStatistics, resolve_gamma


class PairKernel(Kernel, ABC):
    r"""A kernel :math:`k(x, y) = \phi(s(x, y))` of a sum :math:`s` over columns.

    The sum is :math:`\sum_k \gamma_k s_k(x_k, y_k)`, with :math:`\gamma` the parameter of that name
    (one number for all columns, or one for each) and one where there is none.

    A concrete kernel names the statistic s (``_pairs``) and says what the function is
    (``_profile``), what its derivative is (``_slope``), and what k(x, x) is (``_diag``).
    """

    _pairs: ClassVar[type[Pairs]]

    @abstractmethod
    def _profile(self, S: Array) -> None:
        r"""Replace a strip of the statistic by :math:`\phi`, in place."""

    @abstractmethod
    def _slope(self, S: Array) -> None:
        r"""Replace a strip of the statistic by :math:`\phi'`, in place."""

    def bind(self, B: Matrix, dtype: DType) -> Columns:
        """Return the functions k(., b); see `Kernel.bind`."""
        return PairColumns(self, B, dtype)

    def column_weights(self, n_features: int) -> Any:
        """Return gamma, as a number or as a number for each column."""
        gamma: Any = getattr(self, "gamma", 1.0)
        if np.ndim(gamma) and len(gamma) != n_features:
            wording = f"a number, or one for each of the {n_features} columns of X"
            raise broken(type(self).__name__, "gamma", wording, gamma)
        return gamma

    def _resolved_params(self, rows: RowStatistics, seed: int) -> dict[str, Any]:
        gamma = getattr(self, "gamma", 1.0)
        if not isinstance(gamma, str):
            self.column_weights(rows.n_features)
            return {}
        pairs = self._pairs if issubclass(self._pairs, Distances) else SquaredDistances
        return {"gamma": resolve_gamma(gamma, rows, seed, pairs)}

    def check_resolved(self) -> None:
        """Raise unless every parameter is a number that the formula allows."""
        super().check_resolved()
        gamma = getattr(self, "gamma", None)
        if isinstance(gamma, str):
            raise broken(
                type(self).__name__,
                "gamma",
                "a number where the kernel is used on its own (an estimator resolves it in fit)",
                gamma,
            )

    def check_rows(self, X: Matrix) -> None:
        """Raise where the columns or entries of checked X have no meaning for this kernel."""
        self.column_weights(X.shape[1])
        X = as_numbers(X, np.dtype(np.float64))
        if self.needs_nonnegative and X.shape[0] and X.min() < 0:
            raise ValueError(
                f"Negative values in data: X must not be negative for the {type(self).__name__} "
                f"kernel, found {X.min()}: shift or rescale the columns, or use another kernel."
            )

    def _diag_of_squares(self, X: Matrix) -> Array:
        r"""Return :math:`\phi(\sum_k \gamma_k x_k^2)` of each row, for functions of <x, y>."""
        S: Array = squared_norms(X, self.column_weights(X.shape[1]))[:, None]
        self._profile(S)
        return S[:, 0]
