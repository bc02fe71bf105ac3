"""Losses that consist of lines and parabolas."""

from abc import abstractmethod
from typing import ClassVar, final

import numpy as np

from skimp._core._types import Array
from skimp._params._rules import FRACTION, Rule, number
from skimp.losses._base import Loss


class PiecewiseLoss(Loss):
    r"""Base class of losses that consist of lines and parabolas.

    .. math::
        \ell(y, f) = \max_{l \le \beta \le h} \; \beta (y - f) - \epsilon |\beta|
        - \frac{q}{4} \beta^2

    where the limits satisfy :math:`l \le 0 \le h` and may depend on the sign of y,
    :math:`\epsilon` is half the width of the zone without loss, and q is 1 for parabolas and 0 for
    lines. The derivative with respect to f is :math:`-\beta`. The conjugate at u is
    :math:`u y + \epsilon |u| + q u^2 / 4` for :math:`l \le -u \le h`. Dual coordinate descent
    supports all these losses.

    A subclass sets ``curve``, and ``epsilon`` if it is not 0, and implements `limits`.
    """

    curve: ClassVar[bool]
    """True for parabolas (q = 1), False for lines (q = 0)."""
    epsilon: float = 0.0
    """Half the width of the zone without loss."""

    @abstractmethod
    def limits(self, y: Array) -> tuple[Array | float, Array | float]:
        """Return the limits l and h of the slope for each target."""

    def _solve(self, y: Array, f: Array) -> tuple[Array, Array]:
        """Return the maximizing slope beta, and y - f moved towards zero by epsilon."""
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
        """Return the derivative with respect to f; a subgradient at a kink."""
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

    @property
    def max_slope(self) -> float:
        """Return the largest absolute limit of the slope."""
        limits = np.broadcast_arrays(*self.limits(np.array([-1.0, 1.0])))
        return float(np.max(np.abs(limits)))

    @property
    def max_curvature(self) -> float:
        """Return 2 for parabolas and infinity for lines."""
        return 2.0 if self.curve else np.inf

    def majorant(self, y: Array, f: Array) -> Array:
        """Return 2, or less on a line that continues a parabola."""
        if not self.curve:
            return super().majorant(y, f)
        beta, excess = self._solve(y, f)
        above = np.full_like(f, 2)
        return np.divide(beta, excess, out=above, where=beta != 0)

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return the conjugate; infinity if u is not a derivative of the loss."""
        low, high = self.limits(y)
        cost = u * y + u.dtype.type(self.epsilon) * np.abs(u) + self.curve * u * u / 4
        return np.where((-u >= low) & (-u <= high), cost, np.inf)


@final
class Squared(PiecewiseLoss):
    r"""Squared loss, :math:`(y - f)^2`, for regression, or classification with targets 1 and -1.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.losses import squared
    >>> squared.value(np.array([3.0]), np.array([1.0])).item()
    4.0
    """

    curve = True

    def limits(self, y: Array) -> tuple[float, float]:
        """Return infinite limits."""
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
        """Return 0 and y in ascending order."""
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
        """Return 0 and infinity with the sign of y, in ascending order."""
        infinity = y.dtype.type(np.inf)
        return np.where(y < 0, -infinity, 0), np.where(y < 0, 0, infinity)


@final
class EpsilonInsensitive(PiecewiseLoss):
    r"""Epsilon-insensitive loss of support vector regression.

    .. math:: \ell(y, f) = \max(0, |y - f| - \epsilon)

    Parameters
    ----------
    epsilon : float, default=0.1
        Half the width of the zone without loss, in units of y.

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
    r"""Squared epsilon-insensitive loss, :math:`\max(0, |y - f| - \epsilon)^2`.

    Parameters
    ----------
    epsilon : float, default=0.1
        Half the width of the zone without loss, in units of y.

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
        """Return infinite limits."""
        return -np.inf, np.inf


@final
class Huber(PiecewiseLoss):
    r"""Huber loss, squared for small residuals and linear for large ones, robust to outliers.

    .. math::
        \ell(y, f) = r^2 \;\text{ if } |r| \le \delta, \qquad 2 \delta |r| - \delta^2
        \;\text{ otherwise}, \qquad r = y - f

    Parameters
    ----------
    delta : float, default=1.0
        The residual at which the parabola ends and the line starts, in units of y.

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
        # a Python float, because a NumPy float64 would turn float32 arrays into float64
        steepest = 2 * float(self.delta)
        return -steepest, steepest


@final
class Quantile(PiecewiseLoss):
    r"""Pinball loss of quantile regression, :math:`\max(\tau (y - f), (\tau - 1)(y - f))`.

    Its expectation is minimal if f is the conditional quantile :math:`\tau` of y.

    Parameters
    ----------
    quantile : float, default=0.5
        The quantile :math:`\tau`, between 0 and 1; 0.5 is the median.

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
        """Return the slopes for negative and for positive residuals y - f."""
        # a Python float, because a NumPy float64 would turn float32 arrays into float64
        share = float(self.quantile)
        return share - 1, share
