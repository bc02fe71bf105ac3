"""Semi-supervised factorization of a kernel's feature space."""

from typing import Any, ClassVar, Self, final

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted

from skimp._core._linalg import solve_positive
from skimp._core._random import as_generator, draw_seed
from skimp._core._threads import single_threaded_blas
from skimp._core._types import Array, RandomState
from skimp._core._warn import warn_user
from skimp._params._memory import MEMORY_LIMIT, parse_bytes, require_memory
from skimp._params._parametrized import Parametrized, all_or_nothing
from skimp._params._rules import (
    BOOLEAN,
    N_JOBS,
    NONE,
    RANDOM_STATE,
    Rule,
    broken,
    check_params,
    instance,
    integer,
    number,
    one_of,
)
from skimp.budgets import Selector
from skimp.data import Context, Reporting, Rows, as_rows, no_rows
from skimp.estimators._available import available_unless
from skimp.estimators._columns import warn_of_columns
from skimp.estimators._factor_learners import BlockLearner, FactorLearner, Setting, StepLearner
from skimp.estimators._factors import Weighting
from skimp.estimators._file_predictor import FilePredictor
from skimp.estimators._labels import CLASS_WEIGHT, lacks_partial_fit
from skimp.estimators._partial_labels import PartiallyLabelled, PartialTargets, check_partial
from skimp.features import FeatureMap, FileTransformer, Nystroem, mean_length
from skimp.kernels import Kernel, as_kernel, has_flag

_COMPONENTS = 100
"""Default length of codes."""


