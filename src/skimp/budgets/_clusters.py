"""Clusters of vectors by k-means."""

import numpy as np
from scipy import sparse

from skimp._core._blocks import Scratch, fold
from skimp._core._linalg import dense, squared_norms
from skimp._core._objects import is_object
from skimp._core._threads import openmp_after_fork, single_threaded_blas, thread_count
from skimp._core._types import Array, DType, Matrix
from skimp._core._work import DOUBLE, Size, Work, gemm, stream
from skimp._params._rules import broken, one_of
from skimp.kernels import Kernel

POINTS = one_of("centres", "rows")
_FEW = 64
"""Most clusters that start from seeds of k-means++."""
_SEEDING_ROWS = 2000
_STEPS, _ENOUGH = 5, 1e-4
"""Most steps of k-means, and how far centres move, over the variance, in a step that is enough."""
_STRIP = 1024
_ROUNDING = 1e-12
"""Squared distances below this share of the squared norm of a row are zero."""
_ROUNDINGS = 64
"""Units in the last place of the spread by which centres must differ."""
_DENSE_ENTRIES = 2**26
_CLUSTERING, _SEEDING = 0.25, 0.002
"""Shares of the speed of products that steps and seeds reach (seen: 0.2 to 0.3, and 0.0015)."""


def vectors(X: Matrix, kernel: Kernel, dtype: DType, *, owner: str) -> Matrix:
    """Return rows to cluster in a dtype, dense unless they would take too much memory.

    The same rows then have the same clusters in any storage. Raises for rows without means.
    """
    if is_object(X) or kernel.takes_objects:
        raise broken(owner, "kernel", "one of vectors, for this rule computes with them", kernel)
    small = X.shape[0] * X.shape[1] <= _DENSE_ENTRIES
    return dense(X, dtype) if small else X.astype(dtype, copy=False)


class Scaling:
    """A shift and a scale that bring rows near zero, and none beyond one.

    Without them squared distances may be nothing but rounding.
    """

    def __init__(self, X: Matrix):
        self.offset, self.scale = np.zeros(X.shape[1], X.dtype), abs(X).max() or X.dtype.type(1)
        if not sparse.issparse(X):
            self.offset = X[0]
            spread = np.abs(X / self.scale - self.offset / self.scale).max() or X.dtype.type(1)
            # at most one, for the largest numbers have no double
            self.scale *= min(spread, X.dtype.type(1))

    def scale_rows(self, X: Matrix) -> Matrix:
        """Return scaled rows; sparse ones stay sparse if there is no shift."""
        if sparse.issparse(X):
            if not self.offset.any():
                return X / self.scale
            X = X.toarray()
        return X / self.scale - self.offset / self.scale

    def nearest(self, A: Matrix, B: Matrix) -> Array:
        """Return the number of the row of B that is nearest to each row of A."""
        from sklearn.metrics import pairwise_distances_argmin

        with single_threaded_blas(), openmp_after_fork():
            found: Array = pairwise_distances_argmin(self.scale_rows(A), self.scale_rows(B))
        return found


def cluster(
    X: Matrix, n_clusters: int, rng: np.random.Generator, weight: Array | None = None
) -> tuple[Array, Scaling]:
    """Return the centres of k-means for rows in random order, and the scaling they were found in.

    No cluster is empty; there are fewer if fewer rows differ. Few clusters start from seeds of
    k-means++; many from the first rows, which are as good then, and cost nothing. Not
    scikit-learn's, which takes 10 ms for a fit of any size, and there is one for each class.
    """
    weight = np.ones(X.shape[0]) if weight is None else weight / weight.max()
    scaling = Scaling(X)
    Z = scaling.scale_rows(X)
    first = Z[: max(_SEEDING_ROWS, n_clusters)]
    seeds = first[:n_clusters]
    if n_clusters <= _FEW:
        seeds = first[spread_seeds(first, n_clusters, rng, weight[: first.shape[0]])]
    centres = dense(seeds, Z.dtype)
    labels = _label(Z, centres)
    mean = np.asarray(Z.mean(axis=0), np.float64).ravel()
    enough = _ENOUGH * float(np.mean(squared_norms(Z)) - mean @ mean) / int(Z.shape[1])
    for _ in range(_STEPS):
        kept, labels = np.unique(labels, return_inverse=True)
        moved = means(Z, labels, weight)
        shift = float(np.sum(np.square(moved - centres[kept], dtype=np.float64)))
        centres = moved
        labels = _label(Z, centres)
        if shift <= enough:
            break
    labels = np.unique(labels, return_inverse=True)[1]
    return means(X, labels, weight), scaling


def clustering(c: float, m: float, size: Size) -> tuple[Work, float]:
    """Return the work of m clusters of c rows, and the bytes held."""
    d, dtype = size.n_features, size.dtype
    work = gemm(2 * c * m * d * (_STEPS + 1) / _CLUSTERING, dtype)
    work += stream(12 * c * d * dtype.itemsize)
    if m <= _FEW:
        work += gemm(2 * min(c, _SEEDING_ROWS) * m * d / _SEEDING, dtype)
    # rows, scaled rows and copies of them; labels, weights and norms
    return work, 6 * c * d * dtype.itemsize + 48 * c


def spread_seeds(Z: Matrix, n_seeds: int, rng: np.random.Generator, weight: Array) -> Array:
    """Return the numbers of rows that are far apart, the seeds of k-means++.

    Each is drawn with a probability that is proportional to its weight times its squared distance
    from the nearest one before it. Fewer if fewer rows differ.
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
            row = dense(Z[drawn : drawn + 1], DOUBLE)[0]
            distances = np.minimum(distances, norms + norms[drawn] - 2 * (Z @ row))
            distances[distances <= _ROUNDING * norms] = 0.0
            chances = weight * distances
    return np.array(chosen)


def _label(Z: Matrix, centres: Array) -> Array:
    """Return the number of the centre that is nearest to each row, by products."""
    half_norms = (squared_norms(centres) / 2).astype(centres.dtype)
    labels = np.empty(Z.shape[0], np.intp)

    def label(part: slice, _: Scratch) -> None:
        products = Z[part] @ centres.T
        np.subtract(half_norms, products, out=products)
        labels[part] = products.argmin(axis=1)

    strips = [slice(start, start + _STRIP) for start in range(0, Z.shape[0], _STRIP)]
    fold(strips, label, lambda total, _: total, None, thread_count(None))
    return labels


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


def complete_centres(centres: Array, size: int, X: Matrix, rng: np.random.Generator) -> Array:
    """Return centres that differ by more than rounding, then rows of X at random."""
    spread = np.ptp(centres, axis=0)
    spread[spread == 0] = 1
    steps = np.round((centres - centres[0]) / spread / (_ROUNDINGS * np.finfo(centres.dtype).eps))
    first = np.sort(np.unique(steps, axis=0, return_index=True)[1])
    others = rng.permutation(X.shape[0])[: size - len(first)]
    return np.concatenate([centres[first], dense(X[others], centres.dtype)])
