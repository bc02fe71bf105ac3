"""Classification with a reject option."""

from numbers import Integral, Real
from typing import Any, ClassVar, Self, final

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d

from skimp._core._types import Array
from skimp._params._parametrized import Parametrized, all_or_nothing
from skimp._params._rules import NONE, Rule, broken, check_params, integer, is_number, number
from skimp.estimators._coverage import CoverageCurve, coverage_curve, reached
from skimp.estimators._file_predictor import FilePredictor

_PROBABILISTIC = Rule(
    "a classifier with predict_proba, such as KernelClassifier(loss='log') or scikit-learn's "
    "CalibratedClassifierCV",
    lambda value: (
        all(hasattr(value, name) for name in ("fit", "predict_proba", "get_params"))
        and not isinstance(value, type)
    ),
)
_SPLITS = Rule("a cross-validation splitter", lambda value: not is_number(value, Real))


@final
class RejectClassifier(FilePredictor, ClassifierMixin, Parametrized):
    r"""Classifier that rejects the rows of which it is not certain.

    The predicted class is the most probable one, if its probability reaches a threshold:

    .. math:: \hat y(x) = \arg\max_c p_c(x) \text{ if } \max_c p_c(x) \ge t,
        \text{ otherwise the reject label}

    If a rejected row costs r and a wrong label 1, the threshold of least expected cost is
    :math:`t = 1 - r` (Chow's rule), provided that the probabilities are calibrated. Alternatively,
    set the share of the rows to accept: ``fit`` then chooses t from probabilities of rows that are
    left out in cross-validation. The share of new rows will be close to it, unless the
    probabilities hardly vary between rows.

    ``fit`` takes as long as that of the classifier, or ``cv + 1`` times as long with ``coverage``.
    ``score`` counts rejected rows as errors; use `coverage_curve` instead.

    Parameters
    ----------
    estimator : classifier with ``predict_proba``
        The classifier. It is cloned before it is fitted.
    threshold : float, default=0.5
        Lowest probability t of a class that is predicted, from 0 to 1. The default rejects a row if
        all classes have a probability below one half.
    coverage : float or None, default=None
        Share of the rows to accept, which replaces ``threshold``.
    reject_label : int, str or None, default=None
        Label of rejected rows. None is "rejected" if the labels are strings. For numbers it is -1,
        or the smallest label minus 1 if there are negative labels.
    cv : int or cross-validation splitter, default=5
        Number of folds of the cross-validation for ``coverage``, at most the number of rows of the
        rarest class; or the folds, as in scikit-learn.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    threshold_ : float
        The threshold, given or chosen.
    reject_label_ : int or str
        Label of rejected rows.
    classes_ : array of shape (n_classes,)
        The labels, without that of rejected rows.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Chow (1970), On optimum recognition error and reject tradeoff (the threshold).

    El-Yaniv and Wiener (2010), On the foundations of noise-free selective classification (curves of
    risk and coverage).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from skimp import KernelClassifier, RejectClassifier
    >>> X, y = make_moons(2000, noise=0.3, random_state=0)
    >>> logistic = KernelClassifier(approximation=50, loss="log", random_state=0)
    >>> model = RejectClassifier(logistic, coverage=0.8).fit(X[:1000], y[:1000])
    >>> labels = model.predict(X[1000:])
    >>> accepted = labels != model.reject_label_
    >>> bool(0.75 < accepted.mean() < 0.85)
    True
    >>> errors = labels != y[1000:]
    >>> bool(errors[accepted].mean() < 0.06 < (logistic.fit(X, y).predict(X) != y).mean())
    True
    """

    rules: ClassVar[dict[str, Rule]] = {
        "estimator": _PROBABILISTIC,
        "threshold": number(at_least=0, at_most=1),
        "coverage": NONE | number(above=0, at_most=1),
        "cv": integer(at_least=2) | _SPLITS,
    }

    def __init__(
        self,
        estimator: Any,
        *,
        threshold: float = 0.5,
        coverage: float | None = None,
        reject_label: int | str | None = None,
        cv: Any = 5,
    ):
        self.estimator = estimator
        self.threshold = threshold
        self.coverage = coverage
        self.reject_label = reject_label
        self.cv = cv

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier, and choose the threshold if ``coverage`` is given.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
            Training rows, in a form that the classifier accepts.
        y : array of shape (n,)
            Labels.
        sample_weight : array of shape (n,), optional
            Weights of the rows, if the classifier accepts them.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            check_params(self)
            weights = {} if sample_weight is None else {"sample_weight": sample_weight}
            fitted = clone(self.estimator).fit(X, y, **weights)
            self.estimator_ = fitted
            self.classes_ = np.asarray(fitted.classes_)
            for name in ("n_features_in_", "feature_names_in_"):
                # classifiers of texts have neither
                self.__dict__.pop(name, None)
                if getattr(fitted, name, None) is not None:
                    setattr(self, name, getattr(fitted, name))
            self.reject_label_ = self._chosen_label()
            self.threshold_ = float(self.threshold)
            if self.coverage is not None:
                self.threshold_ = self._chosen_threshold(X, column_or_1d(y), weights)
        return self

    def _chosen_label(self) -> Any:
        text = self.classes_.dtype.kind in "OUS"
        label: Any = self.reject_label
        if label is None:
            label = "rejected" if text else min(-1, int(np.floor(self.classes_.min())) - 1)
        alike = isinstance(label, str) if text else is_number(label, Real)
        if not alike or label in self.classes_.tolist():
            kind = "a string" if text else "a number"
            wording = f"{kind}, like the labels, and not one of {self.classes_.tolist()}"
            raise broken(type(self).__name__, "reject_label", wording, self.reject_label)
        return label

    def _chosen_threshold(self, X: Any, y: Array, weights: dict[str, Any]) -> float:
        """Return the threshold that accepts the wanted share of rows that were left out."""
        from sklearn.model_selection import StratifiedKFold, cross_val_predict

        folds: Any = self.cv
        if isinstance(folds, Integral):
            labels, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
            fewest = int(counts.min())
            if fewest < 2:
                raise ValueError(
                    "coverage needs at least 2 rows of each class, found 1 row of class "
                    f"{labels.tolist()[counts.argmin()]!r}: remove it, or pass threshold instead."
                )
            folds = list(StratifiedKFold(min(int(folds), fewest)).split(codes, codes))
        P = cross_val_predict(
            self.estimator, X, y, cv=folds, method="predict_proba", params=weights
        )
        curve = coverage_curve(P.max(axis=1), np.zeros(len(P)), weights.get("sample_weight"))
        assert self.coverage is not None, "the threshold was given otherwise"
        return float(curve.threshold[reached(curve.coverage, self.coverage)])

    def predict(self, X: Any) -> Array:
        """Return the label of each row, which is ``reject_label_`` for rejected rows.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
            Rows with the columns of ``fit``.

        Returns
        -------
        array of shape (n,)
        """
        P = self.predict_proba(X)
        labels = self.classes_[P.argmax(axis=1)]
        # an array, because a Python number would be cast to the dtype of small integers
        rejected = np.asarray(self.reject_label_, object if labels.dtype == object else None)
        found: Array = np.where(P.max(axis=1) >= self.threshold_, labels, rejected)
        return found

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, for all rows.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
            Rows with the columns of ``fit``.

        Returns
        -------
        array of shape (n, n_classes)
            In the order of ``classes_``.
        """
        check_is_fitted(self)
        probabilities: Array = self.estimator_.predict_proba(X)
        return probabilities

    def coverage_curve(self, X: Any, y: Any, sample_weight: Any = None) -> CoverageCurve:
        """Return the error among accepted rows for all thresholds.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
            Rows that were not used in ``fit``.
        y : array of shape (n,)
            Their labels.
        sample_weight : array of shape (n,), optional
            Weights of the rows.

        Returns
        -------
        CoverageCurve
            Thresholds, coverages and errors.
        """
        P, y = self.predict_proba(X), column_or_1d(y)
        if len(y) != len(P):
            raise ValueError(f"y must hold one label per row, found {len(y)} for {len(P)} rows.")
        weight = _check_sample_weight(sample_weight, P, dtype=np.float64, ensure_non_negative=True)
        wrong = self.classes_[P.argmax(axis=1)] != y
        return coverage_curve(P.max(axis=1), wrong, weight)

    def __sklearn_tags__(self) -> Any:
        """Return the tags of the classifier's input."""
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags
