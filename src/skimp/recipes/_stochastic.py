"""Linear SVMs by stochastic solvers, and the same solvers on features."""

from collections.abc import Mapping
from typing import Any

from skimp._params._rules import BOOLEAN, check_values
from skimp.estimators import KernelClassifier
from skimp.features import Nystroem
from skimp.recipes._configure import KernelModel, choose, configure, kernel_model, svm_loss
from skimp.solvers import SARAH, SGD, DualCD, Pegasos

_REACHED = 1e-4
"""Penalty with which steps on landmarks converge, for squared errors and k(x, x) = 1."""


def _penalty(task: str, overrides: Mapping[str, Any]) -> float | str:
    """Return the penalty; with a kernel and low noise, "auto" is too weak for steps on rows."""
    return _REACHED if "kernel" in overrides and task == "regression" else "auto"


def _features(overrides: Mapping[str, Any]) -> Any:
    """Return the standardized columns, or landmarks if there is a kernel."""
    from sklearn.preprocessing import StandardScaler

    return Nystroem() if "kernel" in overrides else StandardScaler()


def pegasos_svm(task: str = "classification", **overrides: Any) -> KernelModel:
    r"""Return a linear SVM by Pegasos, or one on kernel features.

    Step t draws a row and moves the coefficients by a subgradient step of size
    :math:`1 / (\lambda t)` [1]_, as in the algorithm of [2]_. The columns are standardized, since
    steps of one size for all columns need columns of one scale. The differences are:

    - The result is the weighted average of all steps, which converges faster than the last one:
      ``average=False`` returns that. ``project=True`` adds the optional projection, and
      ``batch_size=k`` takes mini-batches.
    - Rows are visited in a new random order in each pass: ``order="iid"`` draws them.
    - There is an intercept, which is penalized: ``fit_intercept=False`` leaves it out.
    - Passes stop at a tolerance. ``alpha="auto"`` chooses the penalty; lambda is 2 alpha.
    - Several classes are fitted one against the rest; ``loss="multiclass_hinge"`` is the joint loss
      of [2]_, and ``loss="log"`` another of its losses.
    - With ``kernel="rbf"``, steps run on the features of 1,000 landmarks. The kernelized Pegasos of
      the paper keeps a coefficient for each row instead.
    - Regression uses squared errors, and ``alpha=1e-4`` if there is a kernel; ``epsilon=0.1``
      ignores errors below 0.1. ``loss="epsilon_insensitive"`` is the loss of [2]_, for which
      ``alpha`` should be given.

    A pass takes O(n d) time and memory for n rows and d columns.

    Parameters
    ----------
    task : {"classification", "regression"}, default="classification"
        The task.
    **overrides
        Parameters of the estimator, such as ``kernel``, ``alpha`` and ``max_iter``, and of its
        parts, such as ``batch_size``. ``with_mean=False`` is needed for sparse rows. Nested names
        work, too.

    Returns
    -------
    KernelClassifier or KernelRegressor

    References
    ----------
    .. [1] S. Shalev-Shwartz, Y. Singer, N. Srebro and A. Cotter, "Pegasos: primal estimated
       sub-gradient solver for SVM", Mathematical Programming 127 (2011), figures 1 and 2.
    .. [2] F. Minhas, "Large scale learning", lecture, PIEAS, slides "Pegasos algorithm" and
       "Solving other problems".

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skimp import recipes
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> bool(recipes.pegasos_svm(alpha=0.01).fit(X, y).score(X, y) > 0.95)
    True
    """
    model = kernel_model(
        "pegasos_svm",
        task,
        approximation=_features(overrides),
        loss=svm_loss("pegasos_svm", task, "hinge"),
        alpha=_penalty(task, overrides),
        solver=Pegasos(),
    )
    return configure("pegasos_svm", model, overrides)


def sarah_svm(task: str = "classification", **overrides: Any) -> KernelModel:
    r"""Return a linear SVM with squared hinge loss by SARAH, or one on kernel features.

    SARAH [1]_ corrects the noise of mini-batch gradients with the gradient of all rows, so that it
    converges with steps of constant size. The differences are:

    - The loss is the squared hinge, because SARAH needs a smooth loss; the paper's experiments are
      logistic regression, ``loss="log"``.
    - Gradients are preconditioned, and iterations stop as in algorithm 2 (SARAH+), or at a
      tolerance. See `~skimp.solvers.SARAH`.
    - The columns are standardized. With ``kernel="rbf"``, steps run on the features of 1,000
      landmarks.
    - ``alpha="auto"`` chooses the penalty.
    - Regression uses squared errors; ``epsilon=0.1`` ignores errors below 0.1.

    An iteration takes O(n d) time and memory for n rows and d columns.

    Parameters
    ----------
    task : {"classification", "regression"}, default="classification"
        The task.
    **overrides
        Parameters of the estimator, such as ``kernel``, ``alpha`` and ``tol``, and of its parts,
        such as ``batch_size``. ``with_mean=False`` is needed for sparse rows. Nested names work,
        too.

    Returns
    -------
    KernelClassifier or KernelRegressor

    References
    ----------
    .. [1] L. Nguyen, J. Liu, K. Scheinberg and M. Takac, "SARAH: a novel method for machine
       learning problems using stochastic recursive gradient", ICML (2017), algorithm 2.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skimp import recipes
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> bool(recipes.sarah_svm(alpha=0.01).fit(X, y).score(X, y) > 0.95)
    True
    """
    model = kernel_model(
        "sarah_svm",
        task,
        approximation=_features(overrides),
        loss=svm_loss("sarah_svm", task),
        solver=SARAH(),
    )
    return configure("sarah_svm", model, overrides)


