"""Stop a solver where its time is over."""

from collections.abc import Callable
from dataclasses import replace
from time import monotonic
from typing import final

from skimp._core._types import Array
from skimp.solvers._base import Solution, Status


@final
class Deadline:
    """A monitor for `Problem` that stops at a point in time, or where another one does.

    Parameters
    ----------
    when : float
        Seconds of `time.monotonic`.
    other : callable or None, default=None
        A monitor that is asked as well.

    Examples
    --------
    >>> import numpy as np
    >>> from time import monotonic
    >>> from skimp.solvers._deadline import Deadline
    >>> Deadline(monotonic() + 1000)(np.zeros((1, 1)), np.zeros(1))
    False
    """

    def __init__(self, when: float, other: Callable[[Array, Array], bool] | None = None):
        self._when = when
        self._other = other
        self._over = False

    def __call__(self, coef: Array, intercept: Array) -> bool:
        """Tell whether it is time to stop."""
        done = self._other is not None and self._other(coef, intercept)
        self._over = monotonic() >= self._when
        return done or self._over

    def noted(self, solution: Solution) -> Solution:
        """Return a solution that says that its time was over, if it was."""
        if not self._over:
            return solution
        return replace(
            solution,
            status=Status.TIME_LIMIT,
            message=f"{solution.message}, at the time limit",
        )
