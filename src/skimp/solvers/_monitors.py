"""Monitors for `Problem`: a time limit, and early stopping on held-out rows."""

from collections.abc import Callable
from dataclasses import replace
from time import monotonic
from typing import Any, final

import numpy as np

from skimp._core._types import Array
from skimp.data import LOCAL, Context, Rows
from skimp.losses import Loss
from skimp.solvers._base import Solution, Status
from skimp.solvers._objective import mean_loss

Monitor = Callable[[Array, Array], bool]
_PATIENCE = 3
"""Stop after this many iterations without a smaller loss."""


@final
class Deadline:
    """Monitor that stops a solver at a point in time.

    Parameters
    ----------
    when : float
        The point in time, in seconds of `time.monotonic`.
    other : callable or None, default=None
        Another monitor that may stop the solver earlier.

    Examples
    --------
    >>> import numpy as np
    >>> from time import monotonic
    >>> from skimp.solvers import Deadline
    >>> Deadline(monotonic() + 1000)(np.zeros((1, 1)), np.zeros(1))
    False
    """

    def __init__(self, when: float, other: Callable[[Array, Array], bool] | None = None):
        self._when = when
        self._other = other
        self._over = False

    def __call__(self, coef: Array, intercept: Array) -> bool:
        """Return whether to stop."""
        done = self._other is not None and self._other(coef, intercept)
        self._over = monotonic() >= self._when
        return done or self._over

    def noted(self, solution: Solution) -> Solution:
        """Return the solution, marked with the time limit if that was reached."""
        if not self._over:
            return solution
        message = f"{solution.message}, stopped at the time limit"
        return replace(solution, status=Status.TIME_LIMIT, message=message)


@final
class EarlyStopping:
    """Monitor that stops when the held-out loss no longer falls, and keeps the best coefficients.

    The solver stops after three checks without a smaller loss. A check takes one pass over the
    held-out rows.

    Parameters
    ----------
    rows : Rows
        Features of the held-out rows, with targets.
    loss : Loss
        The loss to monitor.
    context : Context
        Number of threads and progress reports.

    Attributes
    ----------
    history : list of float
        Mean loss on the held-out rows after each iteration.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.data import open_rows
    >>> from skimp.losses import log
    >>> from skimp.solvers import EarlyStopping, Newton, Problem
    >>> rng = np.random.default_rng(0)
    >>> Z = rng.normal(size=(200, 20))
    >>> y = np.where(Z[:, :1] + rng.normal(size=(200, 1)) > 0, 1.0, -1.0)
    >>> stopping = EarlyStopping(open_rows(Z[100:], target=y[100:]), log)
    >>> rows = open_rows(Z[:100], target=y[:100])
    >>> solution = Newton().solve(Problem(rows, log, alpha=1e-6, monitor=stopping))
    >>> best = stopping.best(solution)
    >>> min(stopping.history) == stopping.history[0]
    True
    """

    def __init__(self, rows: Rows, loss: Loss, context: Context = LOCAL):
        self._rows = rows
        self._loss = loss
        self._context = context
        self._best: tuple[Array, Array] | None = None
        self.history: list[float] = []

    def __call__(self, coef: Array, intercept: Array) -> bool:
        """Return whether the last three iterations brought no smaller loss."""
        self.history.append(mean_loss(self._rows, self._loss, coef, intercept, self._context))
        best = int(np.argmin(self.history))
        if best == len(self.history) - 1:
            self._best = coef.copy(), intercept.copy()
        return len(self.history) - 1 - best >= _PATIENCE

    def state(self) -> dict[str, Any]:
        """Return the checks so far and the best coefficients, for a checkpoint."""
        return {"history": self.history, "best": self._best}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a `state`."""
        self.history, self._best = list(state["history"]), state["best"]

    def best(self, solution: Solution) -> Solution:
        """Return the solution with the best coefficients rather than the last ones."""
        if self._best is None:
            return solution
        coef, intercept = self._best
        at = int(np.argmin(self.history)) + 1
        message = f"{solution.message}, coefficients of check {at} of {len(self.history)}"
        message += ", best on held-out rows"
        return replace(solution, coef=coef, intercept=intercept, message=message)


def monitor_state(monitor: Monitor | None) -> dict[str, Any] | None:
    """Return what a checkpoint stores of a monitor."""
    return monitor.state() if isinstance(monitor, EarlyStopping) else None


def restore_monitor(monitor: Monitor | None, state: dict[str, Any] | None) -> None:
    """Let a monitor continue from a state."""
    if isinstance(monitor, EarlyStopping) and state is not None:
        monitor.restore(state)
