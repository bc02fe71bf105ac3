"""The hinge loss of support vector machines."""

from typing import final

import numpy as np

from skimp._core._types import Array
from skimp.losses._piecewise import PiecewiseLoss


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
