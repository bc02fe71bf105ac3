"""Clustering by medoids on a budget of points."""

from typing import Any, ClassVar, Self, final

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from skimp._core._blocks import Scratch, fold
from skimp._core._linalg import as_compute_dtype
from skimp._core._random import as_generator, draw_seed
from skimp._core._types import Array, RandomState
from skimp._core._warn import warn_user
from skimp._params._memory import MEMORY_LIMIT, require_memory
from skimp._params._parametrized import Parametrized, all_or_nothing
from skimp._params._rules import (
    BOOLEAN,
    N_JOBS,
    NONE,
    RANDOM_STATE,
    Rule,
    check_params,
    integer,
    one_of,
)
from skimp.budgets import Selector, as_selector
from skimp.data import Context, Reporting, Rows, as_rows, weighted_rows
from skimp.estimators._columns import warn_of_columns
from skimp.estimators._dissimilarities import Dissimilarity, KernelDistances, MetricDistances
from skimp.estimators._file_predictor import FilePredictor
from skimp.estimators._medoids import Medoids, Points, assign, best_start, refine
from skimp.features import FileTransformer
from skimp.kernels import Gaussian, Kernel, as_kernel, has_flag, require

_METRIC = NONE | Rule(
    "the name of a metric or a function of two rows (kernel=Precomputed(K) takes a matrix)",
    lambda v: (isinstance(v, str) and v != "precomputed") or callable(v),
)


