"""What every loss is."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from skimp._core._types import Array
from skimp._params._names import as_object
from skimp._params._parametrized import Parametrized
from skimp._params._rules import Rule


class Loss(Parametrized, ABC):
    """A convex function of a prediction f, for each target y: value, derivatives, conjugate.

    Arrays in, arrays out, one row for each sample. A separable loss treats every output on its
    own: all arrays have the shape of f. A joint loss couples the outputs of a row, one for each
    class: its values and conjugates have shape (n, 1).

    Derive your own loss from this class and write `value`, `gradient`, `curvature` and `conjugate`,
    or from `PiecewiseLoss` and write its slopes. `skimp.testing.check_loss` checks it.

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
    """Whether the outputs of a row are coupled; its targets have one positive entry a row."""
    labels: ClassVar[bool] = False
    """Whether targets must be 1 and -1."""
    smooth: ClassVar[bool] = True
    """Whether the gradient is continuous."""
    parabolic: ClassVar[bool] = False
    """Whether it is a parabola, of curvature 2, wherever it is not zero."""
    probabilistic: ClassVar[bool] = False
    """Whether predictions are log odds or log probabilities, up to a constant."""

    @abstractmethod
    def value(self, y: Array, f: Array) -> Array:
        """Return the loss."""

    @abstractmethod
    def gradient(self, y: Array, f: Array) -> Array:
        """Return its derivative in f, or a subgradient."""

    @abstractmethod
    def curvature(self, y: Array, f: Array) -> Array:
        """Return its second derivative in f, or the diagonal of it if outputs are coupled."""

    def curved(self, y: Array, f: Array, v: Array) -> Array:
        """Return the product of the second derivative in f and v."""
        product: Array = self.curvature(y, f) * v
        return product

    def majorant(self, y: Array, f: Array) -> Array:
        """Return the curvature of a parabola that touches the loss at f and lies above it.

        Solvers fall back on it if the loss is hardly curved. By default the curvature itself.
        """
        return self.curvature(y, f)

    @abstractmethod
    def conjugate(self, y: Array, u: Array) -> Array:
        """Return the supremum over f of ``u f - value(y, f)``."""

    def __eq__(self, other: object) -> bool:
        """Losses of one class with equal parameters are equal."""
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        """Return a hash of the class and the parameters."""
        return hash((type(self), *sorted(vars(self).items())))


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
    """Return a loss for a name or an object; ``owner`` is named in the error."""
    return as_object(loss, Loss, {n: n for n in _NAMES}, "skimp.losses", owner=owner, role="loss")  # type: ignore[type-abstract]
