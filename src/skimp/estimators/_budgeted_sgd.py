"""Kernel machines that learn one row after another, with few points or with all rows."""

from abc import ABC
from typing import Any, ClassVar, final

import numpy as np

from skimp._core._objects import as_real
from skimp._core._random import draw_seed
from skimp._core._types import Array, Matrix, RandomState
from skimp._core._work import DOUBLE
from skimp._params._memory import SIZE, parse_bytes
from skimp._params._rules import NONE, Rule, broken, integer, is_auto, number, one_of
from skimp.data import Context, Rows
from skimp.estimators._columns import warn_of_columns
from skimp.estimators._expansion import (
    KINDS,
    BudgetedExpansion,
    Expansion,
    KernelPegasos,
    StepRules,
)
from skimp.estimators._kernel_cache import CacheUse
from skimp.estimators._labels import CLASS_WEIGHT, Probabilistic
from skimp.estimators._online_machine import OnlineClassifier, OnlineMachine, OnlineRegressor
from skimp.kernels import Kernel, as_kernel, has_flag, require
from skimp.losses import Loss

_SAMPLED = 1000
"""Rows of which the largest k(x, x) is taken."""


class BudgetedSGD(OnlineMachine, ABC):
    """What the classifier and the regressor share."""

    rules: ClassVar[dict[str, Rule]] = {
        **OnlineMachine.rules,
        "budget": NONE | integer(at_least=1),
        "maintenance": one_of("auto", *KINDS),
        "alpha": number(above=0) | one_of("auto"),
        "window": NONE | integer(at_least=1),
        "cache_size": SIZE,
    }

    kernel: Kernel | str
    budget: int | None
    maintenance: str
    loss: Loss | str
    alpha: float | str
    window: int | None
    cache_size: int | str

    _learner: Expansion
    points_: Matrix
    coef_: Array
    intercept_: Array
    kernel_: Kernel
    alpha_: float
    n_steps_: int
    cache_: CacheUse | None

    def _begin(self, rows: Rows, rng: np.random.Generator, context: Context) -> Expansion:
        loss, kernel = self._checked_loss(self.loss), self._checked_kernel()
        if loss.joint:
            loss.check_classes(self._targets.n_outputs)
        self._refuse_few_rows(rows, context, kernel)
        warn_of_columns(type(self).__name__, rows, kernel, context)
        kernel = kernel.resolve(context.bind(rows), draw_seed(rng))
        sample = as_real(rows.sample(_SAMPLED, 0, context).X, DOUBLE)
        steps = StepRules(
            kernel=kernel,
            loss=loss,
            alpha=self._penalty(self.alpha, rows, context),
            window=np.inf if self.window is None else float(self.window),
            diagonal=float(kernel.diag(sample, n_jobs=1).max()),
            n_features=rows.n_features,
            n_outputs=self._targets.n_outputs,
            dtype=rows.dtype,
            seed=draw_seed(rng),
        )
        if self.budget is None:
            return KernelPegasos(steps, parse_bytes(self.cache_size))
        automatic = "merging" if kernel.mergeable else "projection"
        kind = automatic if is_auto(self.maintenance) else self.maintenance
        return BudgetedExpansion(steps, self.budget, kind)

    def _checked_kernel(self) -> Kernel:
        owner = type(self).__name__
        kernel = as_kernel(self.kernel, owner=owner, size="budget")
        require(kernel, "positive_definite", owner=owner, advice="the penalty is its squared norm")
        if self.maintenance == "merging" and self.budget is not None and not kernel.mergeable:
            wording = f"'projection' or 'removal' for {kernel!r} (merging needs Gaussian)"
            raise broken(owner, "maintenance", wording, self.maintenance)
        return kernel

    def _set_learnt(self, learner: Any) -> None:
        self.points_ = learner.points
        self.coef_ = learner.coef.astype(learner.rules.dtype)
        self.intercept_ = np.zeros(learner.n_outputs) + self._targets.shift
        self.kernel_, self.alpha_ = learner.rules.kernel, learner.rules.alpha
        self.n_steps_, self.cache_ = learner.t, learner.cache_use

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags of supported input."""
        tags = super().__sklearn_tags__()
        if isinstance(self.kernel, Kernel | str):
            tags.input_tags.positive_only = has_flag(self.kernel, "needs_nonnegative")
        return tags


@final
class BudgetedSGDClassifier(Probabilistic, OnlineClassifier, BudgetedSGD):
    r"""Kernel classification by stochastic gradients on a budget of points (BSGD).

    The model is a short list of points, :math:`f(x) = \sum_s c_s k(p_s, x)`. Step t visits a row,
    shrinks all coefficients, and adds the row as a point if it has a loss:

    .. math::
        f \leftarrow \Bigl(1 - \frac{1}{t}\Bigr) f
        - \frac{1}{2 \alpha t} \, \ell'(y_i, f(x_i)) \, k(x_i, \cdot)

    This is Pegasos with a kernel: it minimizes the mean loss plus :math:`\alpha \|f\|^2`, without
    an intercept. For smooth losses, :math:`t + t_0` replaces t, with the least :math:`t_0` for
    which no step overshoots on its own row. If there are more points than ``budget``, one is
    removed, projected onto the others, or merged with another. Several classes share the points,
    and each has its own coefficients.

    A pass takes O(n m (d + k)) time for n rows, m points and k classes, and O(m d) time for each
    merge or O(m^2) for each projection. Memory is O(m (m + d)), whatever the number of rows. Rows
    may be sparse, but points are dense, so that d counts all columns.

    Parameters
    ----------
    kernel : Kernel or str, default="rbf"
        The kernel.
    budget : int or None, default=500
        Largest number of points. None keeps every row that had a loss: kernelized Pegasos, whose
        passes take longer as points are added. Sparse rows then stay sparse. Rows that do not fit
        into ``memory_limit`` become points anew in each pass, and the cache does not help them.
    maintenance : {"auto", "merging", "projection", "removal"}, default="auto"
        What to do with one point too many.

        - "merging": replace the point with the smallest coefficient and a partner by one point
          between them, at the place and with the partner that change f least. For the Gaussian
          kernel only.
        - "projection": drop the point whose projection onto the others changes f least, and give
          them its share. For small budgets, because it takes O(m^2) time.
        - "removal": drop the point with the smallest :math:`|c_s|^2 k(p_s, p_s)`. Fast, and much
          less accurate.

        "auto" merges with the Gaussian kernel, and projects with others.
    loss : str or Loss, default="hinge"
        "hinge", "squared_hinge", "log" or "squared" for one function per class; "multiclass_hinge"
        or "softmax" for all classes together. Only "log" and "softmax" have ``predict_proba``.
    alpha : float or "auto", default="auto"
        Strength of the penalty, independent of n. Pegasos' lambda is 2 alpha. "auto" is 1 / (2 n),
        an SVM's C of 1, and 1e-4 in a stream (``partial_fit``).
    window : int or None, default=None
        Number of rows that the model remembers, for streams that change: after this many steps, t
        stays the same, so that the weight of old rows falls exponentially. None forgets nothing.
    max_iter : int, default=5
        Number of passes of ``fit`` over the rows.
    cache_size : int or str, default="200MB"
        Bytes for kernel values of rows that are visited again. Used if ``budget`` is None.
    class_weight : dict, "balanced" or None, default=None
        Factors for the weights of the rows of each class. "balanced" gives every class the same
        total weight in ``fit``.
    memory_limit : int, str or None, default=None
        Bytes, or a size such as "2GB", for rows that are not in memory. None is half of the
        machine's memory.
    n_jobs : int or None, default=None
        Number of threads of predictions, and of kernel values if ``budget`` is None. None uses all
        cores.
    verbose : int, default=0
        Whether to report progress.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the order of the rows.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels, sorted.
    points_ : array or CSR matrix of shape (m, d)
        The points; sparse only without a budget.
    coef_ : array of shape (m, k)
        Their coefficients, one column per class, or one for two classes.
    intercept_ : array of shape (k,)
        Zeros.
    kernel_ : Kernel
        Kernel with numeric parameters.
    alpha_ : float
        The penalty.
    n_steps_, n_iter_ : int
        Number of steps, and of passes.
    cache_ : CacheUse or None
        What the kernel cache supplied, and the seconds of the rest; None with a budget.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Wang, Crammer and Vucetic (2012), Breaking the curse of kernelization: budgeted stochastic
    gradient descent for large-scale SVM training, algorithm 1 and section 4. The point that is
    projected is the best one, instead of the one with the smallest coefficient.

    Shalev-Shwartz, Singer, Srebro and Cotter (2011), Pegasos: primal estimated sub-gradient solver
    for SVM, figure 3.

    Glasmachers and Qaadan (2018), Speeding up budgeted stochastic gradient descent SVM training
    with precomputed golden section search.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from skimp import BudgetedSGDClassifier
    >>> X, y = make_moons(5000, noise=0.2, random_state=0)
    >>> model = BudgetedSGDClassifier(budget=50, random_state=0).fit(X, y)
    >>> model.points_.shape
    (50, 2)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    rules: ClassVar[dict[str, Rule]] = {**BudgetedSGD.rules, "class_weight": CLASS_WEIGHT}

    def __init__(
        self,
        kernel: Kernel | str = "rbf",
        *,
        budget: int | None = 500,
        maintenance: str = "auto",
        loss: Loss | str = "hinge",
        alpha: float | str = "auto",
        window: int | None = None,
        max_iter: int = 5,
        cache_size: int | str = "200MB",
        class_weight: dict[Any, float] | str | None = None,
        memory_limit: int | str | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: RandomState = None,
    ):
        self.kernel = kernel
        self.budget = budget
        self.maintenance = maintenance
        self.loss = loss
        self.alpha = alpha
        self.window = window
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @property
    def _joint(self) -> bool:
        return self._checked_loss(self.loss).joint

    @property
    def _fitted_loss(self) -> Loss | None:
        return self._learner.rules.loss if self._is_learning else None


