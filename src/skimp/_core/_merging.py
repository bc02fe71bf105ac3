"""Where to put the point that replaces two points of a Gaussian kernel expansion."""

from functools import cache

import numpy as np

from skimp._core._types import Array

_SIZE = 256
"""Rows and columns of the table."""
_GOLDEN = (np.sqrt(5) - 1) / 2
_STEPS = 40
"""Golden section steps: the last interval has a length of 2e-9."""


@cache
def merge_table() -> Array:
    r"""Return the best weight h of the merged point ``h x + (1 - h) y``, found by golden section.

    With :math:`\kappa = k(x, y)` and coefficients a >= b > 0, h maximizes

    .. math:: a \kappa^{(1 - h)^2} + b \kappa^{h^2}

    The maximum is in [1/2, 1], where the function has a single one. Rows are values of kappa from 0
    to 1, and columns values of (a - b) / (a + b) from 0 to 1.
    """
    kappa = np.linspace(0, 1, _SIZE)[:, None]
    share = (1 + np.linspace(0, 1, _SIZE)) / 2

    def value(h: Array) -> Array:
        kept: Array = share * kappa ** ((1 - h) ** 2) + (1 - share) * kappa ** (h**2)
        return kept

    low, high = np.full((_SIZE, _SIZE), 0.5), np.ones((_SIZE, _SIZE))
    for _ in range(_STEPS):
        step = _GOLDEN * (high - low)
        left, right = high - step, low + step
        better = value(left) > value(right)
        low, high = np.where(better, low, left), np.where(better, right, high)
    table: Array = (low + high) / 2
    # the ends of the range: far points stay where they are, equal ones are averaged
    table[0], table[-1] = 1.0, share
    return table
