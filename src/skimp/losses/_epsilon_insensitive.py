"""The loss of support vector regression."""

from typing import ClassVar, final

from skimp._core._types import Array
from skimp._params._rules import Rule, number
from skimp.losses._piecewise import PiecewiseLoss


@final
class EpsilonInsensitive(PiecewiseLoss):
    r"""Loss of support vector regression, :math:`\max(0, |y - f| - \epsilon)`.

    Parameters
    ----------
    epsilon : float, default=0.1
        Half the width of the part that costs nothing, in units of y.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.losses import EpsilonInsensitive
    >>> EpsilonInsensitive(0.5).value(np.array([1.0, 1.0]), np.array([1.25, 3.0])).tolist()
    [0.0, 1.5]
    """

    _rules: ClassVar[dict[str, Rule]] = {"epsilon": number(at_least=0)}
    curve = False
    smooth = False

    def __init__(self, epsilon: float = 0.1):
        self.epsilon = epsilon

    def limits(self, y: Array) -> tuple[float, float]:
        """Return -1 and 1."""
        return -1.0, 1.0
