"""Clusters of vectors, and the points that stand for them."""

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from skimp._core._objects import is_object
from skimp._core._random import draw_seed
from skimp._core._rules import broken, one_of
from skimp._core._types import Array, DType, Matrix
from skimp.kernels import Kernel

POINTS = one_of("centres", "rows")


def cluster(
    X: Matrix, n_clusters: int, rng: np.random.Generator, weight: Array | None = None
) -> Array:
    """Return the centres of k-means for rows in random order.

    Some are equal where fewer rows differ. It starts from seeds of k-means++, or from the first
    rows where there are many clusters: random seeds are as good then, and cost nothing.
    """
    from sklearn.cluster import KMeans, kmeans_plusplus

    first = X[: max(_SEEDING_ROWS, n_clusters)]
    seeds = first[:n_clusters]
    if n_clusters <= _FEW:
        weights = None if weight is None else weight[: first.shape[0]]
        seeds, _ = kmeans_plusplus(first, n_clusters, sample_weight=weights, random_state=seed(rng))
    seeds = seeds.toarray() if sparse.issparse(seeds) else seeds
    model = KMeans(n_clusters, init=seeds, n_init=1, max_iter=_STEPS)
    centres: Array = quietly(model.fit, X, sample_weight=weight).cluster_centers_
    return centres


def quietly(fit: Any, *args: Any, **options: Any) -> Any:
    """Fit without a word on clusters that have become equal: they are counted later."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fit(*args, **options)


def seed(rng: np.random.Generator) -> int:
    """Draw a seed for scikit-learn."""
    return draw_seed(rng) % 2**32


def means(X: Matrix, labels: Array, dtype: DType) -> Array:
    """Return the mean row of each cluster."""
    sizes = np.bincount(labels)
    indicator = sparse.csr_matrix((1 / sizes[labels], (labels, np.arange(len(labels)))))
    sums = indicator @ X
    return np.asarray(sums.toarray() if sparse.issparse(sums) else sums, dtype)


def check_vectors(X: Matrix, kernel: Kernel, *, owner: str) -> None:
    """Raise for rows that have no mean."""
    if is_object(X) or kernel.takes_objects:
        raise broken(owner, "kernel", "one of vectors, whose means are points as well", kernel)


_FEW = 64
_SEEDING_ROWS = 2000
_STEPS = 5
