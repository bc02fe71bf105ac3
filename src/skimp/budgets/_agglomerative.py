"""Landmarks by hierarchical clustering."""

import threading
import warnings
from typing import ClassVar, final

import numpy as np
from scipy import sparse
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform
from sklearn.exceptions import ConvergenceWarning

from skimp._core._linalg import check_representable
from skimp._core._objects import as_real
from skimp._core._random import draw_seed
from skimp._core._threads import openmp_after_fork, single_threaded_blas
from skimp._core._types import Array, Matrix
from skimp._core._work import Size, Work
from skimp._params._rules import Rule, integer, one_of
from skimp.budgets._base import Budget, RowSelector, complete
from skimp.budgets._clusters import POINTS, Scaling, complete_centres, means, vectors
from skimp.budgets._groups import find_medoids
from skimp.budgets._kmeans import KMeans
from skimp.data import Context, Rows
from skimp.kernels import Kernel

_LOCK = threading.Lock()


@final
class Agglomerative(RowSelector):
    r"""Medoids or means of the hierarchical clusters of a sample.

    The m clusters are found by merging: start with one cluster per row and merge the two nearest
    ones until m are left. The distance of two rows is the one in the kernel's feature space,

    .. math:: d(x, y) = \sqrt{k(x, x) - 2 k(x, y) + k(y, y)}.

    Bisecting k-means works the other way round. It starts with one cluster and keeps splitting
    the one with the largest sum of squares; it needs rows that are numeric vectors.

    Takes O(c^2 d) time and O(c^2) memory for a sample of c rows.

    Parameters
    ----------
    linkage : "average", "complete", "single" or "bisecting", default="average"
        Distance of two clusters: the mean, the maximum or the minimum over their pairs of rows.
        ``"bisecting"`` splits by bisecting k-means instead of merging.
    points : "rows" or "centres", default="rows"
        Point that represents a cluster: its medoid, which is the row nearest to the cluster mean
        in feature space, or its mean in input space. Means need rows that are numeric vectors.
    presample : int, default=4000
        Number c of rows to cluster, drawn uniformly; raised to 2 m if that is larger.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.budgets import Agglomerative
    >>> from skimp.kernels import Gaussian
    >>> X = np.array([[0.0], [0.1], [0.2], [4.9], [5.0], [5.1], [9.0]])
    >>> selector = Agglomerative(linkage="single")
    >>> budget = selector.select(X, 3, Gaussian(gamma=0.1), np.random.default_rng(0))
    >>> np.sort(budget.indices).tolist()
    [1, 4, 6]
    """

    rules: ClassVar[dict[str, Rule]] = {
        "linkage": one_of("average", "complete", "single", "bisecting"),
        "points": POINTS,
        "presample": integer(at_least=1),
    }

    def __init__(self, *, linkage: str = "average", points: str = "rows", presample: int = 4000):
        self.linkage = linkage
        self.points = points
        self.presample = presample

    def choose(
        self, rows: Rows, size: int, kernel: Kernel, rng: np.random.Generator, context: Context
    ) -> Budget:
        """Choose points; see `RowSelector.choose`."""
        sample = rows.sample(max(self.presample, 2 * size), draw_seed(rng), context)
        X = as_real(sample.X, rows.dtype)
        if self.linkage == "bisecting" or self.points == "centres":
            X = vectors(X, kernel, rows.dtype, owner=type(self).__name__)
        if self.linkage == "bisecting":
            labels = _bisect(X, size, rng)
        else:
            K = kernel(X, n_jobs=context.n_jobs)
            check_representable(K)
            labels = _merge(K, size, self.linkage)
        if self.points == "centres":
            return Budget(complete_centres(means(X, labels, sample.weight), size, X, rng))
        order = np.argsort(labels, kind="stable")
        found = order[find_medoids(X[order], labels[order], kernel, rows.dtype, context)]
        chosen = complete(found, size, X.shape[0], rng)
        return Budget(sample.X[chosen], sample.indices[chosen])

    def count(self, m: int, kernel: Kernel, size: Size) -> tuple[Work, float]:
        """Return work and bytes; see `Selector.count`."""
        return KMeans(presample=self.presample).count(m, kernel, size)


def _equal_rows(X: Matrix) -> Array:
    """Return one integer per row; equal rows get the same integer."""
    if not sparse.issparse(X):
        return np.unique(X, axis=0, return_inverse=True)[1].ravel()
    rows = [X[i] for i in range(X.shape[0])]
    keys = [(row.indices.tobytes(), row.data.tobytes()) for row in rows]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys])


def _merge(K: Array, size: int, linkage: str) -> Array:
    """Merge rows into ``size`` clusters and return the label of each row. Overwrites K."""
    diagonal = K.diagonal().copy()
    K *= -2
    K += diagonal[:, None]
    K += diagonal
    squared = squareform(K, checks=False)
    tree = hierarchy.linkage(np.sqrt(np.maximum(squared, 0)), linkage)
    n, merges = len(K), len(K) - size
    joined = tree[:merges, :2].astype(np.int64).ravel()
    parents = n + np.repeat(np.arange(merges), 2)
    nodes = n + merges
    edges = sparse.coo_matrix((np.ones(len(joined)), (joined, parents)), (nodes, nodes))
    labels: Array = sparse.csgraph.connected_components(edges, directed=False)[1][:n]
    return labels


def _bisect(X: Matrix, size: int, rng: np.random.Generator) -> Array:
    """Return the label of each row by bisecting k-means; no cluster is empty."""
    from sklearn.cluster import BisectingKMeans

    codes = _equal_rows(X)
    if codes.max() < size:
        return codes
    model = BisectingKMeans(size, random_state=draw_seed(rng) % 2**32)
    # warning filters and BLAS thread limits belong to the process: one thread at a time
    with _LOCK, single_threaded_blas(), openmp_after_fork(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(Scaling(X).scale_rows(X))
    labels: Array = np.unique(model.labels_, return_inverse=True)[1]
    return labels
