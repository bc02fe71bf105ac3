"""Dissimilarities of rows and points: distances of a kernel or a metric, or their squares."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, final

import numpy as np
from scipy import sparse

from skimp._core._linalg import check_representable
from skimp._core._threads import single_threaded_blas
from skimp._core._types import Array, Matrix
from skimp._core._work import DOUBLE
from skimp.kernels import Kernel

_ROUNDING = 64 * float(np.finfo(np.float64).eps)
"""Squared distances below this factor of k(x, x) + k(y, y) are zero up to rounding."""

Bound: TypeAlias = Callable[[Matrix, Array | None], Array]
"""Returns the dissimilarities of rows, with their `Dissimilarity.own`, from fixed points."""


class Dissimilarity(ABC):
    """A distance, or its square if ``squared``."""

    squared: bool

    @abstractmethod
    def own(self, X: Matrix) -> Array | None:
        """Return what is computed once for rows that are compared with several sets of points."""

    @abstractmethod
    def bind(self, points: Matrix) -> Bound:
        """Return a function of rows, which returns their dissimilarities from these points."""

    def between(self, X: Matrix, points: Matrix) -> Array:
        """Return the dissimilarities of rows and points, on one thread."""
        with single_threaded_blas():
            return self.bind(points)(X, self.own(X))


@final
@dataclass(frozen=True)
class KernelDistances(Dissimilarity):
    """Distances in the feature space of a kernel, in float64, because of the differences."""

    kernel: Kernel
    squared: bool

    def own(self, X: Matrix) -> Array | None:
        return self.kernel.diagonal(X)

    def bind(self, points: Matrix) -> Bound:
        direct = self.kernel.squared_distances(points, DOUBLE)
        if direct is not None:
            return partial(self._fill_directly, direct)
        columns, of_points = self.kernel.bind(points, DOUBLE), self.kernel.diagonal(points)

        def fill(X: Matrix, own: Array | None) -> Array:
            assert own is not None, "own returns the diagonal"
            D = np.empty((X.shape[0], len(of_points)))
            columns.fill(X, D)
            D *= -2
            norms = own[:, None] + of_points
            check_representable(norms.sum())
            D += norms
            norms *= _ROUNDING
            D[norms >= D] = 0
            return D if self.squared else np.sqrt(D, out=D)

        return fill

    def _fill_directly(self, distances: Any, X: Matrix, own: Array | None) -> Array:
        D = np.empty((X.shape[0], distances.size), distances.dtype)
        distances.fill(X, D)
        check_representable(D.sum())
        return D if self.squared else np.sqrt(D, out=D)


@final
@dataclass(frozen=True)
class MetricDistances(Dissimilarity):
    """Distances of `sklearn.metrics.pairwise_distances`."""

    metric: Any
    squared: bool

    def own(self, X: Matrix) -> Array | None:
        return None

    def bind(self, points: Matrix) -> Bound:
        from sklearn.metrics import pairwise_distances

        points = _narrow(points)

        def fill(X: Matrix, own: Array | None) -> Array:
            D: Array = pairwise_distances(_narrow(X), points, metric=self.metric)
            D = np.asarray(D, np.float64)
            if not D.size or not D.min() >= 0 or np.isinf(D.max()):
                raise ValueError(
                    "metric must return finite numbers that are not negative, found "
                    f"{D.min():g} to {D.max():g} for metric={self.metric!r}."
                )
            return np.square(D, out=D) if self.squared else D

        return fill


def _narrow(X: Matrix) -> Matrix:
    """Return sparse rows with 32-bit indices, which some metrics of scikit-learn need."""
    if not sparse.issparse(X):
        return X
    parts = X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return sparse.csr_matrix(parts, X.shape)
