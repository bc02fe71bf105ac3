"""Labels of some rows: which rows have one, and how labels become numbers and back."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from operator import add
from typing import Any, ClassVar, final

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d

from skimp._core._types import Array, DType
from skimp._params._rules import broken
from skimp.data import (
    Block,
    Context,
    FilteredRows,
    Rows,
    has_weight,
    missing_entries,
    refuse_target,
)
from skimp.estimators._labels import (
    Labels,
    as_decision,
    as_logarithms,
    as_probabilities,
    nearest_probabilities,
)
from skimp.estimators._targets import Sides, Targets, count_labels

UNLABELLED = -1
"""Marks a row without a label, as in scikit-learn."""
_TEXT = str(UNLABELLED)
"""The same among texts."""
_SHARED = 0.01
"""Probability that the classes of a row share."""


def check_partial(y: Any, owner: str) -> Array:
    """Return y as an array in which labels may be missing."""
    if y is None:
        raise ValueError(
            f"{owner} requires y to be passed, but the target y is None: pass labels, with -1 for "
            "rows without a label."
        )
    refuse_target(y, numeric=False, owner=owner, partial=True)
    if isinstance(y, list | tuple) and np.asarray(y).dtype.kind in "US":
        # np.asarray would turn the mark -1 among strings into a string
        y = np.asarray(y, dtype=object)
    checked: Array = check_array(
        y, dtype=None, ensure_2d=False, ensure_all_finite=False, input_name="y"
    )
    if checked.dtype.kind == "f":
        check_array(checked, ensure_2d=False, ensure_all_finite="allow-nan", input_name="y")
    if checked.ndim == 2 and checked.shape[1] == 1:
        checked = column_or_1d(checked, warn=True)
    return checked


def has_label(y: Array) -> Array:
    """Return which entries of y, or which rows of a matrix, are labels."""
    if y.dtype.kind == "O":
        marked = np.array([v in (UNLABELLED, _TEXT) for v in y.flat], bool).reshape(y.shape)
        known = ~(marked | missing_entries(y))
    elif y.dtype.kind in "US":
        known = y != (_TEXT if y.dtype.kind == "U" else _TEXT.encode())
    else:
        known = ~missing_entries(y)
        if y.dtype.kind in "biuf":
            known &= y != UNLABELLED
    labelled: Array = np.any(known.reshape(len(y), -1), axis=1)
    return labelled


def is_labelled(block: Block) -> Array:
    """Return which rows of a block have a label."""
    assert block.y is not None, "checked before"
    return has_label(block.y)


def is_unlabelled(block: Block) -> Array:
    """Return which rows of a block have no label."""
    return ~is_labelled(block)


def label_shape(rows: Rows) -> tuple[int, ...]:
    """Return the shape of the labels of a row: () for classes."""
    y = next(rows.blocks()).y
    assert y is not None, "checked before"
    return y.shape[1:]


class PartialTargets(Targets, ABC):
    """Encoding of labels as numbers; rows without a label are NaN."""

    shift = 0.0
    classes: Array
    exclusive: ClassVar[bool]
    """Whether a row has a single label."""

    @abstractmethod
    def codes(self, y: Any, weight: Array | None) -> tuple[Array, Array | None]:
        """Return a class number for each row, for selectors; rows without a label have -1."""

    @abstractmethod
    def decide(self, F: Array) -> Array:
        """Return labels for scores."""

    @abstractmethod
    def probabilities(self, F: Array, *, posterior: bool) -> Array:
        """Return probabilities for scores: log probabilities, or estimates of labels."""

    @abstractmethod
    def decision(self, F: Array) -> Array:
        """Return scores as a user expects them."""


@final
@dataclass(frozen=True, eq=False)
class OneHot(PartialTargets):
    """One column per class: 1 for rows of the class, and 0 for others."""

    exclusive = True
    sides: Sides

    @property
    def classes(self) -> Array:  # type: ignore[override]
        return self.sides.classes

    @property
    def n_outputs(self) -> int:
        return len(self.classes)

    def __call__(self, y: Any, weight: Array | None) -> tuple[Array, Array | None]:
        known = has_label(y)
        Y = np.full((len(y), self.n_outputs), np.nan, self.sides.dtype)
        signs, factors = self.sides(y[known], None)
        Y[known] = signs > 0
        if factors is not None:
            weight = np.ones(len(y)) if weight is None else weight.copy()
            weight[known] *= factors
        return Y, weight

    def codes(self, y: Any, weight: Array | None) -> tuple[Array, Array | None]:
        Y, _ = self(y, None)
        return np.where(np.isnan(Y[:, 0]), -1, np.nan_to_num(Y).argmax(axis=1)), weight

    def check(self, rows: Rows, context: Context) -> None:
        ndim = len(label_shape(rows)) + 1
        if ndim != 1:
            raise ValueError(f"y must have one dimension, as in the first call, found {ndim}.")
        labelled = FilteredRows(rows, is_labelled)
        if has_weight(labelled):
            self.sides.check(labelled, context)

    def decide(self, F: Array) -> Array:
        labels: Array = self.classes[F.argmax(axis=1)]
        return labels

    def probabilities(self, F: Array, *, posterior: bool) -> Array:
        P = as_probabilities(F, joint=True) if posterior else nearest_probabilities(F)
        # few labels, or rows unlike all others, cannot exclude a class
        mixed: Array = (1 - _SHARED) * P + _SHARED / F.shape[1]
        return mixed

    def decision(self, F: Array) -> Array:
        return as_decision(F)


@final
@dataclass(frozen=True, eq=False)
class Indicators(PartialTargets):
    """One column per label: 1 for rows that have it, and 0 for others."""

    exclusive = False
    n_labels: int
    dtype: DType

    @property
    def classes(self) -> Array:  # type: ignore[override]
        return np.arange(self.n_labels)

    @property
    def n_outputs(self) -> int:
        return self.n_labels

    def __call__(self, y: Any, weight: Array | None) -> tuple[Array, Array | None]:
        Y = np.asarray(y, self.dtype)
        return np.where(has_label(Y)[:, None], Y, np.nan).astype(self.dtype), weight

    def codes(self, y: Any, weight: Array | None) -> tuple[Array, Array | None]:
        return np.where(has_label(np.asarray(y, self.dtype)), 0, -1), weight

    def check(self, rows: Rows, context: Context) -> None:
        shape = label_shape(rows)
        if shape != (self.n_labels,):
            raise ValueError(
                f"y must have two dimensions and {self.n_labels} columns, found shape "
                f"{(rows.n_rows, *shape)}."
            )
        none: list[float] = []
        wrong = context.map_reduce(rows, _wrong_indicators, add, none)
        if wrong:
            raise ValueError(
                "y of two dimensions must hold 0 and 1 in rows with labels, and only NaN or -1 in "
                f"rows without, found {wrong[0]:g}."
            )

    def decide(self, F: Array) -> Array:
        return (F > 0.5).astype(np.int64)

    def probabilities(self, F: Array, *, posterior: bool) -> Array:
        # least squares cannot be certain
        eps = np.finfo(F.dtype).eps
        return np.clip(F, eps, 1 - eps)

    def decision(self, F: Array) -> Array:
        return F


def _wrong_indicators(block: Block, _: object) -> list[float]:
    """Return the first entry of a block that is not an indicator, if there is one."""
    Y = np.asarray(block.y, np.float64)
    known = Y[has_label(Y)]
    wrong: list[float] = known[~np.isin(known, (0, 1))][:1].tolist()
    return wrong


class PartiallyLabelled(Labels):
    """Mixin for classifiers of which some training rows have no label."""

    _scores: Callable[[Any], Array]
    """Returns the score of each label at each row."""

    @property
    def _posterior(self) -> bool:
        """Whether the scores of a fitted model are log probabilities."""
        raise NotImplementedError

    @property
    def _targets(self) -> PartialTargets:
        """The encoding of a fitted model."""
        raise NotImplementedError

    def _encode(self, rows: Rows, context: Context) -> PartialTargets:
        """Set the classes, and return the encoding of labels."""
        shape, owner = label_shape(rows), type(self).__name__
        labelled = FilteredRows(rows, is_labelled)
        if not has_weight(labelled):
            raise ValueError(
                f"y must hold labels for some rows of positive weight, found none: {owner} learns "
                "from labels, and recipes.kernel_pca does without."
            )
        if shape:
            return self._encode_indicators(shape[0], rows, context)
        found = list(count_labels(labelled, owner, context))
        if len(found) == 1:
            raise ValueError(
                "y must hold at least two classes with positive weight, found one class: "
                f"{np.array(found).tolist()[0]!r}. The label -1 marks rows without a label."
            )
        return OneHot(self._encode_labels(labelled, context, joint=True))

    def _encode_listed(self, rows: Rows, classes: Any, context: Context) -> PartialTargets:
        """Set the classes that the user lists, and return the encoding of labels."""
        shape = label_shape(rows)
        if shape:
            return self._encode_indicators(shape[0], rows, context)
        given = self._listed_classes(classes, first=True)
        if not has_label(given).all():
            raise ValueError(
                f"classes must not hold -1, which marks rows without a label, got {given.tolist()}."
            )
        targets = OneHot(self._encode_classes(rows, given, Counter(given.tolist()), True))
        targets.check(rows, context)
        return targets

    def _encode_indicators(self, n_labels: int, rows: Rows, context: Context) -> PartialTargets:
        if self.class_weight is not None:
            wording = "None for label indicators"
            raise broken(type(self).__name__, "class_weight", wording, self.class_weight)
        targets = Indicators(n_labels, rows.dtype)
        targets.check(rows, context)
        self.classes_ = targets.classes
        return targets

    def decision_function(self, X: Any) -> Array:
        """Return the score of each row for each label.

        These are log probabilities of classes, up to a constant per row, or estimates of the
        labels, near 1 or near 0; see the description of the class.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Rows with the columns of ``fit``.

        Returns
        -------
        array of shape (n,) or (n, n_classes)
            For two classes one number, positive for the second class.
        """
        check_is_fitted(self)
        return self._targets.decision(self._scores(X))

    def predict(self, X: Any) -> Array:
        """Return the labels of rows.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Rows with the columns of ``fit``.

        Returns
        -------
        array of shape (n,), or (n, n_labels) for label indicators
        """
        check_is_fitted(self)
        return self._targets.decide(self._scores(X))

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each label.

        If scores are log probabilities, these assume that estimates of labels are normal within
        each class. Otherwise, the probabilities are the nearest ones to the estimates. Classes
        share one per cent in both cases. Calibrate them with
        `sklearn.calibration.CalibratedClassifierCV` if their values matter.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Rows with the columns of ``fit``.

        Returns
        -------
        array of shape (n, n_classes)
            In the order of ``classes_``. Rows have the sum 1, except for label indicators.
        """
        check_is_fitted(self)
        return self._targets.probabilities(self._scores(X), posterior=self._posterior)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on rows with a label.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Rows with the columns of ``fit``.
        y : array of shape (n,) or (n, n_labels)
            Labels as in ``fit``; rows without a label do not count.
        sample_weight : array of shape (n,), optional
            Weights of the rows.

        Returns
        -------
        float
            The share of rows whose labels are all right.
        """
        y = check_partial(y, type(self).__name__)
        known = has_label(y)
        if not known.any():
            raise ValueError("y must hold labels for some rows, found none.")
        weight = None if sample_weight is None else np.asarray(sample_weight)[known]
        labels = y[known].tolist() if y.dtype.kind == "O" else y[known]
        return float(accuracy_score(labels, self.predict(X)[known], sample_weight=weight))

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
        return as_logarithms(self.predict_proba(X))
