"""k-means on a sample of rows."""

import numpy as np
from scipy import sparse

from skimp._core._blocks import Scratch, fold
from skimp._core._linalg import dense, squared_norms
from skimp._core._objects import is_object
from skimp._core._threads import openmp_after_fork, single_threaded_blas
from skimp._core._types import Array, DType, Matrix
from skimp._core._work import DOUBLE, Size, Work, gemm, stream
from skimp._params._rules import broken, one_of
from skimp.data import LOCAL, Context
from skimp.kernels import Kernel

POINTS = one_of("centres", "rows")
_MAX_SEEDED = 64
"""k-means++ chooses the initial centres up to this number of clusters."""
_SEEDING_ROWS = 2000
_STEPS, _TOL = 5, 1e-4
"""Maximum number of k-means steps; tolerance of the centres' squared movement over the variance."""
_STRIP = 1024
_ROUNDING = 1e-12
"""Squared distances below this fraction of a row's squared norm are set to zero."""
_MIN_GAP = 64
"""Centres are distinct if they differ by this number of eps times the range of a column."""
_DENSE_ENTRIES = 2**26
_CLUSTERING, _SEEDING = 0.25, 0.002
"""Speed of k-means steps and of k-means++ relative to a matrix product (measured)."""


def vectors(X: Matrix, kernel: Kernel, dtype: DType, *, owner: str) -> Matrix:
    """Return numeric rows in this dtype, dense if they have at most 2^26 entries.

    Dense and sparse input then give the same clusters. Raises if the rows are not numeric vectors.
    """
    if is_object(X) or kernel.takes_objects:
        wording = "a kernel on numeric vectors, because the selector computes with the rows"
        raise broken(owner, "kernel", wording, kernel)
    small = X.shape[0] * X.shape[1] <= _DENSE_ENTRIES
    return dense(X, dtype) if small else X.astype(dtype, copy=False)


class Scaling:
    """A shift and a scale that bring all entries to at most one in absolute value.

    Without them, rounding errors may dominate squared distances, or squares may overflow.
    """

    def __init__(self, X: Matrix):
        self.offset, self.scale = np.zeros(X.shape[1], X.dtype), abs(X).max() or X.dtype.type(1)
        if not sparse.issparse(X):
            self.offset = X[0]
            spread = np.abs(X / self.scale - self.offset / self.scale).max() or X.dtype.type(1)
            # at most one: twice the largest float overflows
            self.scale *= min(spread, X.dtype.type(1))

    def scale_rows(self, X: Matrix) -> Matrix:
        """Return the scaled rows; sparse rows stay sparse if the shift is zero."""
        if sparse.issparse(X):
            if not self.offset.any():
                return X / self.scale
            X = X.toarray()
        return X / self.scale - self.offset / self.scale

    def nearest(self, A: Matrix, B: Matrix) -> Array:
        """Return, for each row of A, the number of the nearest row of B."""
        from sklearn.metrics import pairwise_distances_argmin

        with single_threaded_blas(), openmp_after_fork():
            found: Array = pairwise_distances_argmin(self.scale_rows(A), self.scale_rows(B))
        return found


def cluster(
    X: Matrix,
    n_clusters: int,
    rng: np.random.Generator,
    weight: Array | None = None,
    context: Context = LOCAL,
) -> tuple[Array, Scaling]:
    """Return k-means centres of randomly ordered rows, and the scaling of the distances.

    Returns fewer centres if there are fewer distinct rows; no cluster is empty. Up to 64 clusters
    start from k-means++ seeds. More clusters start from the first rows, which work as well and
    cost nothing. scikit-learn's k-means is not used because it takes at least 10 ms per fit, and
    there is one fit per class.
    """
    weight = np.ones(X.shape[0]) if weight is None else weight / weight.max()
    scaling = Scaling(X)
    Z = scaling.scale_rows(X)
    first = Z[: max(_SEEDING_ROWS, n_clusters)]
    seeds = first[:n_clusters]
    if n_clusters <= _MAX_SEEDED:
        seeds = first[spread_seeds(first, n_clusters, rng, weight[: first.shape[0]])]
    centres = dense(seeds, Z.dtype)
    labels = _label(Z, centres, context)
    mean = np.asarray(Z.mean(axis=0), np.float64).ravel()
    tol = _TOL * float(np.mean(squared_norms(Z)) - mean @ mean) / int(Z.shape[1])
    for _ in range(_STEPS):
        kept, labels = np.unique(labels, return_inverse=True)
        moved = means(Z, labels, weight)
        shift = float(np.sum(np.square(moved - centres[kept], dtype=np.float64)))
        centres = moved
        labels = _label(Z, centres, context)
        if shift <= tol:
            break
    labels = np.unique(labels, return_inverse=True)[1]
    return means(X, labels, weight), scaling


def clustering(c: float, m: float, size: Size) -> tuple[Work, float]:
    """Return the work and the bytes held to find m clusters of c rows."""
    d, dtype = size.n_features, size.dtype
    work = gemm(2 * c * m * d * (_STEPS + 1) / _CLUSTERING, dtype)
    work += stream(12 * c * d * dtype.itemsize)
    if m <= _MAX_SEEDED:
        work += gemm(2 * min(c, _SEEDING_ROWS) * m * d / _SEEDING, dtype)
    # bytes: rows, scaled rows and copies; labels, weights and norms
    return work, 6 * c * d * dtype.itemsize + 48 * c


def spread_seeds(Z: Matrix, n_seeds: int, rng: np.random.Generator, weight: Array) -> Array:
    """Return row numbers of k-means++ seeds, fewer if there are fewer distinct rows.

    The probability of a row is proportional to its weight times its squared distance from the
    nearest seed so far.
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


def _label(Z: Matrix, centres: Array, context: Context) -> Array:
    """Return the number of the nearest centre for each row."""
    half_norms = (squared_norms(centres) / 2).astype(centres.dtype)
    labels = np.empty(Z.shape[0], np.intp)

    def label(part: slice, _: Scratch) -> None:
        products = Z[part] @ centres.T
        np.subtract(half_norms, products, out=products)
        labels[part] = products.argmin(axis=1)

    strips = [slice(start, start + _STRIP) for start in range(0, Z.shape[0], _STRIP)]
    fold(strips, label, lambda total, _: total, None, context.threads)
    return labels


def means(X: Matrix, labels: Array, weight: Array | None = None) -> Array:
    """Return the weighted mean of each cluster, dense and in the dtype of X.

    Means of dense rows are computed relative to one row, so that the mean of equal rows is exact.
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
    """Drop centres that coincide up to rounding; fill up with random rows of X to ``size``."""
    spread = np.ptp(centres, axis=0)
    spread[spread == 0] = 1
    steps = np.round((centres - centres[0]) / spread / (_MIN_GAP * np.finfo(centres.dtype).eps))
    first = np.sort(np.unique(steps, axis=0, return_index=True)[1])
    others = rng.permutation(X.shape[0])[: size - len(first)]
    return np.concatenate([centres[first], dense(X[others], centres.dtype)])
