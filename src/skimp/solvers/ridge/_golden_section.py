"""The search for a penalty of R's package KRLS: golden section over leave-one-out errors."""

from bisect import bisect_left

import numpy as np

from skimp._core._types import Array
from skimp.solvers.ridge._smoother import Smoother

_SECTION = 0.381966
"""What is cut off an interval, relative to its length."""
_STEP = 0.05
"""Steps between lower ends of the first interval that are compared."""
_TOL = 1e-3
"""Difference of two errors, relative to the variance of y, at which the search ends."""
_SMALL = 1e-3
"""An eigenvalue, relative to the largest, whose number the lower end should leave parameters."""


def golden_section(smoother: Smoother) -> tuple[float, Array, Array]:
    """Return the penalty, and the penalties that were tried with their scores by "loo".

    The first interval of n alpha ends where one effective parameter is left. It begins where as
    many are left as eigenvalues exceed a thousandth of the largest. The search ends at a
    difference that is large for few rows: its penalty is that of R, not the best one.
    """
    n, eigenvalues = smoother.n_rows, smoother.eigenvalues
    tried: dict[float, float] = {}

    def score(shift: float) -> float:
        tried[shift / n] = float(smoother.scores(np.array([shift / n]), "loo")[0])
        # R sums the squared errors of a y of variance one
        return (n - 1) * tried[shift / n]

    low, high = _ends(eigenvalues, n)
    left, right = low + _SECTION * (high - low), high - _SECTION * (high - low)
    at_left, at_right = score(left), score(right)
    while abs(at_left - at_right) > _TOL * n:
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = low + _SECTION * (high - low)
            at_left = score(left)
        else:
            low, left, at_left = left, right, at_right
            right = high - _SECTION * (high - low)
            at_right = score(right)
    alphas = np.array(sorted(tried))
    best = (left if at_left < at_right else right) / n
    return best, alphas, np.array([tried[alpha] for alpha in alphas.tolist()])


def _ends(eigenvalues: Array, n: int) -> tuple[float, float]:
    """Return the first interval of n alpha."""

    def dimension(shift: float) -> float:
        return float(np.sum(eigenvalues / (eigenvalues + shift)))

    few = 1 + int(np.argmin(np.abs(eigenvalues - _SMALL * eigenvalues[0])))
    least = float(np.finfo(np.float64).eps)
    # the dimension is at most the trace over the shift
    steps = range(1 + int(eigenvalues.sum() / (_STEP * few)))
    first = bisect_left(steps, True, key=lambda k: dimension(least + _STEP * k) <= few)
    last = bisect_left(range(n), True, key=lambda k: dimension(n - k) >= 1)
    low = least + _STEP * first
    return low, max(float(n - last), low + _STEP)
