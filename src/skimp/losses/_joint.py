"""Joint losses of k classes."""

from collections.abc import Callable
from typing import Any, ClassVar, final

import numpy as np
from scipy.special import log_softmax, softmax, xlogy

from skimp._core._types import Array, DType
from skimp._params._rules import NONE, Rule
from skimp.losses._base import Loss


def _is_cost(value: Any) -> bool:
    try:
        cost = np.asarray(value)
    except ValueError:
        return False
    square = cost.ndim == 2 and cost.shape[0] == cost.shape[1] > 0 and cost.dtype.kind in "biuf"
    return bool(square and 0 <= cost.min() <= cost.max() < np.inf and not cost.diagonal().any())


@final
class MulticlassHinge(Loss):
    r"""Multi-class hinge loss for k classes, with a cost for each pair of classes.

    .. math:: \ell(y, f) = \max_j (f_j + \delta(y, j)) - f_y

    The loss is zero if the score of the true class y exceeds that of every other class j by at
    least the cost :math:`\delta(y, j)` of predicting j instead. It is never below the cost of the
    class with the highest score. With costs of 1 it is the loss of Crammer and Singer. Targets have
    shape (n, k) and are positive for the true class only.

    If all costs are multiplied by s and the penalty ``alpha`` is divided by s, the scores are
    multiplied by s and the predicted classes stay the same.

    Parameters
    ----------
    cost : array-like of shape (k, k), default=None
        The costs :math:`\delta`: row y is the true class and column j the predicted one, in the
        order of ``classes_``. Costs are nonnegative, and zero on the diagonal. None stands for 1
        for each wrong class.

    References
    ----------
    Crammer and Singer (2001), On the algorithmic implementation of multiclass kernel-based vector
    machines.

    Tsochantaridis, Joachims, Hofmann and Altun (2005), Large margin methods for structured and
    interdependent output variables (costs as margins: margin rescaling).

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.losses import multiclass_hinge
    >>> y = np.array([[1.0, -1.0, -1.0]])
    >>> multiclass_hinge.value(y, np.array([[2.0, 1.5, 0.0]])).tolist()
    [[0.5]]

    If it costs 3 to take the first class for the second, its score has to be higher by 3:

    >>> from skimp.losses import MulticlassHinge
    >>> careful = MulticlassHinge(cost=[[0, 3, 1], [1, 0, 1], [1, 1, 0]])
    >>> careful.value(y, np.array([[2.0, 1.5, 0.0]])).tolist()
    [[2.5]]
    """

    rules: ClassVar[dict[str, Rule]] = {
        "cost": NONE | Rule("a square matrix of numbers >= 0 with zeros on its diagonal", _is_cost)
    }
    joint = True
    labels = True
    smooth = False

    def __init__(self, cost: Any = None):
        self.cost = cost

    def costs(self, n_classes: int) -> Array:
        """Return the cost matrix for this number of classes, in float64.

        Parameters
        ----------
        n_classes : int
            The number of classes k.

        Returns
        -------
        array of shape (k, k)
        """
        if self.cost is None:
            return 1.0 - np.eye(n_classes)
        cost = np.asarray(self.cost, np.float64)
        needed = n_classes, n_classes
        if cost.shape != needed:
            raise ValueError(
                f"MulticlassHinge: cost must have shape {needed}, a row and a column for each of "
                f"the {n_classes} classes, found shape {cost.shape}."
            )
        return cost

    def check_classes(self, n_classes: int) -> None:
        """Raise if the cost matrix is for another number of classes."""
        self.costs(n_classes)

    def _costs_at(self, y: Array, dtype: DType) -> Array:
        """Return the costs of all classes for the true class of each row."""
        costs: Array = self.costs(y.shape[1]).astype(dtype)[np.argmax(y, axis=1)]
        return costs

    def _ahead(self, y: Array, f: Array) -> Array:
        """Return f plus the costs."""
        ahead: Array = f + self._costs_at(y, f.dtype)
        return ahead

    def value(self, y: Array, f: Array) -> Array:
        """Return the loss, of shape (n, 1)."""
        own = np.sum(np.where(y > 0, f, 0), axis=1, keepdims=True)
        cost: Array = self._ahead(y, f).max(axis=1, keepdims=True) - own
        return cost

    def gradient(self, y: Array, f: Array) -> Array:
        """Return the indicator of the class with the largest f + cost, minus the true class's."""
        slope = -(y > 0).astype(f.dtype)
        slope[np.arange(len(f)), self._ahead(y, f).argmax(axis=1)] += 1
        return slope

    @property
    def max_slope(self) -> float:
        """Return 1."""
        return 1.0

    def curvature(self, y: Array, f: Array) -> Array:
        """Return zeros."""
        return np.zeros_like(f)

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return minus the costs times u, summed; infinity if u is not a subgradient."""
        return conjugate_on_simplex(y, u, lambda p: -p * self._costs_at(y, u.dtype))


@final
class Softmax(Loss):
    r"""Multinomial logistic loss for k classes.

    .. math:: \ell(y, f) = \log \sum_j e^{f_j} - f_y

    The probability of class j is :math:`p_j = e^{f_j} / \sum_l e^{f_l}`. Targets have shape
    (n, k) and are positive for the true class only.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.losses import softmax
    >>> softmax.value(np.array([[1.0, -1.0, -1.0]]), np.zeros((1, 3))).round(4).tolist()
    [[1.0986]]
    """

    joint = True
    labels = True
    probabilistic = True

    def value(self, y: Array, f: Array) -> Array:
        """Return minus the log probability of the true class, of shape (n, 1)."""
        cost: Array = -np.sum(np.where(y > 0, log_softmax(f, axis=1), 0), axis=1, keepdims=True)
        return cost

    def gradient(self, y: Array, f: Array) -> Array:
        """Return the probabilities minus the indicator of the true class."""
        slope: Array = softmax(f, axis=1) - (y > 0)
        return slope

    def curvature(self, y: Array, f: Array) -> Array:
        """Return p (1 - p), the diagonal of the second derivative."""
        p = softmax(f, axis=1)
        variance: Array = p * (1 - p)
        return variance

    def curved(self, y: Array, f: Array, v: Array) -> Array:
        """Return the product of diag(p) - p p^T and v."""
        p = softmax(f, axis=1)
        pv = p * v
        product: Array = pv - p * pv.sum(axis=1, keepdims=True)
        return product

    @property
    def max_slope(self) -> float:
        """Return 1."""
        return 1.0

    @property
    def max_curvature(self) -> float:
        """Return 1/2."""
        return 0.5

    def majorant(self, y: Array, f: Array) -> Array:
        """Return 1/2 for each class."""
        return np.full_like(f, 0.5)

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return the negative entropy of the probabilities whose gradient is u."""
        return conjugate_on_simplex(y, u, lambda p: xlogy(p, p))


def conjugate_on_simplex(y: Array, u: Array, cost: Callable[[Array], Array]) -> Array:
    """Sum ``cost(p)`` for p = u + [true class]; infinity if p is not a distribution."""
    # tolerance for negative probabilities, and for a sum different from 1
    rounding = np.sqrt(np.finfo(u.dtype).eps)
    p = u + (y > 0)
    total = p.sum(axis=1, keepdims=True)
    inside = (p.min(axis=1, keepdims=True) >= -rounding) & (np.abs(total - 1) <= rounding)
    costs = cost(np.maximum(p, 0)).sum(axis=1, keepdims=True)
    return np.where(inside, costs, np.inf)
