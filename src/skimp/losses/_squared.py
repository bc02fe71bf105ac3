"""The squared loss."""

from typing import final

import numpy as np

from skimp._core._types import Array
from skimp.losses._piecewise import PiecewiseLoss


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
