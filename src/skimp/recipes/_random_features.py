"""Linear models on random features and projections."""

from typing import Any

from sklearn.pipeline import Pipeline

from skimp.features import PolynomialProjection, RandomBinning, RandomFourier, RandomLayer
from skimp.recipes._configure import KernelModel, configure, kernel_model, standardized, svm_loss


def kitchen_sinks(task: str = "classification", **overrides: Any) -> KernelModel:
    r"""Return random kitchen sinks: least squares on random Fourier features.

    Frequencies are drawn at random and only the weights of the features are fitted [1]_. The
    differences are:

    - The weights have a quadratic penalty. The algorithm of the paper bounds each of them instead.
    - Each frequency gives a cosine and a sine, which have a lower variance than cosines with random
      phases. ``form="phase"`` gives the latter, and ``sampling="orthogonal"`` frequencies that are
      more even.
    - The bandwidth of the frequencies and ``alpha`` are chosen.

    For other random features see `elm` and `binning_svm`. A fit takes O(n D (d + D) + D^3) time and
    O(D^2) memory for n rows, d columns and D features.

    Parameters
    ----------
    task : {"classification", "regression"}, default="classification"
        The task.
    **overrides
        Parameters of the estimator, such as ``kernel``, ``alpha`` and ``random_state``, and of its
        parts, such as ``n_components`` (the number of features) and ``sampling``. Nested names
        work, too.

    Returns
    -------
    KernelClassifier or KernelRegressor

    References
    ----------
    .. [1] A. Rahimi and B. Recht, "Weighted sums of random kitchen sinks: replacing minimization
       with randomization in learning", NIPS 21 (2008), algorithm 1.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from skimp import recipes
    >>> X, y = make_moons(500, noise=0.2, random_state=0)
    >>> model = recipes.kitchen_sinks(n_components=100, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """
    model = kernel_model("kitchen_sinks", task, approximation=RandomFourier(), loss="squared")
    return configure("kitchen_sinks", model, overrides)


def elm(task: str = "classification", **overrides: Any) -> Pipeline:
    r"""Return an extreme learning machine: ridge regression on a random hidden layer.

    The weights of the hidden layer are random, and those of the output are fitted by least squares
    [1]_. The differences are:

    - The output weights have a ridge penalty, which ``alpha="auto"`` chooses. The paper uses the
      pseudo-inverse.
    - The columns are standardized. The paper scales them to [-1, 1].
    - The weights of the layer are normal instead of uniform, with ``gamma`` as their scale.

    A fit takes O(n D (d + D) + D^3) time and O(D^2) memory for n rows, d columns and D nodes.

    Parameters
    ----------
    task : {"classification", "regression"}, default="classification"
        The task.
    **overrides
        Parameters of the steps ``scale`` and ``model`` or of their parts, such as ``alpha``,
        ``random_state``, ``n_components`` (the number of nodes), ``activation`` and ``gamma``.
        ``with_mean=False`` is needed for sparse rows. Nested names work, too.

    Returns
    -------
    sklearn.pipeline.Pipeline

    References
    ----------
    .. [1] G.-B. Huang, Q.-Y. Zhu and C.-K. Siew, "Extreme learning machine: theory and
       applications", Neurocomputing 70 (2006), algorithm ELM.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from skimp import recipes
    >>> X, y = make_moons(500, noise=0.2, random_state=0)
    >>> model = recipes.elm(n_components=200, activation="tanh", random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """
    model = kernel_model("elm", task, approximation=RandomLayer(), loss="squared")
    return configure("elm", standardized(("model", model)), overrides, without=("kernel",))


def binning_svm(task: str = "classification", **overrides: Any) -> KernelModel:
    r"""Return a linear SVM on random binning features.

    Each of P random grids assigns a row to one of its bins, and two rows share a bin with a
    probability that equals the Laplacian kernel [1]_. The model is piecewise constant. The
    differences are:

    - Bins are stored as integer codes, not as a sparse matrix, and each grid keeps at most 65,535
      bins.
    - The loss is the squared hinge instead of the hinge; ``loss="hinge"`` works as well. Regression
      uses squared errors, as the paper does; ``epsilon=0.1`` ignores errors below 0.1.
    - The bandwidth and ``alpha`` are chosen.

    A fit takes O(n P (d + t)) time and O(n P) memory for n rows, d columns and t sweeps of dual
    coordinate descent.

    Parameters
    ----------
    task : {"classification", "regression"}, default="classification"
        The task.
    **overrides
        Parameters of the estimator, such as ``kernel``, ``alpha`` and ``random_state``, and of its
        parts, such as ``n_grids`` (the number of grids P). Nested names work, too.

    Returns
    -------
    KernelClassifier or KernelRegressor

    References
    ----------
    .. [1] A. Rahimi and B. Recht, "Random features for large-scale kernel machines", NIPS 20
       (2007), algorithm 2.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from skimp import recipes
    >>> X, y = make_moons(500, noise=0.2, random_state=0)
    >>> model = recipes.binning_svm(random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """
    loss = svm_loss("binning_svm", task)
    model = kernel_model("binning_svm", task, approximation=RandomBinning(), loss=loss)
    return configure("binning_svm", model, overrides)


