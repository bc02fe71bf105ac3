"""Kernels that measure each column in a width of its own, or all of them in one."""

from abc import ABC
from typing import Any, ClassVar

import numpy as np

from skimp._core._objects import as_numbers
from skimp._core._pairs import Distances, Pairs
from skimp._core._squared_distances import SquaredDistances
from skimp._core._types import Array, Matrix
from skimp._params._rules import broken
from skimp.kernels._base import Kernel
from skimp.kernels._gamma import RowStatistics, resolve_gamma


class Widths(Kernel, ABC):
    """A kernel with a parameter ``gamma``, for all columns or for each; one where there is none."""

    _pairs: ClassVar[type[Pairs]]
    """The statistic of pairs that gamma multiplies."""

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

    def _in_widths(self, h: Array) -> Array:
        """Return distances over gamma, a row for each column: infinite where gamma is zero."""
        gamma = np.reshape(self.column_weights(len(h)), (-1, 1)).astype(float)
        distances: Array = np.divide(h, gamma, out=np.full_like(h, np.inf), where=gamma > 0)
        return distances
