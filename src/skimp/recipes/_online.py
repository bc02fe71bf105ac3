"""Machines that learn one row after another, on standardized columns."""

from typing import Any

from sklearn.pipeline import Pipeline

from skimp.estimators import (
    AMMClassifier,
    BudgetedSGDClassifier,
    BudgetedSGDRegressor,
    DoublyStochasticClassifier,
    DoublyStochasticRegressor,
)
from skimp.recipes._configure import choose, configure, standardized


def bsgd(task: str = "classification", **overrides: Any) -> Pipeline:
    r"""Return budgeted stochastic gradient descent, an online SVM of at most 500 points.

    Steps are those of Pegasos with a kernel [1]_; beyond the budget, two points are merged. It is
    the method of that name in BudgetedSVM, which the lecture compares [2]_. The differences are:

    - A first step, ``scale``, standardizes the columns. ``scale="passthrough"`` leaves it out.
    - Several classes are fitted one against the rest; the paper's joint loss is
      ``loss="multiclass_hinge"``.
    - ``alpha`` is that of an SVM with C = 1, and there are five passes.
    - ``budget=None`` is kernelized Pegasos.
    - Regression minimizes the squared error.

    A pass takes O(n m (d + k)) time for n rows, m points, d columns and k classes, and O(m (m + d))
    memory.

    Parameters
    ----------
    task : {"classification", "regression"}, default="classification"
        The task.
    **overrides
        Parameters of the steps ``scale`` and ``model``, such as ``budget``, ``maintenance``,
        ``kernel``, ``alpha`` and ``random_state``. ``with_mean=False`` is needed for sparse rows.
        Nested names work, too.

    Returns
    -------
    sklearn.pipeline.Pipeline

    References
    ----------
    .. [1] Z. Wang, K. Crammer and S. Vucetic, "Breaking the curse of kernelization: budgeted
       stochastic gradient descent for large-scale SVM training", JMLR 13 (2012), algorithm 1.
    .. [2] F. Minhas, "Large scale learning", lecture, PIEAS, slide "BudgetedSVM".

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skimp import recipes
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = recipes.bsgd(budget=20, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """
    kinds: dict[str, Any] = {
        "classification": BudgetedSGDClassifier,
        "regression": BudgetedSGDRegressor,
    }
    return configure("bsgd", standardized(("model", choose("bsgd", task, **kinds)())), overrides)


def amm(task: str = "classification", **overrides: Any) -> Pipeline:
    r"""Return an adaptive multi-hyperplane machine: several linear functions per class.

    A class scores a row by the largest of its functions, and gets a new one if none is positive
    [1]_. The lecture compares its batch and its online form with linear and kernel SVMs [2]_. The
    differences are:

    - A first step, ``scale``, standardizes the columns. ``scale="passthrough"`` leaves it out.
    - Weights are averaged, and pruned less than in the authors' program: see `AMMClassifier`.
    - ``approximation=m`` fits the functions to the features of m landmarks.

    A pass takes O(n s B) time for n rows with s nonzero entries and B functions, and O(d B) memory
    for d columns.

    Parameters
    ----------
    task : "classification"
        The only task.
    **overrides
        Parameters of the steps ``scale`` and ``model``, such as ``method="online"``, ``alpha``,
        ``max_weights`` and ``random_state``. ``with_mean=False`` is needed for sparse rows. Nested
        names work, too.

    Returns
    -------
    sklearn.pipeline.Pipeline

    References
    ----------
    .. [1] Z. Wang, N. Djuric, K. Crammer and S. Vucetic, "Trading representability for scalability:
       adaptive multi-hyperplane machine for nonlinear classification", KDD (2011), algorithms 1
       and 2.
    .. [2] F. Minhas, "Large scale learning", lecture, PIEAS, slide "BudgetedSVM: AMM".

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skimp import recipes
    >>> X, y = load_digits(return_X_y=True)
    >>> bool(recipes.amm(random_state=0).fit(X, y).score(X, y) > 0.97)
    True
    """
    model = standardized(("model", choose("amm", task, classification=AMMClassifier)()))
    return configure("amm", model, overrides, without=("kernel",))


def doubly_stochastic(task: str = "classification", **overrides: Any) -> Pipeline:
    r"""Return doubly stochastic gradients: random rows and new random features in each step.

    The features are drawn again from their seed whenever they are needed, so that memory does not
    depend on the number of columns times the number of features [1]_. The lecture lists it among
    its randomized algorithms [2]_. The differences are:

    - A first step, ``scale``, standardizes the columns. ``scale="passthrough"`` leaves it out.
    - A step solves for the coefficients of its new features instead of following the gradient:
      ``step=1.0`` takes gradient steps of the paper's form.
    - The loss is the squared hinge; ``loss="softmax"`` is the paper's multinomial loss. Regression
      minimizes the squared error.

    With n rows and D features in all, a fit takes about n d D operations in each pass, and the
    model one number per feature and output.

    Parameters
    ----------
    task : {"classification", "regression"}, default="classification"
        The task.
    **overrides
        Parameters of the steps ``scale`` and ``model``, such as ``kernel``, ``alpha``,
        ``n_frequencies`` and ``random_state``. ``with_mean=False`` is needed for sparse rows.
        Nested names work, too.

    Returns
    -------
    sklearn.pipeline.Pipeline

    References
    ----------
    .. [1] B. Dai, B. Xie, N. He, Y. Liang, A. Raj, M.-F. Balcan and L. Song, "Scalable kernel
       methods via doubly stochastic gradients", NeurIPS (2014).
    .. [2] F. Minhas, "Large scale learning", lecture, PIEAS, slide "Randomized algorithms".

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skimp import recipes
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = recipes.doubly_stochastic(random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """
    kinds: dict[str, Any] = {
        "classification": DoublyStochasticClassifier,
        "regression": DoublyStochasticRegressor,
    }
    name = "doubly_stochastic"
    return configure(name, standardized(("model", choose(name, task, **kinds)())), overrides)
