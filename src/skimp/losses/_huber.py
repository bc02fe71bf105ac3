"""The loss of Huber, robust against outliers."""

from typing import ClassVar, final

from skimp._core._types import Array
from skimp._params._rules import Rule, number
from skimp.losses._piecewise import PiecewiseLoss


@final
class Huber(PiecewiseLoss):
    r"""Huber loss: the squared loss near the target, and lines further out, for outliers.

    .. math::
        \ell(y, f) = r^2 \;\text{ for } |r| \le \delta, \qquad 2 \delta |r| - \delta^2
        \;\text{ beyond}, \qquad r = y - f

    Parameters
    ----------
    delta : float, default=1.0
        Where the parabola ends, in units of y.

    References
    ----------
    Huber (1964), Robust estimation of a location parameter.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.losses import Huber
    >>> Huber(delta=1.0).value(np.array([0.0, 0.0]), np.array([0.5, 10.0])).tolist()
    [0.25, 19.0]
    """

    _rules: ClassVar[dict[str, Rule]] = {"delta": number(above=0)}
    curve = True

    def __init__(self, delta: float = 1.0):
        self.delta = delta

    def limits(self, y: Array) -> tuple[float, float]:
        """Return the slopes of the two lines."""
        # Python's float: NumPy's would turn float32 into float64
        steepest = 2 * float(self.delta)
        return -steepest, steepest
