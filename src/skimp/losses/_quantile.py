"""The pinball loss of quantile regression."""

from typing import ClassVar, final

from skimp._core._types import Array
from skimp._params._rules import FRACTION, Rule
from skimp.losses._piecewise import PiecewiseLoss


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

    _rules: ClassVar[dict[str, Rule]] = {"quantile": FRACTION}
    curve = False
    smooth = False

    def __init__(self, quantile: float = 0.5):
        self.quantile = quantile

    def limits(self, y: Array) -> tuple[float, float]:
        """Return the slopes below and above the quantile."""
        # Python's float: NumPy's would turn float32 into float64
        share = float(self.quantile)
        return share - 1, share
