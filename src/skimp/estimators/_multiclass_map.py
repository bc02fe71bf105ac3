"""The joint map of ordinary classes."""

from typing import Any, ClassVar, final

import numpy as np
from scipy.special import logsumexp, softmax

from skimp._core._linalg import as_compute_dtype
from skimp._core._types import Array
from skimp._params._rules import Rule, broken
from skimp.estimators._joint_map import JointMap
from skimp.losses import Loss, MulticlassHinge, Softmax
from skimp.solvers import as_features

_FEW = 0.5
"""Share of rows with a loss below which the other rows are left out of a product."""


@final
class MulticlassMap(JointMap):
    r"""Joint features of a row and its class: the row and a constant, in the block of the class.

    .. math:: \phi(x, r) = e_r \otimes (x, 1)

    With it, `StructuredSVM` is the multi-class support vector machine of Crammer and Singer, or
    multinomial logistic regression, with intercepts that are penalized like the coefficients. The
    losses of n rows take O(n d k) time for d columns and k classes.

    Parameters
    ----------
    costs : array-like of shape (k, k), default=None
        The cost of predicting the class of the column for a row of the class of the row, in the
        order of ``classes_``. Costs are nonnegative, and zero on the diagonal. None stands for 1
        for each wrong class. The log loss ignores costs.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.estimators import MulticlassMap
    >>> joint = MulticlassMap()
    >>> joint.start(np.zeros((3, 2)), np.array([0, 1, 2]))
    9
    >>> joint.features(np.array([5.0, 6.0]), 1).reshape(3, 3).tolist()
    [[0.0, 0.0, 0.0], [5.0, 6.0, 1.0], [0.0, 0.0, 0.0]]
    """

    rules: ClassVar[dict[str, Rule]] = {"costs": MulticlassHinge.rules["cost"]}
    classes: ClassVar[bool] = True
    parallel: ClassVar[bool] = True

    def __init__(self, costs: Any = None):
        self.costs = costs

    def start(self, X: Any, y: Any) -> int:
        """Read the numbers of columns and classes; see `JointMap.start`.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
            Training rows.
        y : array of shape (n,)
            Their class codes.

        Returns
        -------
        int
        """
        k, d = int(np.max(y)) + 1, int(X.shape[1])
        if self.costs is not None and np.shape(self.costs) != (k, k):
            wording = f"a matrix of shape {k, k} for the {k} classes of y"
            raise broken(type(self).__name__, "costs", wording, self.costs)
        self.shape_ = k, d + 1
        self.hinge_ = MulticlassHinge(self.costs)
        return k * (d + 1)

    def features(self, x: Any, y: Any) -> Array:
        """Return the row and a constant in the block of class y, and zeros elsewhere."""
        blocks = np.zeros(self.shape_)
        blocks[y] = np.append(x, 1.0)
        return blocks.ravel()

    def cost(self, y: Any, other: Any) -> float:
        """Return the cost of predicting another class."""
        return float(self.hinge_.costs(self.shape_[0])[y, other])

    def best(self, x: Any, w: Array, y: Any = None) -> Any:
        """Return the class with the highest score, or score plus cost; see `JointMap.best`."""
        scores = w.reshape(self.shape_) @ np.append(x, 1.0)
        if y is not None:
            scores += self.hinge_.costs(len(scores))[y]
        return int(scores.argmax())

    def expected(self, x: Any, w: Array) -> tuple[float, Array]:
        """Return the log of the sum over classes, and the mean features; see `JointMap.expected`.

        Parameters
        ----------
        x : array of shape (d,)
            A row.
        w : array of shape (width,)
            Coefficients in float64.

        Returns
        -------
        tuple of float and array of shape (width,)
        """
        row = np.append(x, 1.0)
        scores = w.reshape(self.shape_) @ row
        return float(logsumexp(scores)), np.outer(softmax(scores), row).ravel()

    def scores(self, X: Any, w: Array) -> Array:
        """Return the scores of all classes, of shape (n, k)."""
        dtype = as_compute_dtype(X.dtype)
        W = w.reshape(self.shape_).T.astype(dtype, copy=False)
        scores: Array = as_features(X, dtype) @ W[:-1] + W[-1]
        return scores

    def margin_loss(self, X: Any, Y: Any, weight: Array, w: Array) -> tuple[float, Array]:
        """Return the sum of the margin losses of some rows, and a subgradient."""
        return self._loss(self.hinge_, X, Y, weight, w)

    def log_loss(self, X: Any, Y: Any, weight: Array, w: Array) -> tuple[float, Array]:
        """Return the sum of the log losses of some rows, and its gradient."""
        return self._loss(Softmax(), X, Y, weight, w)

    def _loss(
        self, loss: Loss, X: Any, codes: Array, weight: Array, w: Array
    ) -> tuple[float, Array]:
        F = self.scores(X, w)
        own = np.where(codes[:, None] == np.arange(F.shape[1]), F.dtype.type(1), F.dtype.type(-1))
        slopes = loss.gradient(own, F)
        slopes *= weight[:, None].astype(F.dtype)
        blocks, numbers = np.empty(self.shape_), as_features(X, F.dtype)
        active = np.flatnonzero(slopes.any(axis=1))
        if len(active) <= _FEW * len(F):
            numbers, slopes = numbers[active], slopes[active]
        blocks[:, :-1] = slopes.T @ numbers
        blocks[:, -1] = slopes.sum(axis=0)
        return float(weight @ loss.value(own, F)[:, 0]), blocks.ravel()