def sdca_svm(task: str = "classification", **overrides: Any) -> KernelModel:
    r"""Return a linear SVM by stochastic dual coordinate ascent (SDCA), or one on kernel features.

    A step maximizes the dual objective in the coefficient of one row, in random order [1]_. The
    duality gap bounds the distance to the minimum. The differences are:

    - The intercept is not penalized; ``penalize_intercept=True`` makes it the coefficient of a
      constant column, as in LIBLINEAR. The paper has none: ``fit_intercept=False``.
    - The last iterate is returned, not an average.
    - The columns are standardized. With ``kernel="rbf"``, steps run on the features of 1,000
      landmarks.
    - ``alpha="auto"`` chooses the penalty; the lambda of the paper is 2 alpha.
    - Regression uses squared errors, and ``alpha=1e-4`` if there is a kernel; ``epsilon=0.1``
      ignores errors below 0.1.

    A sweep over the rows takes O(n d) time and memory for n rows and d columns.

    Parameters
    ----------
    task : {"classification", "regression"}, default="classification"
        The task.
    **overrides
        Parameters of the estimator, such as ``kernel``, ``alpha``, ``tol`` and ``loss``, and of its
        parts. ``with_mean=False`` is needed for sparse rows. Nested names work, too.

    Returns
    -------
    KernelClassifier or KernelRegressor

    References
    ----------
    .. [1] S. Shalev-Shwartz and T. Zhang, "Stochastic dual coordinate ascent methods for
       regularized loss minimization", JMLR 14 (2013).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skimp import recipes
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = recipes.sdca_svm(alpha=0.01).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """
    model = kernel_model(
        "sdca_svm",
        task,
        approximation=_features(overrides),
        loss=svm_loss("sdca_svm", task, "hinge"),
        alpha=_penalty(task, overrides),
        solver=DualCD(),
    )
    return configure("sdca_svm", model, overrides)


def asset(
    task: str = "classification", *, star: bool = False, **overrides: Any
) -> KernelClassifier:
    r"""Return approximate stochastic subgradient estimation training (ASSET, ASSET*).

    Averaged subgradient steps of size :math:`\theta / \sqrt t` fit a linear SVM with an intercept
    that is not penalized, on Nystroem features of uniformly drawn landmarks [1]_. ASSET* has no
    intercept, which makes the objective strongly convex, and steps of size
    :math:`1 / (\lambda t)`. The differences are:

    - Features are centred for ASSET, and averages have weights that grow with t.
    - :math:`\theta` is chosen by short trials on a sample. Passes stop if the objective is about
      10 % above its minimum, or with a warning after 1,000 passes, which may be too few for a small
      ``alpha`` on a few hundred rows. `budgeted_svm` minimizes the same objective.
    - ``alpha="auto"`` chooses the penalty; lambda is 2 alpha.

    ``approximation=RandomFourier()`` is the form on Fourier features, with subscript F in the
    paper. A pass takes O(n m) time and memory for n rows and m features.

    Parameters
    ----------
    task : "classification"
        The only task.
    star : bool, default=False
        Whether to return ASSET*.
    **overrides
        Parameters of the estimator, such as ``kernel``, ``alpha``, ``max_iter`` and
        ``random_state``, and of its parts, such as ``budget`` and ``batch_size``. Nested names
        work, too.

    Returns
    -------
    KernelClassifier

    References
    ----------
    .. [1] S. Lee and S. Wright, "Stochastic subgradient estimation training for support vector
       machines", in Mathematical Methodologies in Pattern Recognition and Machine Learning,
       Springer (2013), table 3 of which the lecture of F. Minhas shows.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from skimp import recipes
    >>> X, y = make_moons(2000, noise=0.2, random_state=0)
    >>> for star in (False, True):
    ...     model = recipes.asset(star=star, budget=50, alpha=1e-3, random_state=0).fit(X, y)
    ...     assert model.score(X, y) > 0.94
    """
    choose("asset", task, classification=None)
    check_values("asset", {"star": BOOLEAN}, star=star)
    model = KernelClassifier(
        approximation=Nystroem(selector="uniform"),
        loss="hinge",
        solver=(Pegasos if star else SGD)(tol=0.1, max_iter=1000),
        fit_intercept=not star,
    )
    return configure("asset", model, overrides)