@final
class BudgetedSGDRegressor(OnlineRegressor, BudgetedSGD):
    r"""Kernel regression by stochastic gradients on a budget of points (BSGD).

    The model, its steps and its cost are those of `BudgetedSGDClassifier`. The median of y in
    ``fit`` or in the first call of ``partial_fit`` is added to f.

    Parameters
    ----------
    kernel, budget, maintenance
        As in `BudgetedSGDClassifier`.
    loss : str or Loss, default="squared"
        "squared", "huber", "epsilon_insensitive", "squared_epsilon_insensitive" or "quantile". The
        result of the squared loss is proportional to y. Others depend on its unit, as in `SVR`:
        scale y to a spread of about one first.
    alpha : float or "auto", default="auto"
        Strength of the penalty, as in `BudgetedSGDClassifier`.
    window, max_iter, cache_size, memory_limit, n_jobs, verbose, random_state
        As in `BudgetedSGDClassifier`.

    Attributes
    ----------
    points_, coef_, kernel_, alpha_, n_steps_, n_iter_, cache_
        As in `BudgetedSGDClassifier`.
    intercept_ : array of shape (k,)
        The medians of y, which are added to f.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp import BudgetedSGDRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (2000, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=2000)
    >>> model = BudgetedSGDRegressor(budget=30, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    def __init__(
        self,
        kernel: Kernel | str = "rbf",
        *,
        budget: int | None = 500,
        maintenance: str = "auto",
        loss: Loss | str = "squared",
        alpha: float | str = "auto",
        window: int | None = None,
        max_iter: int = 5,
        cache_size: int | str = "200MB",
        memory_limit: int | str | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: RandomState = None,
    ):
        self.kernel = kernel
        self.budget = budget
        self.maintenance = maintenance
        self.loss = loss
        self.alpha = alpha
        self.window = window
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state
