"""What a structured model needs to know about its outputs."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from skimp._core._types import Array
from skimp._params._names import as_object
from skimp._params._parametrized import Parametrized
from skimp._params._rules import Rule, broken


class JointMap(Parametrized, ABC):
    r"""Base class of joint feature maps, costs and searches for structured outputs.

    The score of an output y for an input x is :math:`w^T \phi(x, y)`. A subclass implements
    `start`, `features`, `cost` and `best`, and `expected` if it is to be used with the log loss.
    Inputs and outputs may be of any kind, for example arrays of different lengths. As in
    scikit-learn, ``__init__`` only assigns its arguments. `StructuredSVM` copies the map, and calls
    `start` of the copy.

    `predict`, `margin_loss` and `log_loss` treat several items, by default one after another. A
    subclass may override them by faster code.

    Examples
    --------
    A subset of labels for each row, where every label that is wrong costs 1:

    >>> import numpy as np
    >>> from skimp import StructuredSVM
    >>> from skimp.estimators import JointMap
    >>> class LabelSets(JointMap):
    ...     def start(self, X, y):
    ...         self.shape_ = len(y[0]), len(X[0])
    ...         return self.shape_[0] * self.shape_[1]
    ...     def features(self, x, y):
    ...         return np.outer(y, x).ravel()
    ...     def cost(self, y, other):
    ...         return np.sum(y != other)
    ...     def best(self, x, w, y=None):
    ...         gain = w.reshape(self.shape_) @ x
    ...         return gain + (0 if y is None else 1 - 2 * y) > 0
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> y = X + X[:, [1, 2, 0]] > 0
    >>> model = StructuredSVM(LabelSets(), alpha=1e-2).fit(X, y)
    >>> bool(np.mean(model.predict(X) == y) > 0.9)
    True
    """

    rules: ClassVar[dict[str, Rule]] = {}
    classes: ClassVar[bool] = False
    """Whether inputs are rows of a matrix and outputs are class codes 0, 1, ..., see `scores`."""
    parallel: ClassVar[bool] = False
    """Whether several threads may call the methods at once."""

    @abstractmethod
    def start(self, X: Any, y: Any) -> int:
        """Read sizes from the training data, and return the number of features.

        Parameters
        ----------
        X : sequence
            Inputs.
        y : sequence
            Their outputs.

        Returns
        -------
        int
        """

    @abstractmethod
    def features(self, x: Any, y: Any) -> Array:
        """Return the joint features of an input and an output, of shape (width,)."""

    @abstractmethod
    def cost(self, y: Any, other: Any) -> float:
        """Return the cost >= 0 of predicting another output than y; 0 for y itself."""

    @abstractmethod
    def best(self, x: Any, w: Array, y: Any = None) -> Any:
        """Return the output with the highest score, or score plus cost if y is given.

        Parameters
        ----------
        x : object
            An input.
        w : array of shape (width,)
            Coefficients in float64.
        y : object, optional
            The right output. If given, `cost` of predicting another output is added to its score.

        Returns
        -------
        object
            An output. An approximate search is allowed, see `StructuredSVM`.
        """

    def expected(self, x: Any, w: Array) -> tuple[float, Array]:
        r"""Return :math:`\log \sum_y e^{w^T \phi(x, y)}` and its gradient, the mean features.

        Parameters
        ----------
        x : object
            An input.
        w : array of shape (width,)
            Coefficients in float64.

        Returns
        -------
        tuple of float and array of shape (width,)
        """
        raise NotImplementedError(
            f"{type(self).__name__} must implement expected(x, w) for loss='log'; loss='margin' "
            "does not need it."
        )

    def scores(self, X: Any, w: Array) -> Array:
        """Return the scores of all classes, of shape (n, k); required only of class maps."""
        raise NotImplementedError(f"the outputs of {type(self).__name__} are not classes.")

    def predict(self, X: Any, w: Array) -> Sequence[Any] | Array:
        """Return the best output of each item."""
        return [self.best(x, w) for x in X]

    def margin_loss(self, X: Any, Y: Any, weight: Array, w: Array) -> tuple[float, Array]:
        """Return the weighted sum of the margin losses of some items, and a subgradient."""
        total, slope = 0.0, np.zeros(len(w))
        for x, y, share in zip(X, Y, weight, strict=True):
            other = self.best(x, w, y)
            cost = self.cost(y, other)
            if cost < 0:
                raise broken(type(self).__name__, "cost", "a number >= 0", cost)
            change = self.features(x, other) - self.features(x, y)
            loss = cost + float(change @ w)
            # an approximate search may return an output that is worse than y; NaN is an error
            if not loss <= 0:
                total += share * loss
                slope += share * change
        return total, slope

    def log_loss(self, X: Any, Y: Any, weight: Array, w: Array) -> tuple[float, Array]:
        """Return the weighted sum of the log losses of some items, and its gradient."""
        total, slope = 0.0, np.zeros(len(w))
        for x, y, share in zip(X, Y, weight, strict=True):
            normalizer, mean = self.expected(x, w)
            own = self.features(x, y)
            total += share * (normalizer - float(own @ w))
            slope += share * (mean - own)
        return total, slope


def as_joint(joint: Any, *, owner: str) -> JointMap:
    """Return a joint map, given as an object or by name."""
    names = {"multiclass": "MulticlassMap"}
    return as_object(joint, JointMap, names, "skimp.estimators", owner=owner, role="joint")  # type: ignore[type-abstract]
