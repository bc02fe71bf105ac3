"""Base class of models that learn one row after another."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from skimp._core._random import as_generator
from skimp._core._types import Array, Matrix, RandomState
from skimp._params._memory import MEMORY_LIMIT, parse_bytes
from skimp._params._parametrized import Parametrized, all_or_nothing
from skimp._params._rules import (
    BOOLEAN,
    N_JOBS,
    RANDOM_STATE,
    Rule,
    broken,
    check_params,
    integer,
    is_auto,
)
from skimp.data import Context, Reporting, Rows, as_rows
from skimp.estimators._available import available_unless
from skimp.estimators._file_predictor import FilePredictor
from skimp.estimators._labels import Labelled, lacks_partial_fit
from skimp.estimators._targets import Distances, Targets, median_target
from skimp.features import FeatureMap
from skimp.kernels import Kernel, bandwidth_rules
from skimp.losses import Loss, as_loss
from skimp.solvers import Passes, Visits, visit_bytes

_STREAM_ALPHA = 1e-4
"""Penalty of a stream, whose length is not known."""
_LEAST_ROWS = 10
"""Rows of the first call of a stream below which a bandwidth from them is often far off."""

Outputs: TypeAlias = Callable[[Matrix], Array]
"""Returns the outputs at a block of rows."""
Encode: TypeAlias = Callable[[Rows, Context], Targets]
"""Finds the encoding of targets."""


class RowLearner(ABC):
    """The state of a model that learns from one row after another.

    A subclass sets the attributes, and implements `visit` and `predict`. ``visit`` may replace
    attributes, but must not change arrays that it did not create since the last `copy`, because a
    failed call restores the model before it.
    """

    seed: int
    """Seed of the order of the rows."""
    n_outputs: int
    """Number of columns of the targets."""
    n_passes: int = 0
    """Number of passes over rows, or of blocks of a stream."""
    visits: Visits
    """Weights of all rows so far."""
    threads: int
    """Number of threads that `visit` may use."""

    @abstractmethod
    def visit(self, X: Any, Y: Array, factor: Array, order: Array) -> None:
        """Learn from rows in this order.

        Parameters
        ----------
        X : array, or tuple for CSR rows and codes
            Rows in the layout of `skimp._core.loops._rows`.
        Y : array of shape (n, k)
            Their targets in float64.
        factor : array of shape (n,)
            A factor for the gradient of each row; 1 on average.
        order : array of int
            Row numbers; a row of twice the weight occurs twice as often.
        """

    @abstractmethod
    def predict(self, rows: Rows, context: Context) -> Array:
        """Return the outputs at all rows as the user passes them, of shape (n, k)."""

    def compute(self, outputs: Outputs, rows: Rows, context: Context) -> Array:
        """Return the outputs at all rows, whose blocks are shared by threads."""
        return context.compute(
            rows, lambda block, _: outputs(block.X), (self.n_outputs,), rows.dtype
        )

    def features(self, rows: Rows) -> Rows:
        """Return the rows that `visit` receives: by default the rows themselves."""
        return rows

    def begin_pass(self, number: int) -> None:  # noqa: B027  (most learners need no preparation)
        """Prepare for a pass; ``number`` counts earlier passes over the same rows in this call."""

    def describe(self) -> str:
        """Describe the state, for progress reports."""
        return ""

    def finish(self) -> Self:
        """Return the learner without what is only needed until the end of a fit."""
        return self

    def copy(self) -> Self:
        """Return a learner whose arrays can be changed; by default a copy of all arrays."""
        other = copy.copy(self)
        other.visits = copy.copy(self.visits)
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                setattr(other, name, value.copy("K"))
        return other


class OnlineMachine(FilePredictor, Reporting, Parametrized, ABC):
    """A model that learns by passes over rows in random order, and from streams.

    A subclass implements `_encode`, `_begin` and `_set_learnt`.
    """

    classes: ClassVar[bool]
    """Whether y holds classes."""

    rules: ClassVar[dict[str, Rule]] = {
        "max_iter": integer(at_least=1),
        "memory_limit": MEMORY_LIMIT,
        "n_jobs": N_JOBS,
        "verbose": integer(at_least=0) | BOOLEAN,
        "random_state": RANDOM_STATE,
    }

    max_iter: int
    memory_limit: int | str | None
    n_jobs: int | None
    verbose: int
    random_state: RandomState

    _learner: RowLearner
    _targets: Targets
    _streaming: bool
    """Whether ``partial_fit`` made the learner, so that the number of rows is unknown."""

    @abstractmethod
    def _encode(self, rows: Rows, context: Context) -> Targets:
        """Return the encoding of the targets of a fit."""

    @abstractmethod
    def _begin(self, rows: Rows, rng: np.random.Generator, context: Context) -> RowLearner:
        """Return a learner that has seen no row; ``rows`` have encoded targets."""

    @abstractmethod
    def _set_learnt(self, learner: Any) -> None:
        """Set the fitted attributes."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model by ``max_iter`` passes over the rows.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Training rows. `~skimp.data.Rows` hold their own targets and weights.
        y : array of shape (n,), or (n, k) for a regressor with k outputs
            Labels for a classifier, numbers for a regressor.
        sample_weight : array of shape (n,), optional
            Weights of the rows. A row of twice the weight is visited twice as often.

        Returns
        -------
        self
        """
        with all_or_nothing(self), self._reporting(3, X, y, sample_weight) as context:
            self._streaming = False
            learner, rows = self._open(X, y, sample_weight, self._encode, context, first=True)
            self._run(learner, rows, self.max_iter, context)
        return self

    def _penalty(self, alpha: float | str, rows: Rows, context: Context) -> float:
        """Return the penalty; "auto" is that of an SVM with C = 1, or a number for streams."""
        if not is_auto(alpha):
            return float(alpha)
        return _STREAM_ALPHA if self._streaming else 0.5 / rows.count_weighted(context)

    def _refuse_few_rows(
        self, rows: Rows, context: Context, *parts: Kernel | FeatureMap, needed: int = 1
    ) -> None:
        """Raise if the first rows of a stream are too few for the bandwidths of parts.

        ``needed`` rows are required for the first part in any case.
        """
        if not self._streaming:
            return
        found, number = rows.count_weighted(context), needed
        purpose, remedy = repr(parts[0]), "use random features, such as RandomFourier"
        rules = [repr(rule) for part in parts for rule in bandwidth_rules(part).values()]
        if rules and needed < _LEAST_ROWS:
            number, purpose = _LEAST_ROWS, f"gamma={rules[0]}"
            remedy = "give gamma as a number, such as Gaussian(0.5)"
        if found < number:
            raise ValueError(
                f"{type(self).__name__}: the first call of partial_fit needs at least {number} "
                f"rows for {purpose}, found {found}: pass more rows in the first call, or {remedy}."
            )

    def _checked_loss(self, loss: Loss | str) -> Loss:
        """Return a loss as an object; raise if it is not for the targets of the machine."""
        owner = type(self).__name__
        checked = as_loss(loss, owner=owner)
        check_params(checked)
        if checked.labels and not self.classes:
            wording = "a loss for numbers, such as 'squared', 'huber' or 'quantile'"
            raise broken(owner, "loss", wording, loss)
        return checked

    @property
    def _is_learning(self) -> bool:
        """Whether the model has been fitted; ``partial_fit`` then continues."""
        return "_learner" in vars(self)

    def _learn(self, X: Any, y: Any, sample_weight: Any, encode: Encode) -> Self:
        """Learn from more rows; the first call encodes the targets with ``encode``."""
        first = not self._is_learning
        with all_or_nothing(self), self._reporting(3, X, y, sample_weight) as context:
            self._streaming = first or self._streaming
            learner, rows = self._open(X, y, sample_weight, encode, context, first=first)
            self._run(learner, rows, 1, context)
        return self

    def _open(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        encode: Encode,
        context: Context,
        *,
        first: bool,
    ) -> tuple[RowLearner, Rows]:
        """Check parameters and data; return a learner, and the rows with encoded targets."""
        numbers = not self.classes
        with context.phase("read", unit="rows") as reading:
            check_params(self)
            checks = {"multi_output": numbers, "y_numeric": numbers}
            rows = as_rows(self, X, y, sample_weight, reset=first, **checks)
            if first:
                self._targets = encode(rows, context)
            else:
                self._targets.check(rows, context)
            reading.result = f"{rows.n_rows:,} rows of {rows.n_features:,} columns"
        rows = rows.with_targets(self._targets).labelled_as(not numbers)
        if first:
            with context.phase("prepare"):
                learner = self._begin(rows, as_generator(self.random_state), context)
            learner.visits = Visits()
            learner.n_outputs = self._targets.n_outputs
        else:
            learner = self._learner.copy()
        return learner, rows

    def _run(self, learner: RowLearner, rows: Rows, n_passes: int, context: Context) -> None:
        """Pass over the rows, and set the fitted attributes."""
        room, learner.threads = parse_bytes(self.memory_limit), context.threads
        with context.phase("learn", unit="passes", total=n_passes) as learning:
            features, seed = learner.features(rows), learner.seed
            beside = visit_bytes(learner.n_outputs)
            passes = Passes(
                features, "reshuffled", seed, room, context, learner.visits, beside=beside
            )
            for number in range(n_passes):
                learner.begin_pass(number)
                passes.run(learner.n_passes, learner.visit)
                learner.n_passes += 1
                if learning.advance(learner.describe()):
                    break
            learning.result = learner.describe()
        self._learner = learner = learner.finish()
        self.n_iter_ = learner.n_passes
        self._set_learnt(learner)

    def _outputs(self, X: Any) -> Array:
        """Return the outputs at each row, of shape (n, k)."""
        check_is_fitted(self)
        F = self._learner.predict(as_rows(self, X, reset=False), Context(self.n_jobs))
        F += np.asarray(self._targets.shift, F.dtype)
        return F

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags of supported input."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = not self.classes
        return tags


class OnlineClassifier(Labelled, OnlineMachine, ABC):
    """Base class of classifiers that learn one row after another."""

    classes: ClassVar[bool] = True

    @property
    @abstractmethod
    def _joint(self) -> bool:
        """Whether two classes have two scores."""

    def _encode(self, rows: Rows, context: Context) -> Targets:
        return self._encode_labels(rows, context, joint=self._joint)

    @available_unless(lacks_partial_fit)
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from more rows, in one pass.

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

        def encode(rows: Rows, context: Context) -> Targets:
            return self._encode_given(rows, given, context, joint=self._joint)

        return self._learn(X, y, sample_weight, encode)


class OnlineRegressor(RegressorMixin, OnlineMachine, ABC):
    """Base class of regressors that learn one row after another; y is centred at its median."""

    classes: ClassVar[bool] = False
    _targets: Distances

    def _encode(self, rows: Rows, context: Context) -> Distances:
        single, middle = median_target(rows, type(self).__name__, context)
        return Distances(middle, single, type(self).__name__)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows, in one pass.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            New rows.
        y : array of shape (n,) or (n, k)
            Their targets. `~skimp.data.Rows` hold their own.
        sample_weight : array of shape (n,), optional
            Weights of the rows, relative to those of all calls.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight, self._encode)

    def predict(self, X: Any) -> Array:
        """Return the fitted function at each row.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Rows with the columns of ``fit``.

        Returns
        -------
        array of shape (n,) or (n, k)
            In the dtype of the rows.
        """
        F = self._outputs(X)
        return F[:, 0] if self._targets.single else F