def polynomial_projection_svm(task: str = "classification", **overrides: Any) -> Pipeline:
    r"""Return a linear SVM on random projections from a polynomial feature space (PK-RP).

    The steps are those of the experiments in [1]_: random projection of the polynomial features,
    ``map``; standardization of the projections, ``standardize``; and a linear SVM, ``model``.
    The differences are:

    - A first step, ``scale``, standardizes the columns, because a polynomial of columns in
      different units depends on the largest. ``scale="passthrough"`` leaves it out, for columns in
      one unit such as pixels.
    - The kernel is :math:`(\gamma \langle x, y \rangle + 1)^2`, which includes linear terms. The
      thesis uses :math:`\langle x, y \rangle^g`: ``coef0=0``, ``gamma=1.0``, ``degree=g``.
    - ``alpha="auto"`` chooses the penalty, where the thesis cross-validates C.
    - The loss is the squared hinge, the default of LIBLINEAR. Regression uses squared errors;
      ``epsilon=0.1`` ignores errors below 0.1.

    A fit takes O(n (d p + k t g) + n k^2) time and O(n k) memory for n rows, d columns, p random
    vectors, k projections of t terms, and the degree g.

    Parameters
    ----------
    task : {"classification", "regression"}, default="classification"
        The task.
    **overrides
        Parameters of the steps or of their parts, such as ``alpha``, ``random_state``, ``degree``,
        ``n_components`` (the number of projections k), ``n_vectors`` (p) and ``n_terms`` (t).
        ``with_mean=False`` is needed for sparse rows. Nested names work, too.

    Returns
    -------
    sklearn.pipeline.Pipeline

    References
    ----------
    .. [1] D. López-Sánchez, "Low computational cost machine learning: random projections and
       polynomial kernels", thesis, University of Salamanca (2019), section 4.4, footnote 8 and
       table 4.4.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from skimp import recipes
    >>> X, y = make_circles(500, noise=0.1, factor=0.5, random_state=0)
    >>> model = recipes.polynomial_projection_svm(n_components=50, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.97)
    True
    """
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    name = "polynomial_projection_svm"
    # the projections are the features of a linear model
    model = kernel_model(name, task, approximation=FunctionTransformer(), loss=svm_loss(name, task))
    pipeline = standardized(
        ("map", PolynomialProjection(gamma="scale", coef0=1.0)),
        ("standardize", StandardScaler()),
        ("model", model),
    )
    return configure(name, pipeline, overrides, without=("kernel",))


def kmeans_fourier_svm(task: str = "classification", **overrides: Any) -> Pipeline:
    r"""Return k-means, random Fourier features and a linear SVM, in this order.

    K-means reduces the rows to their distances to the centres, and an SVM is fitted to random
    Fourier features of the distances [1]_. The differences are:

    - The project clusters the colours of the pixels of each image. Here the rows are clustered,
      since the columns of a table are not pixels.
    - A first step, ``scale``, standardizes the columns. ``scale="passthrough"`` leaves it out, for
      columns in one unit such as pixels.
    - There are 50 clusters, because few distances lose much of the rows.
    - The bandwidth and ``alpha`` are chosen, and the loss is the squared hinge. Regression uses
      squared errors; ``epsilon=0.1`` ignores errors below 0.1.

    It pays off if rows have thousands of columns; otherwise `nystroem_svm` is more accurate. A fit
    takes O(n (d c t + D (c + D))) time and O(n D) memory for n rows, d columns, c clusters, t steps
    of k-means and D features.

    Parameters
    ----------
    task : {"classification", "regression"}, default="classification"
        The task.
    **overrides
        Parameters of the steps ``scale``, ``cluster`` and ``model`` or of their parts, such as
        ``n_clusters``, ``n_components`` (the number of features), ``kernel``, ``alpha`` and
        ``random_state``. ``with_mean=False`` is needed for sparse rows. Nested names work, too.

    Returns
    -------
    sklearn.pipeline.Pipeline

    References
    ----------
    .. [1] N. Kalra and T. Huang, "Fast random kernelized features: support vector machine
       classification for high-dimensional IDC dataset" (2018), cited in B. Cano Camarero, "Random
       features for large-scale kernel machines", talk, Universidad Autónoma de Madrid (2023), slide
       "Related works".

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from skimp import recipes
    >>> X, y = load_wine(return_X_y=True)
    >>> model = recipes.kmeans_fourier_svm(n_components=100, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.97)
    True
    """
    from sklearn.cluster import KMeans

    name = "kmeans_fourier_svm"
    model = kernel_model(name, task, approximation=RandomFourier(), loss=svm_loss(name, task))
    return configure(name, standardized(("cluster", KMeans(50)), ("model", model)), overrides)
