"""Kernel classification by doubly stochastic gradients."""

from typing import Any, ClassVar, final

from skimp._core._types import RandomState
from skimp._params._rules import Rule
from skimp.estimators._doubly_machine import DoublyLearner, DoublyMachine
from skimp.estimators._labels import CLASS_WEIGHT, Probabilistic
from skimp.estimators._online_machine import OnlineClassifier
from skimp.kernels import Kernel
from skimp.losses import Loss


@final
class DoublyStochasticClassifier(Probabilistic, OnlineClassifier, DoublyMachine):
    r"""Kernel classification by doubly stochastic gradients, in the memory of its coefficients.

    Minimizes, over functions f in the space of the kernel,

    .. math::
        \frac{1}{\sum_i w_i} \sum_i w_i \, \ell(y_i, f(x_i)) + \alpha \, \|f\|^2

    where y is 1 for one class and -1 for the others. There is one function per class, or a single
    one for two classes unless the loss is multinomial. The steps, their cost and the parameters are
    those of `DoublyStochasticRegressor`.

    Parameters
    ----------
    kernel : Kernel or str, default="rbf"
        A stationary kernel, such as `~skimp.kernels.Gaussian` or `~skimp.kernels.Laplacian`.
    loss : str or Loss, default="squared_hinge"
        "squared_hinge", "hinge", "log" or "squared" fit one function per class. "softmax" and
        "multiclass_hinge" fit all classes together. Only "log" and "softmax" have
        ``predict_proba``.
    alpha : float or "auto", default="auto"
        Strength of the penalty, as in `DoublyStochasticRegressor`.
    step : "auto" or float, default="auto"
        Size of the steps, as in `DoublyStochasticRegressor`.
    batch_size, n_frequencies, max_iter
        Rows of a step, new frequencies of a step, and passes over the rows, as in
        `DoublyStochasticRegressor`.
    class_weight : dict, "balanced" or None, default=None
        Factors for the weights of the rows of each class. "balanced" gives every class the same
        total weight.
    memory_limit, n_jobs, verbose, random_state
        As in `DoublyStochasticRegressor`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels, sorted.
    kernel_, alpha_, coef_, frequencies_, n_frequencies_, n_iter_
        As in `DoublyStochasticRegressor`.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Dai, Xie, He, Liang, Raj, Balcan and Song (2014), Scalable kernel methods via doubly stochastic
    gradients.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from skimp import DoublyStochasticClassifier
    >>> X, y = make_moons(2000, noise=0.2, random_state=0)
    >>> model = DoublyStochasticClassifier(random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    rules: ClassVar[dict[str, Rule]] = {**DoublyMachine.rules, "class_weight": CLASS_WEIGHT}

    def __init__(
        self,
        kernel: Kernel | str = "rbf",
        *,
        loss: Loss | str = "squared_hinge",
        alpha: float | str = "auto",
        step: float | str = "auto",
        batch_size: int = 8192,
        n_frequencies: int = 512,
        max_iter: int = 10,
        class_weight: dict[Any, float] | str | None = None,
        memory_limit: int | str | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: RandomState = None,
    ):
        self.kernel = kernel
        self.loss = loss
        self.alpha = alpha
        self.step = step
        self.batch_size = batch_size
        self.n_frequencies = n_frequencies
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    _learner: DoublyLearner

    @property
    def _joint(self) -> bool:
        return self._checked_loss(self.loss).joint

    @property
    def _fitted_loss(self) -> Loss | None:
        return self._learner.loss if self._is_learning else None
