"""The squared hinge loss."""

from typing import final

import numpy as np

from skimp._core._types import Array
from skimp.losses._piecewise import PiecewiseLoss


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
