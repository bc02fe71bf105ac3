"""Losses made of lines and parabolas, all by one formula."""

from abc import abstractmethod
from typing import ClassVar, final

import numpy as np

from skimp._core._types import Array
from skimp._params._rules import FRACTION, Rule, number
from skimp.losses._base import Loss


class PiecewiseLoss(Loss):
    r"""A loss made of lines and parabolas, written by its slopes.

    .. math::
        \ell(y, f) = \max_{l \le \beta \le h} \; \beta (y - f) - \epsilon |\beta|
        - \frac{q}{4} \beta^2

    with limits l and h that contain 0 and may depend on the sign of y, a half width
    :math:`\epsilon` of the part that costs nothing, and q = 1 for parabolas, 0 for lines. The
    slope in f is :math:`-\beta`, and the conjugate at u is what is subtracted, at
    :math:`\beta = -u`. Dual coordinate descent needs nothing else.
    """

    curve: ClassVar[bool]
    """True for parabolas, q = 1."""
    epsilon: float = 0.0
    """Half the width of the part that costs nothing."""

    @abstractmethod
    def limits(self, y: Array) -> tuple[Array | float, Array | float]:
        """Return l and h."""

    def _solve(self, y: Array, f: Array) -> tuple[Array, Array]:
        """Return the maximizing slope beta, and y - f shrunk by epsilon towards zero."""
        low, high = self.limits(y)
        excess: Array = y - f
        if self.epsilon:
            beyond = np.maximum(np.abs(excess) - f.dtype.type(self.epsilon), 0)
            excess = np.sign(excess) * beyond
        if self.curve:
            beta: Array = np.clip(2 * excess, low, high)
        else:
            beta = np.where(excess > 0, high, np.where(excess < 0, low, 0))
        return beta.astype(f.dtype, copy=False), excess

    def value(self, y: Array, f: Array) -> Array:
        """Return the loss."""
        beta, excess = self._solve(y, f)
        cost: Array = np.abs(beta * excess)
        return cost - beta * beta / 4 if self.curve else cost

    def gradient(self, y: Array, f: Array) -> Array:
        """Return the derivative in f, a subgradient at a kink."""
        return -self._solve(y, f)[0]

    def curvature(self, y: Array, f: Array) -> Array:
        """Return 2 on parabolas and 0 on lines."""
        if not self.curve:
            return np.zeros_like(f)
        low, high = self.limits(y)
        slope = 2 * self._solve(y, f)[1]
        inside = (slope >= low) & (slope <= high) & (np.abs(y - f) >= self.epsilon)
        bend: Array = np.where(inside, f.dtype.type(2), f.dtype.type(0))
        return bend

    def majorant(self, y: Array, f: Array) -> Array:
        """Return 2, or less far out on a line that limits a parabola."""
        if not self.curve:
            return super().majorant(y, f)
        beta, excess = self._solve(y, f)
        above = np.full_like(f, 2)
        return np.divide(beta, excess, out=above, where=beta != 0)

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return the conjugate, infinite if -u is not a slope of the loss."""
        low, high = self.limits(y)
        cost = u * y + u.dtype.type(self.epsilon) * np.abs(u) + self.curve * u * u / 4
        return np.where((-u >= low) & (-u <= high), cost, np.inf)


@final
class Squared(PiecewiseLoss):
    r"""Squared loss, :math:`(y - f)^2`: regression, or classification with targets 1 and -1.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.losses import squared
    >>> squared.value(np.array([3.0]), np.array([1.0])).item()
    4.0
    """

    curve = True

    def limits(self, y: Array) -> tuple[float, float]:
        """Return no limits: any slope can occur."""
        return -np.inf, np.inf


@final
class Hinge(PiecewiseLoss):
    r"""Hinge loss, :math:`\max(0, 1 - y f)`, for targets 1 and -1.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.losses import hinge
    >>> hinge.value(np.array([1.0, 1.0, -1.0]), np.array([2.0, 0.5, 0.0])).tolist()
    [0.0, 0.5, 1.0]
    """

    curve = False
    labels = True
    smooth = False

    def limits(self, y: Array) -> tuple[Array, Array]:
        """Return 0 and y, in order."""
        return np.minimum(y, 0), np.maximum(y, 0)


@final
class SquaredHinge(PiecewiseLoss):
    r"""Squared hinge loss, :math:`\max(0, 1 - y f)^2`, for targets 1 and -1.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.losses import squared_hinge
    >>> squared_hinge.value(np.array([1.0, 1.0, -1.0]), np.array([2.0, 0.5, 1.0])).tolist()
    [0.0, 0.25, 4.0]
    """

    curve = True
    parabolic = True
    labels = True

    def limits(self, y: Array) -> tuple[Array, Array]:
        """Return 0 and infinity with the sign of y, in order."""
        infinity = y.dtype.type(np.inf)
        return np.where(y < 0, -infinity, 0), np.where(y < 0, 0, infinity)


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

    rules: ClassVar[dict[str, Rule]] = {"epsilon": number(at_least=0)}
    curve = False
    smooth = False

    def __init__(self, epsilon: float = 0.1):
        self.epsilon = epsilon

    def limits(self, y: Array) -> tuple[float, float]:
        """Return -1 and 1."""
        return -1.0, 1.0


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

    rules: ClassVar[dict[str, Rule]] = {"epsilon": number(at_least=0)}
    curve = True
    parabolic = True

    def __init__(self, epsilon: float = 0.1):
        self.epsilon = epsilon

    def limits(self, y: Array) -> tuple[float, float]:
        """Return no limits: any slope can occur."""
        return -np.inf, np.inf


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

    rules: ClassVar[dict[str, Rule]] = {"delta": number(above=0)}
    curve = True

    def __init__(self, delta: float = 1.0):
        self.delta = delta

    def limits(self, y: Array) -> tuple[float, float]:
        """Return the slopes of the two lines."""
        # Python's float: NumPy's would turn float32 into float64
        steepest = 2 * float(self.delta)
        return -steepest, steepest


@final
class Quantile(PiecewiseLoss):
    r"""Pinball loss, :math:`\max(\tau (y - f), (\tau - 1)(y - f))`.

    The function that minimises its mean is the quantile :math:`\tau` of y at each row.

    Parameters
    ----------
    quantile : float, default=0.5
        The quantile, between 0 and 1; 0.5 is the median.

    References
    ----------
    Koenker and Bassett (1978), Regression quantiles.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.losses import Quantile
    >>> Quantile(0.9).value(np.array([1.0, 1.0]), np.array([0.0, 2.0])).round(6).tolist()
    [0.9, 0.1]
    """

    rules: ClassVar[dict[str, Rule]] = {"quantile": FRACTION}
    curve = False
    smooth = False

    def __init__(self, quantile: float = 0.5):
        self.quantile = quantile

    def limits(self, y: Array) -> tuple[float, float]:
        """Return the slopes below and above the quantile."""
        # Python's float: NumPy's would turn float32 into float64
        share = float(self.quantile)
        return share - 1, share
