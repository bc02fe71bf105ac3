"""Stop a solver where the loss on rows that it does not see has ceased to fall."""

from dataclasses import replace
from typing import final

import numpy as np

from skimp._core._types import Array
from skimp.data import Rows
from skimp.losses import Loss
from skimp.solvers._base import Solution
from skimp.solvers._objective import mean_loss

_PATIENCE = 3
"""Iterations without a smaller loss after which it is time to stop."""


@final
class EarlyStopping:
    """A monitor for `Problem` that remembers the best coefficients.

    Parameters
    ----------
    rows : Rows
        Held-out rows, mapped, with targets.
    loss : Loss
        What a mistake costs.

    Attributes
    ----------
    history : list of float
        The mean loss of the held-out rows after each iteration.
    """

    def __init__(self, rows: Rows, loss: Loss):
        self._rows = rows
        self._loss = loss
        self._best: tuple[Array, Array] | None = None
        self.history: list[float] = []

    def __call__(self, coef: Array, intercept: Array) -> bool:
        """Tell whether the last iterations brought nothing."""
        self.history.append(mean_loss(self._rows, self._loss, coef, intercept))
        best = int(np.argmin(self.history))
        if best == len(self.history) - 1:
            self._best = coef.copy(), intercept.copy()
        return len(self.history) - 1 - best >= _PATIENCE

    def best(self, solution: Solution) -> Solution:
        """Return a solution with the best coefficients in the place of the last ones."""
        if self._best is None:
            return solution
        coef, intercept = self._best
        at = int(np.argmin(self.history)) + 1
        message = f"{solution.message}, coefficients of iteration {at}, best on held-out rows"
        return replace(solution, coef=coef, intercept=intercept, message=message)
