"""Kernel classification on a budget."""

from os import PathLike
from typing import Any, ClassVar, Self, final

from skimp._core._types import RandomState
from skimp._params._rules import Rule
from skimp.choice import Spec
from skimp.data import Checkpoint, Context, Rows
from skimp.estimators._available import available_unless
from skimp.estimators._kernel_machine import KernelMachine, lacks_partial_fit
from skimp.estimators._labels import CLASS_WEIGHT, Probabilistic
from skimp.estimators._targets import Targets
from skimp.features import FeatureMap
from skimp.kernels import Kernel
from skimp.losses import Loss
from skimp.solvers import Solver


@final
class KernelClassifier(Probabilistic, KernelMachine):
    r"""Kernel classification on a budget.

    Minimizes, over functions f in the space of the approximated kernel and a constant b,

    .. math::
        \frac{1}{\sum_i w_i} \sum_i w_i \, \ell(y_i, f(x_i) + b) + \alpha \, \|f\|^2

    where y is 1 for one class and -1 for the others. There is one function per class, or a single
    one for two classes unless the loss is multinomial. A fit takes O(n m (d + m)) time and O(m^2)
    memory for n rows and m landmarks. Iterative solvers also keep the n x m features if they fit in
    ``memory_limit``.

    Parameters
    ----------
    kernel : Kernel or str, default="auto"
        The kernel. "auto" tries the Gaussian, the Laplacian and a linear model. If
        ``approximation`` is given, it uses the Laplacian for random binning and the Gaussian for
        other maps. It also chooses the bandwidth, and scales the columns if that lowers the error;
        ``kernel_.gamma`` is then an array. A kernel with ``gamma="auto"`` leaves only bandwidth and
        scaling to the search.
    approximation : "auto", int, str, FeatureMap or None, default="auto"
        An int is a number of landmarks (`~skimp.features.Nystroem`). A feature map is used as
        given. "nystroem", "fourier" and "binning" are maps of their default size. None fits the
        exact model, which suits a few thousand rows. "auto" tries landmarks and, with more than
        8,192 rows, Fourier features and random binning. It doubles the size of the best map until
        the next doubling is not worth its cost or would exceed a limit.
    loss : str or Loss, default="squared_hinge"
        "hinge", "squared_hinge", "log" or "squared" fit one function per class. "softmax" and
        "multiclass_hinge" fit all classes together; `~skimp.losses.MulticlassHinge` takes a cost
        for each pair of classes. Only "log" and "softmax" have ``predict_proba``.
    alpha : float or "auto", default="auto"
        Strength of the penalty, independent of n. "auto" compares penalties by the squared error of
        the scores on rows that are left out one at a time, or held out if there are more than 8,192
        rows. The C of an SVM is 1 / (2 n alpha).
    solver : str or Solver, default="auto"
        "direct", "pcg", "newton", "dual_cd", "sarah", "sgd" or "pegasos", which penalizes the
        intercept. "auto" chooses one of the first four by the loss and gives its reason in
        ``solution_.message``. The exact model with the squared loss has its own solver. "l1_cd"
        replaces the penalty by an L1 norm or an elastic net, so that few features are used; it
        needs a numeric ``alpha``.
    fit_intercept : bool, default=True
        Whether to fit the unpenalized constant b.
    class_weight : dict, "balanced" or None, default=None
        Factors for the weights of the rows of each class. "balanced" gives every class the same
        total weight.
    tol, max_iter, warm_start, early_stopping, validation_fraction
        Options of iterative solvers, as in `KernelRegressor`.
    memory_limit, time_limit, checkpoint, n_jobs, verbose, random_state
        As in `KernelRegressor`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels, sorted.
    kernel_, approximation_, alpha_, certificate_, coef_, intercept_, n_active_, n_iter_, solution_
        As in `KernelRegressor`.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from skimp import KernelClassifier
    >>> X, y = make_moons(5000, noise=0.2, random_state=0)
    >>> model = KernelClassifier(approximation=100, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.96)
    True
    """

    rules: ClassVar[dict[str, Rule]] = {
        **KernelMachine.rules,
        "class_weight": CLASS_WEIGHT,
    }

    classes: ClassVar[bool] = True

    def __init__(
        self,
        kernel: Kernel | str = "auto",
        *,
        approximation: FeatureMap | int | str | None = "auto",
        loss: Loss | str = "squared_hinge",
        alpha: float | str = "auto",
        solver: Solver | str = "auto",
        fit_intercept: bool = True,
        class_weight: dict[Any, float] | str | None = None,
        tol: float | None = None,
        max_iter: int | None = None,
        warm_start: bool = False,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        memory_limit: int | str | None = None,
        time_limit: float | None = None,
        checkpoint: str | PathLike[str] | Checkpoint | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: RandomState = None,
    ):
        self.kernel = kernel
        self.approximation = approximation
        self.loss = loss
        self.alpha = alpha
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.memory_limit = memory_limit
        self.time_limit = time_limit
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @available_unless(lacks_partial_fit)
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from more rows.

        The first call fixes everything but the coefficients: kernel, bandwidth, landmarks or random
        features, and penalty, given or chosen from its rows. Later calls only add rows. With the
        solver "direct", the model equals that of all rows at once, to rounding. See
        :doc:`/streams`.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            New rows.
        y : array of shape (n,)
            Their labels. `~skimp.data.Rows` hold their own.
        classes : array of shape (n_classes,), optional
            All labels that may occur in any call. Required in the first call.
        sample_weight : array of shape (n,), optional
            Weights of the rows, relative to those of all calls.

        Returns
        -------
        self
        """
        given = self._listed_classes(classes, first=not self._is_learning)

        def encode(spec: Spec, rows: Rows, context: Context) -> Targets:
            spec.loss.check_classes(len(given))
            return self._encode_given(rows, given, context, joint=spec.loss.joint)

        return self._learn(X, y, sample_weight, encode)

    def _encode(self, spec: Spec, rows: Rows, context: Context) -> Targets:
        targets = self._encode_labels(rows, context, joint=spec.loss.joint)
        spec.loss.check_classes(len(self.classes_))
        return targets

    @property
    def _fitted_loss(self) -> Loss | None:
        return self.fitted_.spec.loss if "fitted_" in vars(self) else None
