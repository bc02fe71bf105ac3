"""What all classifiers do with labels: encode them for a fit, and return them in ``predict``."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from skimp._core._types import Array
from skimp._params._rules import NONE, broken, instance, number, one_of
from skimp.data import Context, Rows
from skimp.estimators._available import available_unless
from skimp.estimators._targets import Sides, count_labels
from skimp.losses import Loss, as_loss

CLASS_WEIGHT = NONE | one_of("balanced") | instance(dict, "a dict of class weights")
"""The rule for ``class_weight``."""
_FACTOR = number(above=0, at_most=1e100)


class Labels(ClassifierMixin):
    """Mixin for estimators whose targets are class labels."""

    classes_: Array
    class_weight: dict[Any, float] | str | None

    def _encode_labels(self, rows: Rows, context: Context, *, joint: bool) -> Sides:
        """Set the classes of y, and return its encoding, with a column per class if ``joint``."""
        totals = count_labels(rows, type(self).__name__, context)
        classes = np.array(sorted(totals))
        if len(classes) < 2:
            raise ValueError(
                "y must hold at least two classes with positive weight, found one class: "
                f"{classes.tolist()[0]!r}."
            )
        return self._encode_classes(rows, classes, totals, joint)

    def _encode_given(self, rows: Rows, classes: Array, context: Context, *, joint: bool) -> Sides:
        """Set the classes that the user lists, and return the encoding of y."""
        targets = self._encode_classes(rows, classes, Counter(classes.tolist()), joint)
        targets.check(rows, context)
        return targets

    def _encode_classes(
        self, rows: Rows, classes: Array, totals: Counter[Any], joint: bool
    ) -> Sides:
        # repeat each label: scikit-learn's check warns if labels are nearly unique
        check_classification_targets(np.repeat(classes, 3))
        factors = None if self.class_weight is None else self._class_factors(totals)
        self.classes_ = classes
        one_column = len(classes) == 2 and not joint
        return Sides(classes, one_column, factors, rows.dtype, type(self).__name__)

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

    def _listed_classes(self, classes: Any, *, first: bool) -> Array:
        """Return the argument ``classes`` of ``partial_fit``, checked."""
        given = np.unique([] if classes is None else np.asarray(classes))
        if not first:
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
        return given


def lacks_partial_fit(model: Any) -> str:
    """Return why a classifier has no ``partial_fit``, or ''."""
    if model.class_weight != "balanced":
        return ""
    return (
        "needs class_weight=None or a dict, got 'balanced', which depends on all rows: estimate "
        "the weights with sklearn.utils.class_weight.compute_class_weight."
    )


class Labelled(Labels):
    """Mixin for classifiers that compute one score per class, or a single one for two classes."""

    _outputs: Callable[[Any], Array]
    """Returns the scores of each row, of shape (n, k)."""

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
        return as_decision(self._outputs(X))

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


def _lacks_probabilities(model: Any) -> str:
    """Return why a classifier has no probabilities, or ''."""
    fitted = model._fitted_loss
    loss = as_loss(model.loss, owner=type(model).__name__) if fitted is None else fitted
    if loss.probabilistic:
        return ""
    return (
        f"needs loss='log' or loss='softmax', got loss={model.loss!r}: fit with one of them, or "
        "calibrate this loss with sklearn.calibration.CalibratedClassifierCV."
    )


class Probabilistic(Labelled):
    """Mixin for classifiers with a parameter ``loss``; some losses give probabilities."""

    loss: Loss | str

    @property
    def _fitted_loss(self) -> Loss | None:
        """The loss of the fit, or None before a fit."""
        raise NotImplementedError

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
        F, loss = self._outputs(X), self._fitted_loss
        assert loss is not None, "the model is fitted"
        return as_probabilities(F, joint=loss.joint)

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
        return as_logarithms(self.predict_proba(X))


def as_decision(F: Array) -> Array:
    """Return the scores of all classes, or of two classes one number for the second."""
    if F.shape[1] == 1:
        return F[:, 0]
    return F[:, 1] - F[:, 0] if F.shape[1] == 2 else F


def as_probabilities(F: Array, *, joint: bool) -> Array:
    """Return the probabilities of all classes, of log odds or of a joint model's scores."""
    if F.shape[1] == 1:
        P = expit(np.hstack([-F, F]))
    elif joint:
        P = softmax(F, axis=1)
    else:
        P = expit(F)
        # if all probabilities underflow to zero, compare the log odds
        P = np.where(P.sum(axis=1, keepdims=True) > 0, P, softmax(F, axis=1))
        P /= P.sum(axis=1, keepdims=True)
    probabilities: Array = P
    return probabilities


def nearest_probabilities(F: Array) -> Array:
    """Return the probabilities nearest to estimates of them: nonnegative, with the sum 1.

    The order of the classes does not change. See Michelot (1986), A finite algorithm for finding
    the projection of a point onto the canonical simplex of R^n.
    """
    falling = -np.sort(-F, axis=1)
    # subtracting this from the j largest entries makes their sum 1
    shifts = (np.cumsum(falling, axis=1) - 1) / np.arange(1, F.shape[1] + 1)
    last = np.count_nonzero(falling > shifts, axis=1) - 1
    P = np.maximum(F - np.take_along_axis(shifts, last[:, None], axis=1), 0)
    nearest: Array = P / P.sum(axis=1, keepdims=True)
    return nearest


def as_logarithms(P: Array) -> Array:
    """Return the logarithms of probabilities, minus infinity for zero."""
    with np.errstate(divide="ignore"):
        logarithms: Array = np.log(P)
    return logarithms
