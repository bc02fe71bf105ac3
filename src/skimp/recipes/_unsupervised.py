"""Kernel PCA, clustering and novelty detection: scikit-learn's linear methods on features."""

from typing import Any

from sklearn.pipeline import Pipeline

from skimp.estimators import KernelKMedoids
from skimp.features import Nystroem, SpectralProjection
from skimp.recipes._configure import choose, configure, standardized


def _scaled(*steps: tuple[str, Any]) -> Pipeline:
    """Return a pipeline of standardized columns, features of landmarks, and further steps."""
    return standardized(("map", Nystroem()), *steps)


def kernel_pca(task: str = "embedding", **overrides: Any) -> Pipeline:
    r"""Return kernel principal component analysis on a budget of landmarks.

    PCA of the Nystroem features is kernel PCA [1]_ of the approximated kernel. With all rows as
    landmarks it is `sklearn.decomposition.KernelPCA`, up to signs. The differences are:

    - No n x n matrix is computed: a fit takes O(n m (d + m)) time and O(n m) memory for n rows, d
      columns and m landmarks.
    - The columns are standardized first. ``scale="passthrough"`` leaves this out, for columns in
      one unit such as pixels.

    Parameters
    ----------
    task : "embedding"
        The only task.
    **overrides
        Parameters of the steps ``scale``, ``map`` and ``model`` or of their parts, such as
        ``n_components`` (2 by default), ``kernel``, ``budget`` (the number of landmarks) and
        ``random_state``. ``map=RandomFourier()`` uses other features. ``with_mean=False`` is needed
        for sparse rows. Nested names work, too.

    Returns
    -------
    sklearn.pipeline.Pipeline
        With ``transform``.

    References
    ----------
    .. [1] B. Schoelkopf, A. Smola and K.-R. Mueller, "Nonlinear component analysis as a kernel
       eigenvalue problem", Neural Computation 10 (1998).

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from skimp import recipes
    >>> from skimp.kernels import Gaussian
    >>> X, y = make_circles(400, factor=0.3, noise=0.05, random_state=0)
    >>> model = recipes.kernel_pca(kernel=Gaussian(1.0), budget=100, random_state=0)
    >>> Z = model.fit_transform(X)
    >>> inner, outer = Z[y == 1, 0], Z[y == 0, 0]
    >>> bool(inner.min() > outer.max() or inner.max() < outer.min())
    True
    """
    from sklearn.decomposition import PCA

    choose("kernel_pca", task, embedding=None)
    return configure("kernel_pca", _scaled(("model", PCA(2))), overrides)


def kernel_kmeans(task: str = "clustering", **overrides: Any) -> Pipeline:
    r"""Return kernel k-means on a budget of landmarks.

    K-means of the Nystroem features minimizes the distances to cluster means in the feature space
    of the approximated kernel [1]_. With the linear kernel it is k-means. The differences are:

    - The Nystroem features are not truncated to the rank of the paper's analysis; ``rank=s`` keeps
      the s largest eigenvalues.
    - The columns are standardized first. ``scale="passthrough"`` leaves this out, for columns in
      one unit such as pixels.

    A fit takes O(n m (d + m + c t)) time and O(n m) memory for n rows, d columns, m landmarks, c
    clusters and t steps of k-means.

    Parameters
    ----------
    task : "clustering"
        The only task.
    **overrides
        Parameters of the steps ``scale``, ``map`` and ``model`` or of their parts, such as
        ``n_clusters``, ``kernel``, ``budget`` (the number of landmarks) and ``random_state``.
        ``with_mean=False`` is needed for sparse rows. Nested names work, too.

    Returns
    -------
    sklearn.pipeline.Pipeline
        With ``fit_predict`` and ``predict``.

    References
    ----------
    .. [1] S. Wang, A. Gittens and M. Mahoney, "Scalable kernel k-means clustering with Nystroem
       approximation: relative-error bounds", JMLR 20 (2019).

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from skimp import recipes
    >>> X, y = make_blobs(500, random_state=0, cluster_std=0.6)
    >>> model = recipes.kernel_kmeans(n_clusters=3, budget=100, random_state=0)
    >>> bool(adjusted_rand_score(y, model.fit_predict(X)) > 0.95)
    True
    """
    from sklearn.cluster import KMeans

    choose("kernel_kmeans", task, clustering=None)
    return configure("kernel_kmeans", _scaled(("model", KMeans())), overrides)


def kernel_kmedoids(task: str = "clustering", **overrides: Any) -> Pipeline:
    r"""Return kernel k-medoids on a budget.

    The clusters are those of k rows, in the distance of a kernel. A budget of uniformly drawn rows
    represents all rows in the sum of squared distances, and all rows are candidates for medoids
    [1]_ (algorithm 4). The differences are:

    - The best of ten starts is taken, and the starts are spread as in k-means++.
    - All starts run on the budget alone. All rows become candidates after the best one.
    - A cluster without points of the budget gets a new medoid.
    - The columns are standardized first. ``scale="passthrough"`` leaves this out, for columns in
      one unit such as pixels.

    ``method="swap"`` finds better clusters in about the same time, and ``objective="distance"``
    sums distances; both are defaults of `~skimp.KernelKMedoids`. A fit takes O(m^2 d) time for m
    points and d columns, O(n (m / k + k) d) for each of a few passes over n rows, and O(m^2 + n)
    memory.

    Parameters
    ----------
    task : "clustering"
        The only task.
    **overrides
        Parameters of the steps ``scale`` and ``model`` or of their parts, such as ``n_clusters``,
        ``kernel``, ``budget`` (the number of points), ``selector`` and ``random_state``.
        ``with_mean=False`` is needed for sparse rows. Nested names work, too.

    Returns
    -------
    sklearn.pipeline.Pipeline
        With ``fit_predict`` and ``predict``.

    References
    ----------
    .. [1] I. Castellanos, "Scalable kernel methods using randomized numerical linear algebra",
       thesis, Universidad Nacional de Colombia (2021), section 4.3.1.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from skimp import recipes
    >>> X, y = make_blobs(500, random_state=0, cluster_std=0.6)
    >>> model = recipes.kernel_kmedoids(n_clusters=3, budget=100, random_state=0)
    >>> bool(adjusted_rand_score(y, model.fit_predict(X)) > 0.95)
    True
    """
    choose("kernel_kmedoids", task, clustering=None)
    model = KernelKMedoids(objective="squared", method="alternate")
    return configure("kernel_kmedoids", standardized(("model", model)), overrides)


