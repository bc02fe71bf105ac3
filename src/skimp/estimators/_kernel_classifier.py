"""Kernel classification on a budget."""

from collections import Counter
from typing import Any, ClassVar, Self, final

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from skimp._core._types import Array, RandomState
from skimp._params._rules import NONE, Rule, broken, instance, number, one_of
from skimp.choice import Spec
from skimp.data import Context, Rows
from skimp.estimators._available import available_unless
from skimp.estimators._kernel_machine import KernelMachine, lacks_partial_fit
from skimp.estimators._targets import Sides, Targets, count_labels
from skimp.features import FeatureMap
from skimp.kernels import Kernel
from skimp.losses import Loss, as_loss
from skimp.solvers import Solver

_FACTOR = number(above=0, at_most=1e100)


def _lacks_probabilities(model: Any) -> str:
    """Return why a classifier has no probabilities, or ''."""
    # a fitted model keeps the loss of its fit
    loss = model.fitted_.spec.loss if "fitted_" in vars(model) else model.loss
    if as_loss(loss, owner=type(model).__name__).probabilistic:
        return ""
    return (
        f"needs loss='log' or loss='softmax', got loss={model.loss!r}: fit with one of them, or "
        "calibrate this loss with sklearn.calibration.CalibratedClassifierCV."
    )


@final
class KernelClassifier(ClassifierMixin, KernelMachine):
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
    memory_limit, time_limit, n_jobs, verbose, random_state
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
        "class_weight": NONE | one_of("balanced") | instance(dict, "a dict of class weights"),
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
        given = np.unique([] if classes is None else np.asarray(classes))
        if self._is_learning:
            if classes is not None and not np.array_equal(given, self.classes_):
                raise ValueError(
                    f"classes must be those of the first call, {self.classes_.tolist()}, found "
                    f"{given.tolist()}."
                )
        elif len(given) < 2 or (given.dtype.kind == "f" and not np.isfinite(given).all()):
            raise ValueError(
                "classes must list all labels of later rows, at least two, in the first call of "
                f"partial_fit, such as classes=[0, 1], found {classes!r}."
            )

        def encode(spec: Spec, rows: Rows, context: Context) -> Targets:
            targets = self._encode_classes(spec, rows, given, Counter(given.tolist()))
            targets.check(rows, context)
            return targets

        return self._learn(X, y, sample_weight, encode)

    def _encode(self, spec: Spec, rows: Rows, context: Context) -> Targets:
        totals = count_labels(rows, spec.owner, context)
        classes = np.array(sorted(totals))
        if len(classes) < 2:
            raise ValueError(
                "y must hold at least two classes with positive weight, found one class: "
                f"{classes.tolist()[0]!r}."
            )
        return self._encode_classes(spec, rows, classes, totals)

    def _encode_classes(
        self, spec: Spec, rows: Rows, classes: Array, totals: Counter[Any]
    ) -> Targets:
        """Set the classes, and return the encoding of y."""
        spec.loss.check_classes(len(classes))
        # repeat each label: scikit-learn's check warns if labels are nearly unique
        check_classification_targets(np.repeat(classes, 3))
        factors = None if self.class_weight is None else self._class_factors(totals)
        self.classes_ = classes
        one_column = len(classes) == 2 and not spec.loss.joint
        return Sides(classes, one_column, factors, rows.dtype, spec.owner)

    def _class_factors(self, totals: Counter[Any]) -> Array:
        """Return the weight factor of each class, in the order of the labels."""
        labels = sorted(totals)
        assert self.class_weight is not None, "without it there are no factors"
        if isinstance(self.class_weight, str):
            share = sum(totals.values()) / len(labels)
            return np.array([share / totals[label] for label in labels])
        unknown = [label for label in self.class_weight if label not in totals]
        # a fold may lack some of the named classes; a misspelt name is an error
        if unknown and set(labels) - set(self.class_weight):
            raise ValueError(f"class_weight must name classes of y, found {unknown}.")
        factors = [self.class_weight.get(label, 1.0) for label in labels]
        if not all(_FACTOR.test(factor) for factor in factors):
            raise broken(
                type(self).__name__, "class_weight", f"{_FACTOR.wording} each", self.class_weight
            )
        return np.array(factors, np.float64)

    def decision_function(self, X: Any) -> Array:
        """Return the score of each row for each class.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Rows with the columns of ``fit``.

        Returns
        -------
        array of shape (n,) or (n, n_classes)
            One column per class. For two classes one number, positive for the second class.
        """
        F = self._outputs(X)
        if F.shape[1] == 1:
            return F[:, 0]
        return F[:, 1] - F[:, 0] if F.shape[1] == 2 else F

    def predict(self, X: Any) -> Array:
        """Return the label of each row.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Rows with the columns of ``fit``.

        Returns
        -------
        array of shape (n,)
        """
        F = self.decision_function(X)
        codes = (F > 0).astype(np.intp) if F.ndim == 1 else F.argmax(axis=1)
        labels: Array = self.classes_[codes]
        return labels

    @available_unless(_lacks_probabilities)
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, for the losses "log" and "softmax".

        If several classes were fitted one against the rest, their probabilities are divided by
        their sum, as in scikit-learn.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Rows with the columns of ``fit``.

        Returns
        -------
        array of shape (n, n_classes)
            In the order of ``classes_``. `predict` returns the most probable class.
        """
        F = self._outputs(X)
        if F.shape[1] == 1:
            P = expit(np.hstack([-F, F]))
        elif self.fitted_.spec.loss.joint:
            P = softmax(F, axis=1)
        else:
            P = expit(F)
            # if all probabilities underflow to zero, compare the log odds
            P = np.where(P.sum(axis=1, keepdims=True) > 0, P, softmax(F, axis=1))
            P /= P.sum(axis=1, keepdims=True)
        probabilities: Array = P
        return probabilities

    @available_unless(_lacks_probabilities)
    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithm of `predict_proba`.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Rows with the columns of ``fit``.

        Returns
        -------
        array of shape (n, n_classes)
        """
        with np.errstate(divide="ignore"):
            log_probabilities: Array = np.log(self.predict_proba(X))
        return log_probabilities
