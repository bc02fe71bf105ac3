"""Clusters of vectors, and the points that stand for them."""

import threading
import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from skimp._core._blocks import Scratch, fold
from skimp._core._linalg import dense, squared_norms
from skimp._core._objects import is_object
from skimp._core._random import draw_seed
from skimp._core._threads import openmp_after_fork, single_threaded_blas, thread_count
from skimp._core._types import Array, DType, Matrix
from skimp._params._rules import broken, one_of
from skimp.kernels import Kernel

_ALONE = threading.Lock()
POINTS = one_of("centres", "rows")
_FEW = 64
_SEEDING_ROWS = 2000
_STEPS, _ENOUGH = 5, 1e-4
"""Most steps of k-means, and how far centres move, over the variance, in a step that is enough."""
_STRIP = 1024
_ROUNDING = 1e-12
"""Squared distances below this share of the squared norm of a row are zero."""
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
    seeds are as good then, and cost nothing. Written out, since scikit-learn takes 10 ms for a fit
    of any size, and there is one for each class.
    """
    weight = np.ones(X.shape[0]) if weight is None else weight / weight.max()
    frame = Frame.of(X)
    Z = frame.scaled(X)
    first = Z[: max(_SEEDING_ROWS, n_clusters)]
    seeds = first[:n_clusters]
    if n_clusters <= _FEW:
        seeds = first[spread_seeds(first, n_clusters, rng, weight[: first.shape[0]])]
    centres = dense(seeds, Z.dtype)
    labels = _nearest_centres(Z, centres)
    enough = _ENOUGH * _mean_variance(Z)
    for _ in range(_STEPS):
        kept, labels = np.unique(labels, return_inverse=True)
        moved = means(Z, labels, weight)
        shift = float(np.sum(np.square(moved - centres[kept], dtype=np.float64)))
        centres = moved
        labels = _nearest_centres(Z, centres)
        if shift <= enough:
            break
    labels = np.unique(labels, return_inverse=True)[1]
    return Clusters(means(X, labels, weight), frame)


def spread_seeds(Z: Matrix, n_seeds: int, rng: np.random.Generator, weight: Array) -> Array:
    """Return the numbers of rows that are far apart, the seeds of k-means++.

    Each is drawn with a probability that is proportional to its weight times its squared distance
    from the nearest one before it. Fewer where fewer rows differ.
    """
    norms = squared_norms(Z)
    chances = weight.astype(np.float64)
    chosen: list[int] = []
    distances = np.full(Z.shape[0], np.inf)
    with single_threaded_blas():
        while len(chosen) < n_seeds and chances.any():
            sums = np.cumsum(chances)
            drawn = np.searchsorted(sums, rng.random() * sums[-1], side="right")
            drawn = min(int(drawn), int(np.flatnonzero(chances)[-1]))
            chosen.append(drawn)
            row = dense(Z[drawn : drawn + 1], np.dtype(np.float64))[0]
            distances = np.minimum(distances, norms + norms[drawn] - 2 * (Z @ row))
            distances[distances <= _ROUNDING * norms] = 0.0
            chances = weight * distances
    return np.array(chosen)


def _nearest_centres(Z: Matrix, centres: Array) -> Array:
    """Return the number of the centre that is nearest to each row."""
    half_norms = (squared_norms(centres) / 2).astype(centres.dtype)
    labels = np.empty(Z.shape[0], np.intp)

    def label(part: slice, _: Scratch) -> None:
        products = Z[part] @ centres.T
        np.subtract(half_norms, products, out=products)
        labels[part] = products.argmin(axis=1)

    strips = [slice(start, start + _STRIP) for start in range(0, Z.shape[0], _STRIP)]
    fold(strips, label, lambda total, _: total, None, thread_count(None))
    return labels


def _mean_variance(Z: Matrix) -> float:
    """Return the variance of columns, averaged."""
    mean = np.asarray(Z.mean(axis=0), np.float64).ravel()
    return float(np.mean(squared_norms(Z)) - mean @ mean) / int(Z.shape[1])


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