@final
class KernelFactorization(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    PartiallyLabelled,
    FilePredictor,
    FileTransformer,
    Reporting,
    Parametrized,
):
    r"""Codes of rows from many rows and few labels: semi-supervised kernel factorization (SSOKMF).

    Rows in feature space and their labels are explained by the same r numbers per row, its code h:
    :math:`\phi(x) \approx \phi(B) W_x h` and :math:`y \approx W_y h`. With the weights w of rows, m
    landmarks B and labels for some rows t, the objective is

    .. math::
        \frac{1}{2} \sum_i w_i \frac{\|\phi(x_i) - \phi(B) W_x h_i\|^2}{s} + \frac{\beta}{2}
        \sum_t w_t \|y_t - W_y h_t\|^2 + \frac{\lambda_1}{2} \|\phi(B) W_x\|^2 +
        \frac{\lambda_2}{2} \|W_y\|^2 + \frac{\lambda_3}{2} \sum_i w_i \|h_i\|^2

    where s is the mean of k(x, x). Rows without a label take part in the first and the last term.
    Labels y are one-hot: 1 for the class of a row and 0 for the others.

    The codes of new rows ignore labels. `predict` uses a ridge regression of the labels on such
    codes. Its penalty, and the number of components that it uses, minimize the error of generalized
    cross-validation. If there are at least 20 labelled rows for each effective parameter, linear
    discriminant analysis turns its estimates of labels into log probabilities. With
    ``solver="sgd"``, the estimates are :math:`W_y h`, as published.

    The default solver computes the best codes for given factors, and the best factors for given
    codes, in turns. Codes are linear in the features and labels, so that sums of products of the m
    features over the rows suffice. They take O(n m (d + m)) time and O(m^2) memory, the start takes
    O(m^3) time, and an iteration O(m^2 r), whatever the number of rows.

    Parameters
    ----------
    n_components : int or None, default=None
        Length r of the codes, at most the number of features. A classification needs several codes
        per class. None means 100, or twice the number of labels if that is more.
    kernel : Kernel or str, default="rbf"
        The kernel, positive definite.
    budget : int, default=1000
        Number of landmarks m.
    selector : Selector or str, default="kmeans"
        How to choose the landmarks. Selectors that use labels put rows without a label in one
        class.
    approximation : FeatureMap or None, default=None
        A feature map to use instead of ``Nystroem`` with these landmarks, which then have no
        effect. `~skimp.features.AnchorGraph` follows clusters in the data, and needs fewer labels.
    label_weight : float, default=1.0
        Weight :math:`\beta` of the labels' errors.
    penalty_basis, penalty_labels, penalty_codes : float, default=0.1
        Penalties :math:`\lambda_1, \lambda_2, \lambda_3`, greater than 0. The first two count once,
        not per row. Only products matter: :math:`\lambda_1 \lambda_3` shrinks the basis, and
        :math:`\lambda_2 \lambda_3` the label weights.
    class_weight : dict, "balanced" or None, default=None
        Factors for the weights of labelled rows of each class.
    solver : "alternating" or "sgd", default="alternating"
        "sgd" takes stochastic gradient steps on mini-batches, as published. It needs less memory if
        there are many features, and far more time.
    batch_size : int, default=128
        Number of rows in a mini-batch of "sgd".
    tol : float, default=1e-5
        Stop if five iterations decrease the objective by less than this factor of it.
    max_iter : int, default=200
        Maximum number of iterations; of passes over the rows for "sgd".
    memory_limit : int or str, default=None
        Maximum memory besides the rows, such as "2GB"; None is half of the machine's.
    n_jobs : int or None, default=None
        Number of threads; None uses all available cores.
    verbose : int, default=0
        Whether to report progress.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the landmarks, and of the steps of "sgd".

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels, sorted; the numbers of the columns for label indicators.
    approximation_ : FeatureMap
        The fitted map, with ``kernel_`` and ``landmarks_``.
    kernel_ : Kernel or None
        Kernel with numeric parameters.
    basis_weights_ : array of shape (m, r)
        :math:`W_x`: one row per landmark in ``approximation_.landmarks_``, or per feature of a map
        that has no landmarks.
    label_weights_ : array of shape (n_classes, r)
        :math:`W_y`.
    coef_, intercept_ : arrays of shape (n_classes, r) and (n_classes,)
        Coefficients of codes, and constants, in the scores of `decision_function`.
    objective_history_ : tuple of float
        The objective of each iteration; of the last call, after ``partial_fit``. For "sgd", mean
        over a pass.
    n_iter_ : int
        Number of iterations.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Castellanos (2021), Scalable kernel methods using randomized numerical linear algebra, section
    4.2, eq. 4-16. There, the penalty of the basis is :math:`\|W_x\|^2`, which depends on how close
    landmarks are to each other, and s is 1.

    Vanegas, Escalante and Gonzalez (2018), Scalable kernel-based semi-supervised learning with
    online matrix factorization.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from skimp import KernelFactorization
    >>> from skimp.features import AnchorGraph
    >>> X, y = make_moons(2000, noise=0.08, random_state=0)
    >>> some = np.full(2000, -1)
    >>> some[::200] = y[::200]  # 10 labels
    >>> graph = AnchorGraph(200, random_state=0)
    >>> model = KernelFactorization(10, approximation=graph, random_state=0).fit(X, some)
    >>> bool(model.score(X, y) > 0.95)
    True
    >>> model.transform(X[:3]).shape
    (3, 10)
    """

    rules: ClassVar[dict[str, Rule]] = {
        "n_components": NONE | integer(at_least=1),
        "budget": integer(at_least=1),
        "approximation": NONE | instance(FeatureMap, "a feature map"),
        "label_weight": number(above=0),
        "penalty_basis": number(above=0),
        "penalty_labels": number(above=0),
        "penalty_codes": number(above=0),
        "class_weight": CLASS_WEIGHT,
        "solver": one_of("alternating", "sgd"),
        "batch_size": integer(at_least=1),
        "tol": number(at_least=0),
        "max_iter": integer(at_least=1),
        "memory_limit": MEMORY_LIMIT,
        "n_jobs": N_JOBS,
        "verbose": integer(at_least=0) | BOOLEAN,
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: Kernel | str = "rbf",
        budget: int = 1000,
        selector: Selector | str = "kmeans",
        approximation: FeatureMap | None = None,
        label_weight: float = 1.0,
        penalty_basis: float = 0.1,
        penalty_labels: float = 0.1,
        penalty_codes: float = 0.1,
        class_weight: dict[Any, float] | str | None = None,
        solver: str = "alternating",
        batch_size: int = 128,
        tol: float = 1e-5,
        max_iter: int = 200,
        memory_limit: int | str | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: RandomState = None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.budget = budget
        self.selector = selector
        self.approximation = approximation
        self.label_weight = label_weight
        self.penalty_basis = penalty_basis
        self.penalty_labels = penalty_labels
        self.penalty_codes = penalty_codes
        self.class_weight = class_weight
        self.solver = solver
        self.batch_size = batch_size
        self.tol = tol
        self.max_iter = max_iter
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit codes, basis and labels.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Training rows. `~skimp.data.Rows` hold their own labels and weights.
        y : array of shape (n,) or (n, n_labels)
            Labels, with -1 for rows without a label. Or label indicators, a column of 0 and 1 per
            label, with -1 or NaN in all columns for rows without labels.
        sample_weight : array of shape (n,), optional
            Weights of the rows. For the same landmarks, a weight of 2 equals a row given twice.

        Returns
        -------
        self
        """
        with all_or_nothing(self), self._reporting(4, X, y, sample_weight) as context:
            rows = self._read(X, y, sample_weight, True, context)
            learner = self._begin(rows, self._encode(rows, context), context)
            self._run(learner, rows, context, stream=False)
        return self

    @available_unless(lacks_partial_fit)
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from more rows.

        The first call chooses the landmarks from its rows. The "alternating" solver keeps sums, and
        fits all rows so far; "sgd" passes over the new rows once.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            New rows.
        y : array of shape (n,) or (n, n_labels)
            Labels as in `fit`.
        classes : array of shape (n_classes,), optional
            All labels that may occur in any call, without -1. Required in the first call, unless y
            are label indicators.
        sample_weight : array of shape (n,), optional
            Weights of the rows.

        Returns
        -------
        self
        """
        first = "_learner" not in vars(self)
        with all_or_nothing(self), self._reporting(4, X, y, sample_weight) as context:
            rows = self._read(X, y, sample_weight, first, context)
            if first:
                learner = self._begin(rows, self._encode_listed(rows, classes, context), context)
            else:
                learner = self._learner
                self._targets.check(rows, context)
                if classes is not None:
                    self._listed_classes(classes, first=False)
            self._run(learner, rows, context, stream=True)
        return self

    def _read(self, X: Any, y: Any, sample_weight: Any, reset: bool, context: Context) -> Rows:
        """Check the parameters and the data; labels are not yet encoded."""
        with context.phase("read", unit="rows") as reading:
            check_params(self)
            owner = type(self).__name__
            if not isinstance(X, Rows):
                y = check_partial(y, owner)
                check_consistent_length(X, y, sample_weight)
            rows = as_rows(self, X, y, sample_weight, reset=reset)
            first = next(rows.blocks(), None)
            if first is None:
                raise no_rows()
            if first.y is None:
                raise ValueError(f"{owner} requires y to be passed, but the rows have none.")
            reading.result = f"{rows.n_rows:,} rows of {rows.n_features:,} columns"
        return rows

    def _begin(self, rows: Rows, targets: PartialTargets, context: Context) -> FactorLearner:
        """Fit the map, and return a learner that has seen no row."""
        rng = as_generator(self.random_state)
        chosen, size = self._as_map(), self.n_components
        size = max(_COMPONENTS, 2 * targets.n_outputs) if size is None else int(size)
        width = chosen.planned_width(rows) + targets.n_outputs
        self._require_memory(width, size, context)
        with context.phase(chosen.unit):
            own = chosen.random_state
            kernel = as_kernel(self.kernel, owner=type(self).__name__)
            if chosen.kernelled:
                used = chosen.chosen_kernel(kernel)
                warn_of_columns(type(self).__name__, rows, used, context)
            # selectors may use labels
            coded = rows.with_targets(targets.codes).labelled_as(True)
            source = rng if own is None else as_generator(own)
            feature_map = chosen.fit_rows(coded, source, kernel, context)
        setting = Setting(
            feature_map=feature_map,
            unit=mean_length(feature_map, rows.with_targets(targets), context),
            targets=targets,
            weighting=Weighting(
                basis=float(self.penalty_basis),
                labels=float(self.penalty_labels),
                codes=float(self.penalty_codes),
                label=float(self.label_weight),
            ),
            n_components=min(size, feature_map.width),
            tol=float(self.tol),
            max_iter=int(self.max_iter),
        )
        if self.solver == "alternating":
            return BlockLearner(setting)
        room = parse_bytes(self.memory_limit)
        seed = draw_seed(rng)
        return StepLearner(setting, seed=seed, batch_size=int(self.batch_size), room=room)

    def _require_memory(self, width: int, size: int, context: Context) -> None:
        """Raise if sums over this many features and labels exceed the memory limit."""
        columns = min(size, width) if self.solver == "sgd" else width
        require_memory(
            8 * (8 + context.threads) * width * columns,
            self.memory_limit,
            f"a factorization of {width:,} features and labels",
            "choose a smaller budget",
        )

    def _as_map(self) -> FeatureMap:
        """Return an unfitted map."""
        if self.approximation is None:
            return Nystroem(budget=int(self.budget), selector=self.selector)
        if self.approximation.codes:
            wording = "None or a map whose features are numbers"
            raise broken(type(self).__name__, "approximation", wording, self.approximation)
        chosen = self.approximation.resized(None)
        chosen.check()
        return chosen

    def _run(self, learner: FactorLearner, rows: Rows, context: Context, *, stream: bool) -> None:
        """Learn from the rows, and set the fitted attributes."""
        learner = learner.learn(rows, context, stream=stream)
        if not learner.converged:
            warn_user(
                f"{type(self).__name__}: the objective still decreased after "
                f"{len(learner.history)} iterations: raise max_iter or tol.",
                ConvergenceWarning,
            )
        given, factors = learner.setting, learner.fitted
        self._learner = learner
        self.approximation_, self.kernel_ = given.feature_map, given.feature_map.kernel_
        # codes are linear in features: h = (P^T P + lambda_3)^-1 P^T z
        with single_threaded_blas():
            T = solve_positive(factors.inner(given.weighting, labelled=False), factors.P.T)[0]
            self._codes = given.feature_map.combine(T.T / np.sqrt(given.unit))
            basis = given.feature_map.combine(factors.P * np.sqrt(given.unit))
        self.basis_weights_ = basis.root
        self.label_weights_ = factors.V
        self._labels = learner.label_model()
        if self._labels is not None:
            self.coef_, self.intercept_ = self._labels.coef, self._labels.intercept
        self.objective_history_, self.n_iter_ = learner.history, len(learner.history)

    def transform(self, X: Any) -> Array:
        """Return the codes of rows, which ignore labels.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Rows with the columns of ``fit``.

        Returns
        -------
        array of shape (n, r)
        """
        check_is_fitted(self)
        rows, r = as_rows(self, X, reset=False), self._codes.width
        return Context(self.n_jobs).compute(
            rows.mapped(self._codes), lambda block, _: block.X, (r,), self._codes.dtype
        )

    def inverse(self, H: Any) -> Array:
        r"""Return points of the feature space for codes: the coefficients :math:`W_x h`.

        The point of a code is :math:`\sum_j (W_x h)_j \phi(b_j)`, with landmarks
        ``approximation_.landmarks_.points``. Its inner product with a row x is
        :math:`k(x, B) W_x h`.

        Parameters
        ----------
        H : array of shape (n, r)
            Codes.

        Returns
        -------
        array of shape (n, m)
            One coefficient per row of ``basis_weights_``.
        """
        check_is_fitted(self)
        H = check_array(H, input_name="H", dtype=[np.float64, np.float32])
        r = self.basis_weights_.shape[1]
        if H.shape[1] != r:
            raise ValueError(f"H must have {r} columns, as many as codes, found {H.shape[1]}.")
        weights: Array = H @ self.basis_weights_.T.astype(H.dtype)
        return weights

    def _scores(self, X: Any) -> Array:
        """Return the score of each label."""
        if self._labels is None:
            raise NotFittedError(
                f"{type(self).__name__} has seen no labels so far: pass labelled rows to "
                "partial_fit."
            )
        H = self.transform(X)
        scores: Array = H @ self.coef_.T.astype(H.dtype) + self.intercept_.astype(H.dtype)
        return scores

    @property
    def _targets(self) -> PartialTargets:
        return self._learner.setting.targets

    @property
    def _posterior(self) -> bool:
        return self._labels is not None and self._labels.posterior

    @property
    def _n_features_out(self) -> int:
        return self._codes.width

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags of supported input."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        kernel = self.kernel
        if self.approximation is not None and self.approximation.kernel is not None:
            kernel = self.approximation.kernel
        tags.input_tags.positive_only = has_flag(kernel, "needs_nonnegative")
        tags.input_tags.string = has_flag(kernel, "takes_objects")
        tags.classifier_tags.multi_label = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
