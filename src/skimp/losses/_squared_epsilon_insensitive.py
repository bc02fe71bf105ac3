"""The smooth loss of support vector regression."""

from typing import ClassVar, final

import numpy as np

from skimp._core._types import Array
from skimp._params._rules import Rule, number
from skimp.losses._piecewise import PiecewiseLoss


@final
class SquaredEpsilonInsensitive(PiecewiseLoss):
    r"""Squared insensitive loss, :math:`\max(0, |y - f| - \epsilon)^2`.

    Parameters
    ----------
    epsilon : float, default=0.1
        Half the width of the part that costs nothing, in units of y.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.losses import SquaredEpsilonInsensitive
    >>> SquaredEpsilonInsensitive(0.5).value(np.array([1.0, 1.0]), np.array([1.25, 3.0])).tolist()
    [0.0, 2.25]
    """

    _rules: ClassVar[dict[str, Rule]] = {"epsilon": number(at_least=0)}
    curve = True
    parabolic = True

    def __init__(self, epsilon: float = 0.1):
        self.epsilon = epsilon

    def limits(self, y: Array) -> tuple[float, float]:
        """Return no limits: any slope can occur."""
        return -np.inf, np.inf
