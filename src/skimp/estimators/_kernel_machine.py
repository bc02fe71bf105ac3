"""Base class of the classifier and the regressor."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from numbers import Integral
from os import PathLike
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from skimp._core._types import Array, RandomState
from skimp._params._memory import MEMORY_LIMIT
from skimp._params._parametrized import Parametrized, all_or_nothing
from skimp._params._rules import (
    BOOLEAN,
    FRACTION,
    N_JOBS,
    NONE,
    RANDOM_STATE,
    Rule,
    broken,
    check_params,
    instance,
    integer,
    is_auto,
    number,
    one_of,
)
from skimp.choice import Spec, Task
from skimp.data import CHECKPOINT, Checkpoint, Context, Reporting, Rows, as_rows
from skimp.estimators._certificate import Certificate
from skimp.estimators._file_predictor import FilePredictor
from skimp.estimators._fit_machine import fit_machine
from skimp.estimators._fitted import Fitted
from skimp.estimators._learn_machine import learn_machine
from skimp.estimators._resuming import open_journal
from skimp.estimators._solving import make_solver
from skimp.estimators._targets import Targets
from skimp.features import MAP_NAMES, TRANSFORMER, FeatureMap, Nystroem, as_map
from skimp.kernels import Kernel, as_kernel, has_flag
from skimp.losses import Loss, as_loss
from skimp.solvers import Solver, as_solver, incremental_solvers

_Encode: TypeAlias = Callable[[Spec, Rows, Context], Targets]
"""Finds the encoding of targets."""


class KernelMachine(FilePredictor, Reporting, Parametrized, ABC):
    """A model that is a weighted sum of the features of an approximated kernel, plus a constant.

    A subclass sets `classes`, and says in `_encode` how y becomes numbers.
    """

    rules: ClassVar[dict[str, Rule]] = {
        "approximation": NONE
        | integer(at_least=1)
        | one_of("auto")
        | MAP_NAMES
        | instance(FeatureMap, "a feature map")
        | TRANSFORMER,
        "alpha": number(above=0) | one_of("auto"),
        "fit_intercept": BOOLEAN,
        "tol": NONE | number(above=0),
        "max_iter": NONE | integer(at_least=1),
        "warm_start": BOOLEAN,
        "early_stopping": BOOLEAN,
        "validation_fraction": FRACTION,
        "checkpoint": CHECKPOINT,
        "memory_limit": MEMORY_LIMIT,
        "time_limit": NONE | number(above=0),
        "n_jobs": N_JOBS,
        "verbose": integer(at_least=0) | BOOLEAN,
        "random_state": RANDOM_STATE,
    }
    classes: ClassVar[bool]
    """Whether y holds classes."""

    kernel: Kernel | str
    approximation: FeatureMap | int | str | None
    loss: Loss | str
    alpha: float | str
    solver: Solver | str
    fit_intercept: bool
    tol: float | None
    max_iter: int | None
    warm_start: bool
    early_stopping: bool
    validation_fraction: float
    checkpoint: str | PathLike[str] | Checkpoint | None
    memory_limit: int | str | None
    time_limit: float | None
    n_jobs: int | None
    verbose: int
    random_state: RandomState

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Training rows. `~skimp.data.Rows` hold their own targets and weights.
        y : array of shape (n,), or (n, k) for a regressor with k outputs
            Labels for a classifier, numbers for a regressor.
        sample_weight : array of shape (n,), optional
            Weights of the rows. For the same landmarks, a weight of 2 equals a row given twice, and
            a weight of 0 an absent row.

        Returns
        -------
        self
        """
        with all_or_nothing(self), self._reporting(6, X, y, sample_weight) as context:
            task = self._read(X, y, sample_weight, context, self._encode)
            task, journal = open_journal(self, task)
            self._set_fitted(fit_machine(task, vars(self).get("fitted_")))
            if journal is not None:
                journal.finish()
        return self

    @property
    def _is_learning(self) -> bool:
        """Whether the model was fitted by ``partial_fit``, and can learn from more rows."""
        return "fitted_" in vars(self) and self.fitted_.stream is not None

    def _learn(self, X: Any, y: Any, sample_weight: Any, encode: _Encode) -> Self:
        """Learn from more rows; the first call encodes the targets with ``encode``."""
        before: Fitted | None = vars(self).get("fitted_")
        with all_or_nothing(self), self._reporting(5, X, y, sample_weight) as context:
            task = self._read(X, y, sample_weight, context, encode, before)
            self._set_fitted(learn_machine(task, before))
        return self

    def _set_fitted(self, fitted: Fitted) -> None:
        """Set the attributes of a fitted model."""
        solution, kernel = fitted.solution, fitted.feature_map.kernel_
        self.fitted_ = fitted
        self.approximation_ = fitted.feature_map
        self.alpha_ = fitted.alpha
        self.coef_ = solution.coef.astype(fitted.dtype)
        self.intercept_ = solution.intercept.astype(fitted.dtype)
        self.n_active_ = int(np.count_nonzero(solution.coef.any(axis=1)))
        self.n_iter_ = solution.n_iter
        self.solution_ = solution
        # a linear model has no kernel
        self.__dict__.pop("kernel_", None)
        if kernel is not None:
            self.kernel_ = kernel

    def open_task(self, X: Any, y: Any = None, sample_weight: Any = None) -> Task:
        """Check parameters and data, and return the task of a fit without fitting.

        Parameters
        ----------
        X, y, sample_weight
            As in ``fit``.

        Returns
        -------
        Task
            The checked parameters, the rows, and the encoding of y.
        """
        # a copy records the labels and the columns, so that this object does not change
        copied: KernelMachine = clone(self)
        return copied._read(X, y, sample_weight, Context(self.n_jobs), copied._encode)

    def _read(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        context: Context,
        encode: _Encode,
        before: Fitted | None = None,
    ) -> Task:
        """Return the checked task; after the calls ``before``, with their parameters."""
        with context.phase("read", unit="rows") as reading:
            spec, numbers = self.make_spec() if before is None else before.spec, not self.classes
            if spec.loss.labels and numbers:
                raise broken(spec.owner, "loss", "a loss for numbers, such as 'squared'", self.loss)
            checks = {"multi_output": numbers, "y_numeric": numbers}
            rows = as_rows(self, X, y, sample_weight, reset=before is None, **checks)
            if before is None:
                self._targets = encode(spec, rows, context)
            else:
                self._targets.check(rows, context)
            reading.result = f"{rows.n_rows:,} rows of {rows.n_features:,} columns"
        targets = self._targets
        return Task(spec, rows, targets, targets.n_outputs, context, targets.shift)

    @abstractmethod
    def _encode(self, spec: Spec, rows: Rows, context: Context) -> Targets:
        """Return the encoding of the targets of a fit."""

    def make_spec(self) -> Spec:
        """Check the parameters and return them as objects.

        Returns
        -------
        Spec
            The checked parameters.

        Raises
        ------
        ValueError
            If a parameter is invalid; the message names it.
        """
        check_params(self)
        owner = type(self).__name__
        kernel = None
        if not is_auto(self.kernel):
            kernel = as_kernel(self.kernel, owner=owner, other="'auto'", size="approximation")
        loss = as_loss(self.loss, owner=owner)
        check_params(loss)
        given: Any = self.approximation
        approximation: FeatureMap | None = None
        if isinstance(given, Integral):
            approximation = Nystroem(budget=int(given))
        elif given is not None and not is_auto(given):
            approximation = as_map(given)
            approximation.check()
        solver = make_solver(self.solver, owner=owner, tol=self.tol, max_iter=self.max_iter)
        if is_auto(self.alpha) and not solver.ridge:
            wording = f"a number for {type(solver).__name__}: 'auto' chooses a ridge penalty"
            raise broken(owner, "alpha", wording, self.alpha)
        return Spec(
            owner=owner,
            kernel=kernel,
            approximation=approximation,
            exact=given is None,
            loss=loss,
            alpha=None if is_auto(self.alpha) else float(self.alpha),
            solver=solver,
            classes=self.classes,
            fit_intercept=self.fit_intercept,
            warm_start=self.warm_start,
            held_out=self.validation_fraction if self.early_stopping else None,
            memory_limit=self.memory_limit,
            time_limit=self.time_limit,
            random_state=self.random_state,
        )

    def _outputs(self, X: Any) -> Array:
        """Return the outputs at each row, of shape (n, k)."""
        check_is_fitted(self)
        return self.fitted_.predict(as_rows(self, X, reset=False), Context(self.n_jobs))

    @property
    def certificate_(self) -> Certificate:
        """Quality of the approximation, the choices of the fit with their reasons, and its cost.

        A `~skimp.diagnostics.Certificate`, computed on first access from a sample of rows.
        """
        check_is_fitted(self)
        return self.fitted_.certificate

    def typicality(self, X: Any) -> Array:
        """Return how typical rows are of the training data, to find rows far from all of it.

        Far from the training rows, predictions fall back to the intercept. The typicality of a row
        is the share of a sample of 1,000 training rows that are at least as far from their nearest
        neighbour in the sample, in the kernel's distance, as this row is. If new rows resemble the
        training rows, one in a hundred has a typicality below 0.01.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Rows with the columns of ``fit``.

        Returns
        -------
        array of shape (n,)
            Numbers above 0 and up to 1. Small numbers mark unusual rows.
        """
        check_is_fitted(self)
        return self.fitted_.typicality(as_rows(self, X, reset=False), Context(self.n_jobs))

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags of supported input."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = not self.classes
        given, kernel = self.approximation, self.kernel
        if isinstance(given, FeatureMap):
            kernel = kernel if given.kernel is None else given.kernel
        elif not isinstance(given, str | Integral | None) and TRANSFORMER.test(given):
            inner = get_tags(given).input_tags
            tags.input_tags.sparse = inner.sparse
            tags.input_tags.positive_only = inner.positive_only
            return tags
        if isinstance(kernel, Kernel | str) and kernel != "auto":
            tags.input_tags.positive_only = has_flag(kernel, "needs_nonnegative")
            tags.input_tags.string = has_flag(kernel, "takes_objects")
        return tags


def lacks_partial_fit(model: Any) -> str:
    """Return why a model has no ``partial_fit``, or ''."""
    if "fitted_" in vars(model) and not model._is_learning:
        return (
            "cannot continue a model of fit, which keeps no sums over its rows: pass all rows to "
            "partial_fit of an unfitted copy, sklearn.base.clone(model)."
        )
    if not as_solver(model.solver, owner=type(model).__name__).incremental:
        names = ", ".join(repr(name) for name in incremental_solvers())
        return f"needs a solver among {names}, got {model.solver!r}, which needs all rows at once."
    if model.approximation is None:
        return "needs an approximation, got None: the exact model keeps all rows."
    if model.early_stopping:
        return "needs early_stopping=False, got True: it uses all rows for learning."
    if getattr(model, "class_weight", None) == "balanced":
        return (
            "needs class_weight=None or a dict, got 'balanced', which depends on all rows: "
            "estimate the weights with sklearn.utils.class_weight.compute_class_weight."
        )
    return ""
