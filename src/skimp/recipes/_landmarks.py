"""Models on landmarks: SVMs, least-squares SVMs, and Falkon."""

from typing import Any

from skimp.estimators import KernelClassifier
from skimp.features import Nystroem
from skimp.recipes._configure import KernelModel, choose, configure, kernel_model, svm_loss


def budgeted_svm(task: str = "classification", **overrides: Any) -> KernelModel:
    r"""Return a support vector machine on a budget of landmarks.

    It minimizes the objective of algorithm 2 in [1]_, for m landmarks B:

    .. math:: c^T K_{mm} c + C \sum_i \max(0, 1 - y_i (k(x_i, B) \, c + b))

    The differences from the thesis are:

    - For classification, `~skimp.solvers.DualCD` solves it until the duality gap is small. The
      thesis takes mini-batch steps in the coordinates of c, which converge slowly. They are
      ``budgeted_svm(solver=SGD(coordinates="raw", batch_size=32))``, from zero instead of a random
      start.
    - ``alpha="auto"`` chooses the penalty, which is 1 / (n C) in the thesis:
      ``alpha=alpha_from_C(C, n, halved=False)``.
    - Landmarks are k-means centres, for classification those of each class.
      ``selector="uniform"`` is the random budget of section 3.2, and ``selector="dbh"`` is
      algorithm 1.
    - Regression, which the thesis does not consider, uses squared errors. ``epsilon=0.1`` ignores
      errors below 0.1, and ``loss="epsilon_insensitive"`` is the loss of support vector regression,
      for which ``alpha`` should be given.

    A fit takes O(n m (d + m)) time and O(n m) memory.

    Parameters
    ----------
    task : {"classification", "regression"}, default="classification"
        The task.
    **overrides
        Parameters of the estimator, such as ``kernel``, ``alpha`` and ``random_state``, and of its
        parts, such as ``budget`` (the number of landmarks) and ``selector``. Nested names work,
        too.

    Returns
    -------
    KernelClassifier or KernelRegressor

    References
    ----------
    .. [1] I. Castellanos, "Scalable kernel methods using randomized numerical linear algebra",
       thesis, Universidad Nacional de Colombia (2021), section 4.1.1, algorithm 2.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from skimp import recipes
    >>> X, y = make_moons(500, noise=0.2, random_state=0)
    >>> model = recipes.budgeted_svm(budget=50, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """
    loss = svm_loss("budgeted_svm", task, "hinge")
    model = kernel_model("budgeted_svm", task, approximation=Nystroem(), loss=loss)
    return configure("budgeted_svm", model, overrides)


def ls_svm(task: str = "classification", **overrides: Any) -> KernelModel:
    r"""Return a least-squares support vector machine on a budget of landmarks.

    It minimizes, for m landmarks B,

    .. math:: \frac12 c^T K_{mm} c + \frac C2 \sum_i (y_i - k(x_i, B) \, c - b)^2

    With all rows as landmarks this is the system of equation 4-9 in [1]_, and kernel ridge
    regression with an intercept. The differences from the thesis are:

    - Equations 4-13 to 4-15 contain a term :math:`-\sum_j \alpha_j`, which does not belong there:
      the multipliers of equation 4-9 already contain y. This objective has no such term.
    - Normal equations are solved in one pass. The steps of algorithm 3, without the wrong term, are
      ``ls_svm(solver=SGD(coordinates="raw"))``.
    - ``alpha="auto"`` chooses the penalty, which is 1 / (n C) in the thesis:
      ``alpha=alpha_from_C(C, n, halved=False)``.

    A fit takes O(n m (d + m) + m^3) time and O(m^2) memory.

    Parameters
    ----------
    task : {"classification", "regression"}, default="classification"
        The task.
    **overrides
        Parameters of the estimator, such as ``kernel``, ``alpha`` and ``random_state``, and of its
        parts, such as ``budget`` (the number of landmarks) and ``selector``. Nested names work,
        too.

    Returns
    -------
    KernelClassifier or KernelRegressor

    References
    ----------
    .. [1] I. Castellanos, "Scalable kernel methods using randomized numerical linear algebra",
       thesis, Universidad Nacional de Colombia (2021), section 4.1.2.

    J. Suykens and J. Vandewalle, "Least squares support vector machine classifiers", Neural
    Processing Letters 9 (1999).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from skimp import recipes
    >>> X, y = make_moons(500, noise=0.2, random_state=0)
    >>> model = recipes.ls_svm(budget=50, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """
    model = kernel_model("ls_svm", task, approximation=Nystroem(), loss="squared")
    return configure("ls_svm", model, overrides)


