"""Coordinates of rows with respect to their nearest anchors."""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from scipy import sparse

from skimp._core._linalg import check_columns, check_finite
from skimp._core._squared_distances import SquaredDistances
from skimp._core._types import Array, DType, Matrix

_STRIP = 2**18
"""Distances that are computed at a time."""


@final
@dataclass(frozen=True, eq=False)
class LocalCoordinates:
    """Nonnegative coordinates of a row that sum to 1, for its k nearest of m anchors v.

    They decrease with the distance; `LocalProducts` has the formula.

    Attributes
    ----------
    anchors : array or CSR matrix of shape (m, d)
        The anchors.
    n_neighbors : int
        Number of nearest anchors k, at most m.
    dtype : dtype
        Data type of the distances, float32 or float64.
    """

    anchors: Matrix
    n_neighbors: int
    dtype: DType

    @cached_property
    def _distances(self) -> SquaredDistances:
        return SquaredDistances(self.anchors, self.dtype)

    def find(self, X: Matrix) -> tuple[Array, Array]:
        """Return the numbers of the nearest anchors, and their coordinates.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
            Validated rows.

        Returns
        -------
        numbers, weights : arrays of shape (n, k)
            Anchors in ascending order, and their coordinates in float64.
        """
        from skimp._core.loops._local import nearest_anchors

        m, d = self.anchors.shape
        check_columns(X, d)
        n, k = X.shape[0], self.n_neighbors
        numbers, weights = np.empty((n, k), np.int64), np.empty((n, k))
        size = max(1, _STRIP // m)
        for start in range(0, n, size):
            part = slice(start, min(n, start + size))
            squares = np.empty((part.stop - start, m), self.dtype)
            self._distances.fill(X[part], squares)
            check_finite(squares)
            nearest_anchors(squares, numbers[part], weights[part])
        return numbers, weights

    def matrix(self, X: Matrix) -> sparse.csr_matrix:
        """Return the coordinates of all anchors, of shape (n, m)."""
        numbers, weights = self.find(X)
        n, k = numbers.shape
        parts = weights.ravel(), numbers.ravel(), np.arange(n + 1) * k
        return sparse.csr_matrix(parts, (n, self.anchors.shape[0]))
