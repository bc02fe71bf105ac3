"""The base class of all losses."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from skimp._core._types import Array
from skimp._params._names import as_object
from skimp._params._parametrized import Parametrized, hash_params, same_params
from skimp._params._rules import Rule


class Loss(Parametrized, ABC):
    """Base class of losses: convex functions of a prediction f for a target y.

    All methods take and return arrays with one row per sample. A separable loss treats each output
    separately, and all arrays have the shape of f. A joint loss couples the outputs of a row, one
    for each class, and its values and conjugates have shape (n, 1).

    A subclass implements `value`, `gradient`, `curvature` and `conjugate`. For a loss that consists
    of lines and parabolas, derive from `PiecewiseLoss` instead. `skimp.testing.check_loss` checks
    the result.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.losses import PiecewiseLoss
    >>> class TooLarge(PiecewiseLoss):
    ...     curve = True
    ...     def limits(self, y):
    ...         return -np.inf, 0.0
    >>> TooLarge().value(np.zeros(3), np.array([-2.0, 0.5, 2.0])).tolist()
    [0.0, 0.25, 4.0]
    """

    rules: ClassVar[dict[str, Rule]] = {}
    joint: ClassVar[bool] = False
    """Whether outputs are coupled; each row of the targets then has one positive entry."""
    labels: ClassVar[bool] = False
    """Whether targets must be 1 and -1."""
    smooth: ClassVar[bool] = True
    """Whether the gradient is continuous."""
    parabolic: ClassVar[bool] = False
    """Whether the loss is a parabola of curvature 2 wherever it is not zero."""
    probabilistic: ClassVar[bool] = False
    """Whether predictions are log odds or log probabilities, up to a constant."""

    @abstractmethod
    def value(self, y: Array, f: Array) -> Array:
        """Return the loss.

        Parameters
        ----------
        y : array of shape (n,) or (n, k)
            Targets.
        f : array of the same shape
            Predictions.

        Returns
        -------
        loss : array of the same shape, or (n, 1) for a joint loss
            The loss of each prediction.
        """

    @abstractmethod
    def gradient(self, y: Array, f: Array) -> Array:
        """Return the derivative of the loss with respect to f, or a subgradient."""

    @abstractmethod
    def curvature(self, y: Array, f: Array) -> Array:
        """Return the second derivative with respect to f; its diagonal for a joint loss."""

    @property
    def max_slope(self) -> float:
        """Upper bound of the absolute first derivative; infinity if there is none."""
        return np.inf

    @property
    def max_curvature(self) -> float:
        """Upper bound of the second derivative; of its eigenvalues for a joint loss."""
        return np.inf

    def curved(self, y: Array, f: Array, v: Array) -> Array:
        """Return the product of the second derivative with respect to f and v."""
        product: Array = self.curvature(y, f) * v
        return product

    def majorant(self, y: Array, f: Array) -> Array:
        """Return the curvature of a parabola that touches the loss at f and is above it elsewhere.

        Solvers use it if the curvature is close to zero. By default it is the curvature.
        """
        return self.curvature(y, f)

    @abstractmethod
    def conjugate(self, y: Array, u: Array) -> Array:
        """Return the convex conjugate: the supremum over f of ``u f - value(y, f)``."""

    def check_classes(self, n_classes: int) -> None:
        """Raise if the loss is for another number of classes; by default, do nothing."""

    def __eq__(self, other: object) -> bool:
        """Return whether the other loss has the same class and equal parameters."""
        return type(self) is type(other) and same_params(self, other)

    def __hash__(self) -> int:
        """Return a hash of the class and the parameters; arrays count by their shape."""
        return hash_params(self)


_NAMES = [
    "squared",
    "hinge",
    "squared_hinge",
    "log",
    "epsilon_insensitive",
    "squared_epsilon_insensitive",
    "huber",
    "quantile",
    "multiclass_hinge",
    "softmax",
]


def as_loss(loss: Any, *, owner: str) -> Loss:
    """Return a loss, given as an object or by name.

    Parameters
    ----------
    loss : Loss or str
        The value that the user passed.
    owner : str
        The class that takes the loss, for the error message.

    Returns
    -------
    loss : Loss
        The loss.
    """
    return as_object(loss, Loss, {n: n for n in _NAMES}, "skimp.losses", owner=owner, role="loss")  # type: ignore[type-abstract]