def nystroem_svm(task: str = "classification", **overrides: Any) -> KernelModel:
    r"""Return a linear SVM on Nystroem features.

    The features of m landmarks B drawn uniformly [1]_ are :math:`z(x) = K_{mm}^{-1/2} k(B, x)`. For
    the same loss, the model equals `budgeted_svm`, because the norm of its coefficients is
    :math:`c^T K_{mm} c` in those of the landmarks. Differences are:

    - The loss is the squared hinge, the default of LIBLINEAR, which Newton's method minimizes
      faster than the hinge. Regression uses squared errors; ``epsilon=0.1`` ignores errors below
      0.1.
    - All eigenvalues of :math:`K_{mm}` are used. ``rank=p`` keeps the p largest, as in section
      2.2.1 of [2]_.
    - ``alpha="auto"`` chooses the penalty.

    A fit takes O(n m (d + m)) time. It keeps the n x m features if they fit into ``memory_limit``.

    Parameters
    ----------
    task : {"classification", "regression"}, default="classification"
        The task.
    **overrides
        Parameters of the estimator, such as ``kernel``, ``alpha`` and ``random_state``, and of its
        parts, such as ``budget`` (the number of landmarks) and ``rank``. Nested names work, too.

    Returns
    -------
    KernelClassifier or KernelRegressor

    References
    ----------
    .. [1] C. Williams and M. Seeger, "Using the Nystroem method to speed up kernel machines",
       NIPS 13 (2001).
    .. [2] I. Castellanos, "Scalable kernel methods using randomized numerical linear algebra",
       thesis, Universidad Nacional de Colombia (2021), section 2.2.1.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from skimp import recipes
    >>> X, y = make_moons(500, noise=0.2, random_state=0)
    >>> model = recipes.nystroem_svm(budget=50, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """
    landmarks = Nystroem(selector="uniform")
    loss = svm_loss("nystroem_svm", task)
    model = kernel_model("nystroem_svm", task, approximation=landmarks, loss=loss)
    return configure("nystroem_svm", model, overrides)


def llsvm(task: str = "classification", **overrides: Any) -> KernelClassifier:
    r"""Return a low-rank linearized SVM (LLSVM).

    Landmarks are k-means centres, features are :math:`K_{mm}^{-1/2} k(B, x)`, and dual coordinate
    descent solves the linear SVM [1]_. Differences are:

    - Centres are those of k-means on a sample of the rows if there are many.
    - ``alpha="auto"`` chooses the penalty. Pass ``alpha=alpha_from_C(C, n)`` for a published C.
    - Several classes are fitted one against the rest.

    For regression see `nystroem_svm`. A fit takes O(n m (d + m)) time and O(n m) memory for n rows,
    d columns and m landmarks.

    Parameters
    ----------
    task : "classification"
        The only task.
    **overrides
        Parameters of the estimator, such as ``kernel``, ``alpha`` and ``random_state``, and of its
        parts, such as ``budget`` (the number of landmarks). Nested names work, too.

    Returns
    -------
    KernelClassifier

    References
    ----------
    .. [1] K. Zhang, L. Lan, Z. Wang and F. Moerchen, "Scaling up kernel SVM on limited resources: a
       low-rank linearization approach", AISTATS (2012).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from skimp import recipes
    >>> X, y = make_moons(500, noise=0.2, random_state=0)
    >>> model = recipes.llsvm(budget=50, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """
    choose("llsvm", task, classification=None)
    model = KernelClassifier(
        approximation=Nystroem(selector="kmeans"), loss="hinge", solver="dual_cd"
    )
    return configure("llsvm", model, overrides)


def falkon(task: str = "classification", **overrides: Any) -> KernelModel:
    r"""Return kernel ridge regression by preconditioned conjugate gradients (Falkon).

    Landmarks are drawn uniformly, the loss is squared, and conjugate gradients solve the normal
    equations of m landmarks [1]_:

    .. math:: (K_{nm}^T K_{nm} + n \alpha K_{mm}) \, c = K_{nm}^T y

    Differences are:

    - An intercept is fitted; ``fit_intercept=False`` leaves it out.
    - The preconditioner is made of sums over rows or over landmarks, and iterations stop at a
      tolerance instead of a fixed number.
    - ``alpha="auto"`` chooses the penalty, the lambda of the paper.
    - A classifier fits 1 and -1 for each class. There is no GPU version.

    A fit takes O(n m t + m^3) time for t iterations, about 20, and O(m^2) memory. It keeps the
    n x m kernel values if they fit into ``memory_limit``.

    Parameters
    ----------
    task : {"classification", "regression"}, default="classification"
        The task.
    **overrides
        Parameters of the estimator, such as ``kernel``, ``alpha``, ``tol`` and ``random_state``,
        and of its parts, such as ``budget`` (the number of landmarks). Nested names work, too.

    Returns
    -------
    KernelClassifier or KernelRegressor

    References
    ----------
    .. [1] A. Rudi, L. Carratino and L. Rosasco, "FALKON: an optimal large scale kernel method",
       NIPS 30 (2017), algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp import recipes
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> y = np.sin(2 * X[:, 0]) * X[:, 1]
    >>> model = recipes.falkon("regression", budget=100, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.98)
    True
    """
    model = kernel_model(
        "falkon", task, approximation=Nystroem(selector="uniform"), loss="squared", solver="pcg"
    )
    return configure("falkon", model, overrides)
