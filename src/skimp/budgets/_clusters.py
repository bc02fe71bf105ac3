"""Clusters of vectors, and the points that stand for them."""

import threading
import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from skimp._core._linalg import dense
from skimp._core._objects import is_object
from skimp._core._random import draw_seed
from skimp._core._rules import broken, one_of
from skimp._core._threads import openmp_after_fork, single_threaded_blas
from skimp._core._types import Array, DType, Matrix
from skimp.kernels import Kernel

_ALONE = threading.Lock()
POINTS = one_of("centres", "rows")
_FEW = 64
_SEEDING_ROWS = 2000
_STEPS = 5
_DENSE_ENTRIES = 2**26


def vectors(X: Matrix, kernel: Kernel, dtype: DType, *, owner: str) -> Matrix:
    """Return rows to cluster in a dtype, dense unless they would take too much memory.

    So that the same rows have the same clusters, however they are stored. Raises for rows that have
    no means.
    """
    if is_object(X) or kernel.takes_objects:
        raise broken(owner, "kernel", "one of vectors, for this rule computes with them", kernel)
    small = X.shape[0] * X.shape[1] <= _DENSE_ENTRIES
    return dense(X, dtype) if small else X.astype(dtype, copy=False)


@dataclass(frozen=True)
class Frame:
    """A shift and a scale for rows, whose squared distances may be nothing but rounding else."""

    offset: Array
    scale: Any

    @classmethod
    def of(cls, X: Matrix) -> Self:
        """Return the frame in which rows are near zero and not larger than one."""
        scale = abs(X).max() or X.dtype.type(1)
        offset = np.zeros(X.shape[1], X.dtype)
        if not sparse.issparse(X):
            offset = X[0]
            spread = np.abs(X / scale - offset / scale).max() or X.dtype.type(1)
            # at most one, for the largest numbers have no double
            scale *= min(spread, X.dtype.type(1))
        return cls(offset, scale)

    def scaled(self, X: Matrix) -> Matrix:
        """Return rows in this frame; sparse ones stay sparse where there is no shift."""
        if sparse.issparse(X):
            if not self.offset.any():
                return X / self.scale
            X = X.toarray()
        return X / self.scale - self.offset / self.scale


@dataclass(frozen=True)
class Clusters:
    """The means of clusters, none of them empty, and the frame they were found in."""

    centres: Array
    frame: Frame

    def labels(self, X: Matrix) -> Array:
        """Return the number of the centre that is nearest to each row."""
        return self._nearest(X, self.centres)

    def nearest_rows(self, X: Matrix) -> Array:
        """Return the numbers of the rows that are nearest to a centre, each of them once."""
        return np.unique(self._nearest(self.centres, X))

    def _nearest(self, A: Matrix, B: Matrix) -> Array:
        from sklearn.metrics import pairwise_distances_argmin

        with single_threaded_blas(), openmp_after_fork():
            found: Array = pairwise_distances_argmin(self.frame.scaled(A), self.frame.scaled(B))
        return found


def cluster(
    X: Matrix, n_clusters: int, rng: np.random.Generator, weight: Array | None = None
) -> Clusters:
    """Return the clusters of k-means for rows in random order; fewer where fewer rows differ.

    It starts from seeds of k-means++, or from the first rows where there are many clusters: random
    seeds are as good then, and cost nothing.
    """
    from sklearn.cluster import KMeans, kmeans_plusplus

    weight = None if weight is None else weight / weight.max()
    frame = Frame.of(X)
    Z = frame.scaled(X)
    first = Z[: max(_SEEDING_ROWS, n_clusters)]
    seeds = first[:n_clusters]
    if n_clusters <= _FEW:
        weights = None if weight is None else weight[: first.shape[0]]
        seeds, _ = kmeans_plusplus(
            first, n_clusters, sample_weight=weights, random_state=seed(rng), n_local_trials=1
        )
    seeds = seeds.toarray() if sparse.issparse(seeds) else seeds
    model = KMeans(n_clusters, init=seeds, n_init=1, max_iter=_STEPS)
    # its labels are taken, its centres are not, which lie outside of the data where rows are equal
    labels = np.unique(quietly(model.fit, Z, sample_weight=weight).labels_, return_inverse=True)[1]
    return Clusters(means(X, labels, weight), frame)


def quietly(fit: Any, *args: Any, **options: Any) -> Any:
    """Fit without a word on clusters that have become equal: they are counted later.

    One at a time, for filters of warnings belong to the process; and with single-threaded BLAS, for
    scikit-learn limits its threads, too, and limits that overlap would stay for good.
    """
    with _ALONE, single_threaded_blas(), openmp_after_fork(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fit(*args, **options)


def seed(rng: np.random.Generator) -> int:
    """Draw a seed for scikit-learn."""
    return draw_seed(rng) % 2**32


def means(X: Matrix, labels: Array, weight: Array | None = None) -> Array:
    """Return the weighted mean row of each cluster, dense and in the dtype of X.

    Means of dense rows are taken around one of them, so that the mean of equal rows is exact.
    """
    weight = np.ones(len(labels)) if weight is None else weight
    shares = (weight / np.bincount(labels, weight)[labels]).astype(X.dtype)
    average = sparse.csr_matrix((shares, (labels, np.arange(len(labels)))))
    if sparse.issparse(X):
        means: Array = (average @ X).toarray()
        return means
    first = X[np.unique(labels, return_index=True)[1]]
    means = first + average @ (X - first[labels])
    return np.clip(means, X.min(axis=0), X.max(axis=0), out=means)