def spectral_clustering(
    task: str = "clustering", *, n_clusters: int = 8, **overrides: Any
) -> Pipeline:
    r"""Return spectral clustering on a budget of landmarks.

    The leading eigenvectors of the normalized similarities :math:`G^{-1/2} K G^{-1/2}`, where G is
    the diagonal matrix of row sums of K, are computed from features of the rows. Their rows are
    scaled to length one and clustered by k-means [1]_. The differences are:

    - The kernel is approximated by landmarks [2]_, and no n x n matrix is computed.
    - The diagonal of K is not set to zero.
    - New rows can be assigned: ``predict``.
    - The columns are standardized first. ``scale="passthrough"`` leaves this out, for columns in
      one unit such as pixels.

    The bandwidth matters: try ``kernel=Gaussian(gamma)`` with several values. If it is too narrow,
    single rows become clusters. A fit takes O(n m (d + m) + m^3) time and O(n m) memory for n rows,
    d columns and m landmarks.

    Parameters
    ----------
    task : "clustering"
        The only task.
    n_clusters : int, default=8
        Number of clusters, and of eigenvectors.
    **overrides
        Parameters of the steps ``scale``, ``map``, ``spectrum``, ``rows`` and ``model`` or of their
        parts, such as ``kernel``, ``budget`` (the number of landmarks) and ``random_state``.
        ``with_mean=False`` is needed for sparse rows. Nested names work, too.

    Returns
    -------
    sklearn.pipeline.Pipeline
        With ``fit_predict`` and ``predict``.

    References
    ----------
    .. [1] A. Ng, M. Jordan and Y. Weiss, "On spectral clustering: analysis and an algorithm",
       NIPS 14 (2001), section 2.
    .. [2] C. Fowlkes, S. Belongie, F. Chung and J. Malik, "Spectral grouping using the Nystroem
       method", IEEE Transactions on Pattern Analysis and Machine Intelligence 26 (2004).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from skimp import recipes
    >>> from skimp.kernels import Gaussian
    >>> X, y = make_moons(1000, noise=0.05, random_state=0)
    >>> model = recipes.spectral_clustering(n_clusters=2, kernel=Gaussian(20.0), random_state=0)
    >>> bool(adjusted_rand_score(y, model.fit_predict(X)) > 0.99)
    True
    """
    from sklearn.cluster import KMeans
    from sklearn.preprocessing import Normalizer

    choose("spectral_clustering", task, clustering=None)
    pipeline = _scaled(
        ("spectrum", SpectralProjection(n_clusters)),
        ("rows", Normalizer()),
        ("model", KMeans(n_clusters, n_init=10)),
    )
    return configure("spectral_clustering", pipeline, overrides)


def one_class(task: str = "novelty", **overrides: Any) -> Pipeline:
    r"""Return a one-class SVM on a budget of landmarks.

    The one-class SVM separates most rows from the origin of the feature space [1]_. ``predict``
    returns 1 for rows that resemble the training rows, and -1 for others. The differences are:

    - scikit-learn's linear one-class SVM is fitted to Nystroem features by stochastic gradient
      descent, with coefficients averaged from step 10,000 on. The paper solves the dual problem of
      the exact kernel.
    - ``nu``, the share of training rows that are marked as unusual, is 0.1. The share is met
      approximately, and with a few hundred rows only roughly.
    - The columns are standardized first. ``scale="passthrough"`` leaves this out, for columns in
      one unit such as pixels.

    A fit takes O(n m (d + m)) time and O(n m) memory for n rows, d columns and m landmarks. For a
    fitted classifier or regressor, ``typicality`` finds unusual rows without another model.

    Parameters
    ----------
    task : "novelty"
        The only task.
    **overrides
        Parameters of the steps ``scale``, ``map`` and ``model`` or of their parts, such as ``nu``,
        ``kernel``, ``budget`` (the number of landmarks) and ``random_state``. ``with_mean=False``
        is needed for sparse rows. Nested names work, too.

    Returns
    -------
    sklearn.pipeline.Pipeline
        With ``predict`` and ``decision_function``.

    References
    ----------
    .. [1] B. Schoelkopf, J. Platt, J. Shawe-Taylor, A. Smola and R. Williamson, "Estimating the
       support of a high-dimensional distribution", Neural Computation 13 (2001).

    Examples
    --------
    >>> import numpy as np
    >>> from skimp import recipes
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> model = recipes.one_class(budget=100, random_state=0).fit(X)
    >>> model.predict([[0.0, 0.0], [6.0, 6.0]]).tolist()
    [1, -1]
    """
    from sklearn.linear_model import SGDOneClassSVM

    choose("one_class", task, novelty=None)
    # without the average, the share of unusual rows depends strongly on the seed
    model = SGDOneClassSVM(nu=0.1, average=10_000, tol=1e-5)
    return configure("one_class", _scaled(("model", model)), overrides)