@final
class KernelKMedoids(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    FilePredictor,
    FileTransformer,
    Reporting,
    Parametrized,
):
    r"""K-medoids in the feature space of a kernel, on a budget of points.

    The medoids are k rows :math:`\tilde x_j` that minimize the weighted sum of the distances of all
    rows from the nearest of them, in the distance of a kernel or in any metric:

    .. math:: \sum_i w_i \min_j d(x_i, \tilde x_j), \qquad
        d^2(x, y) = k(x, x) - 2 k(x, y) + k(y, y)

    A budget B of m points represents the rows in this sum. First, medoids are found among the
    points, from several starts. Then these steps repeat until the medoids stay: assign the points
    to the nearest medoid; replace each medoid by the row of its cluster that has the smallest sum
    of distances from the points of the cluster. All rows are candidates, and are assigned at the
    end.

    For n rows of d columns, this takes O(m^2 d) time for the points, and O(n (m / k + k) d) for
    each pass over the rows, of which there are usually a few. The memory is O(m^2 + n), and blocks
    of rows.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters k.
    kernel : Kernel or str, default="linear"
        The kernel, positive definite. The distance of the linear one is Euclidean.
    metric : str, callable or None, default=None
        A metric of `sklearn.metrics.pairwise_distances` without parameters to use instead of the
        kernel, such as "manhattan" or "cosine", or a symmetric function of two numeric rows. For
        other rows, and for a matrix of values, use `~skimp.kernels.FunctionKernel` and
        `~skimp.kernels.Precomputed` as the kernel.
    budget : int or None, default=1000
        Number of points m. None uses all rows, which takes O(n^2) memory.
    selector : Selector or str, default="uniform"
        How to choose the points. "kmeans" finds better medoids with few points, such as 10 to 50
        per cluster, and takes longer. With many points, uniform rows are as good or better, because
        points stand for equally many rows unless the selector returns weights. Selectors that use
        a kernel receive the Gaussian one with ``gamma="scale"`` if there is a metric.
    objective : "distance" or "squared", default="distance"
        What to sum: distances, or squared distances.
    method : "swap" or "alternate", default="swap"
        How to find medoids among the points. "swap" exchanges a medoid with any other point as long
        as that decreases the sum (FasterPAM). "alternate" takes the two steps above, which is the
        published algorithm, and ends in worse clusters.
    n_init : int, default=10
        Number of starts, of which the one with the smallest sum over the points is taken.
    max_iter : int, default=100
        Maximum number of iterations among the points, and of passes over the rows.
    memory_limit : int, str or None, default=None
        Maximum memory besides the rows, such as "2GB"; None is half of the machine's.
    n_jobs : int or None, default=None
        Number of threads; None uses all available cores.
    verbose : int, default=0
        Whether to report progress.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the points and of the starts.

    Attributes
    ----------
    labels_ : array of shape (n,)
        The cluster of each row.
    medoid_indices_ : array of shape (k,)
        Row numbers of the medoids.
    cluster_centers_ : array or CSR matrix of shape (k, d)
        The medoids.
    inertia_ : float
        The sum over all rows that ``objective`` names.
    kernel_ : Kernel or None
        Kernel with numeric parameters; None if there is a metric.
    n_iter_ : int
        Number of iterations: of the best start, and passes over the rows that chose medoids.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Castellanos (2021), Scalable kernel methods using randomized numerical linear algebra, algorithm
    4: one start at random, ``method="alternate"``, ``objective="squared"``.

    Schubert and Rousseeuw (2021), Fast and eager k-medoids clustering: O(k) runtime improvement of
    the PAM, CLARA, and CLARANS algorithms.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from skimp import KernelKMedoids
    >>> X, y = make_blobs(5000, centers=4, random_state=1)
    >>> model = KernelKMedoids(4, budget=200, random_state=0).fit(X)
    >>> bool(adjusted_rand_score(y, model.labels_) > 0.9)
    True
    >>> bool((X[model.medoid_indices_] == model.cluster_centers_).all())
    True
    """

    rules: ClassVar[dict[str, Rule]] = {
        "n_clusters": integer(at_least=1),
        "metric": _METRIC,
        "budget": NONE | integer(at_least=1),
        "objective": one_of("distance", "squared"),
        "method": one_of("swap", "alternate"),
        "n_init": integer(at_least=1),
        "max_iter": integer(at_least=1),
        "memory_limit": MEMORY_LIMIT,
        "n_jobs": N_JOBS,
        "verbose": integer(at_least=0) | BOOLEAN,
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Kernel | str = "linear",
        metric: Any = None,
        budget: int | None = 1000,
        selector: Selector | str = "uniform",
        objective: str = "distance",
        method: str = "swap",
        n_init: int = 10,
        max_iter: int = 100,
        memory_limit: int | str | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: RandomState = None,
    ):
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.metric = metric
        self.budget = budget
        self.selector = selector
        self.objective = objective
        self.method = method
        self.n_init = n_init
        self.max_iter = max_iter
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the medoids.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Rows.
        y : ignored
        sample_weight : array of shape (n,), optional
            Weights of the rows. Rows of weight 0 are assigned, but are not medoids.

        Returns
        -------
        self
        """
        with all_or_nothing(self), self._reporting(4, X, None, sample_weight) as context:
            check_params(self)
            owner, rng = type(self).__name__, as_generator(self.random_state)
            selector = as_selector(self.selector, owner=owner)
            with context.phase("read", unit="rows") as reading:
                rows = as_rows(self, X, None, sample_weight)
                n = rows.count_weighted(context)
                require_memory(
                    8 * rows.n_rows,
                    self.memory_limit,
                    f"the clusters of {rows.n_rows:,} rows in labels_",
                    "fit a part of the rows and call predict_to for all of them",
                )
                if n < self.n_clusters:
                    raise ValueError(
                        f"{owner}: n_clusters must be at most the number of rows of positive "
                        f"weight, n_samples={n}, got {self.n_clusters}."
                    )
                reading.result = f"{rows.n_rows:,} rows of {rows.n_features:,} columns"
            with context.phase("points") as choosing:
                points, kernel = self._choose_points(rows, n, selector, rng, context)
                choosing.result = f"{len(points.weight):,} points"
            self.kernel_ = None if self.metric is not None else kernel
            medoids = self._find(rows, points, n, rng, context)
            with context.phase("assign", unit="rows") as assigning:
                labels, inertia = assign(rows, medoids.X, self._dissimilarity, context)
                assigning.result = f"cost {inertia:.6g}"
            self.labels_, self.inertia_ = labels, inertia
            self.medoid_indices_, self.cluster_centers_ = medoids.numbers, medoids.X
            self.n_iter_ = medoids.n_iter
            self._warn(medoids)
        return self

    def _choose_points(
        self, rows: Rows, n: int, selector: Selector, rng: np.random.Generator, context: Context
    ) -> tuple[Points, Kernel]:
        """Return the points of the budget, and the kernel with numeric parameters."""
        owner = type(self).__name__
        kernel = (
            Gaussian("scale") if self.metric is not None else as_kernel(self.kernel, owner=owner)
        )
        if self.metric is None:
            advice = "others have no distances"
            require(kernel, "positive_definite", owner=owner, advice=advice)
            warn_of_columns(owner, rows, kernel, context)
        kernel = kernel.resolve(context.bind(rows), draw_seed(rng))
        size = n if self.budget is None else min(int(self.budget), n)
        if size < self.n_clusters:
            raise ValueError(
                f"{owner}: budget must be at least n_clusters={self.n_clusters}, got {self.budget}."
            )
        require_memory(
            8 * size**2 * (1 + context.threads),
            self.memory_limit,
            f"the distances of {size:,} points",
            "choose a smaller budget",
        )
        if size == n:
            present = weighted_rows(rows, context)
            block, numbers = rows.collect(), np.arange(n)
            numbers = numbers if present is None else present.origin(numbers, context)
            chosen, factors, weight = block.X, np.ones(n), block.weight
        else:
            budget = selector.select(rows, size, kernel, rng, context=context)
            m = int(budget.points.shape[0])
            if m < self.n_clusters:
                raise ValueError(
                    f"{owner}: selector must choose at least n_clusters={self.n_clusters} points, "
                    f"found {m} from {selector!r}."
                )
            numbers = np.full(m, -1) if budget.indices is None else budget.indices
            chosen = budget.points
            # weights of products: those of sums are their squares
            factors = np.ones(m) if budget.weights is None else budget.weights**2
            weight = None
            if numbers[0] >= 0 and next(rows.blocks()).weight is not None:
                weight = rows.take(numbers, context).weight
        if weight is not None:
            factors = factors * weight
        return Points(chosen, numbers, factors / factors.mean()), kernel

    def _find(
        self, rows: Rows, points: Points, n: int, rng: np.random.Generator, context: Context
    ) -> Medoids:
        """Return the medoids: the best among the points, and then among all rows."""
        k, max_iter = int(self.n_clusters), int(self.max_iter)
        dissimilarity, m = self._dissimilarity, len(points.weight)
        seeds = [draw_seed(rng) for _ in range(int(self.n_init))]
        with context.phase("starts") as starting:
            D = self._distances_of(points, rows, context)
            found = best_start(D, points.weight, k, seeds, self.method, max_iter, context)
            starting.result = f"mean {self.objective} {found.cost / points.weight.sum():.6g}"
            del D
        chosen = found.places
        medoids = Medoids(points.X[chosen], points.numbers[chosen], found.n_iter, found.converged)
        if m == n and points.numbers[0] >= 0:
            # all rows are points, so that no other row is a better medoid
            return medoids
        with context.phase("refine", unit="passes", total=max_iter) as refining:
            return refine(rows, points, medoids, dissimilarity, max_iter, context, refining)

    def _distances_of(self, points: Points, rows: Rows, context: Context) -> Array:
        """Return the matrix of the points' dissimilarities."""
        X, dissimilarity, size = points.X, self._dissimilarity, rows.block_rows
        D = np.empty((X.shape[0], X.shape[0]), as_compute_dtype(rows.dtype))
        bound, own = dissimilarity.bind(X), dissimilarity.own(X)

        def fill(start: int, _: Scratch) -> None:
            part = slice(start, start + size)
            D[part] = bound(X[part], None if own is None else own[part])

        fold(range(0, len(D), size), fill, lambda total, _: total, None, context.threads)
        return D

    @property
    def _dissimilarity(self) -> Dissimilarity:
        squared = self.objective == "squared"
        if self.kernel_ is None:
            return MetricDistances(self.metric, squared)
        return KernelDistances(self.kernel_, squared)

    def _warn(self, medoids: Medoids) -> None:
        """Warn of empty clusters, and of medoids that still moved."""
        owner = type(self).__name__
        found = len(np.unique(self.labels_))
        if found < self.n_clusters:
            warn_user(
                f"{owner}: found {found} distinct clusters, fewer than n_clusters="
                f"{self.n_clusters}: choose fewer clusters. Some rows probably coincide.",
                ConvergenceWarning,
            )
        elif not medoids.converged:
            warn_user(
                f"{owner}: the medoids still changed after {medoids.n_iter} iterations: raise "
                "max_iter.",
                ConvergenceWarning,
            )

    def transform(self, X: Any) -> Array:
        """Return the distances of rows from the medoids, squared if the objective is.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Rows with the columns of ``fit``.

        Returns
        -------
        array of shape (n, k)
        """
        check_is_fitted(self)
        rows, dissimilarity = as_rows(self, X, reset=False), self._dissimilarity
        bound = dissimilarity.bind(self.cluster_centers_)
        return Context(self.n_jobs).compute(
            rows,
            lambda block, _: bound(block.X, dissimilarity.own(block.X)),
            (len(self.medoid_indices_),),
            rows.dtype,
        )

    def predict(self, X: Any) -> Array:
        """Return the cluster of the nearest medoid.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Rows with the columns of ``fit``.

        Returns
        -------
        array of shape (n,)
        """
        check_is_fitted(self)
        rows = as_rows(self, X, reset=False)
        context = Context(self.n_jobs)
        return assign(rows, self.cluster_centers_, self._dissimilarity, context)[0]

    @property
    def _n_features_out(self) -> int:
        return len(self.medoid_indices_)

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags of supported input."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        if self.metric is None:
            tags.input_tags.positive_only = has_flag(self.kernel, "needs_nonnegative")
            tags.input_tags.string = has_flag(self.kernel, "takes_objects")
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
