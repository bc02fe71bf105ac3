"""Stochastic subgradient steps on a mean of functions, one at a time."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from skimp._core._threads import single_threaded_blas
from skimp._core._types import Array
from skimp.data import LOCAL, Context
from skimp.solvers._base import Solution, Status
from skimp.solvers._cutting_plane import Risk
from skimp.solvers._passes import Visits

ItemSlope: TypeAlias = Callable[[int, Array], Array]
"""Returns a subgradient of one of the functions."""
_LEAST_STEPS = 64
"""Least number of steps before the first check."""


def solve_by_items(
    risk: Risk,
    slope_at: ItemSlope,
    weight: Array,
    width: int,
    alpha: float,
    *,
    tol: float,
    max_iter: int,
    seed: int,
    context: Context = LOCAL,
) -> Solution:
    r"""Minimize a weighted mean of convex functions plus a penalty by subgradient steps.

    Step t draws a function :math:`\ell_i` in random order and moves

    .. math:: w \leftarrow \Bigl(1 - \frac1t\Bigr) w - \frac{1}{2 \alpha t} \, \ell_i'(w)

    as `Pegasos` does. The result is the average of all w with weights t. A step takes O(D) time for
    D coefficients, in addition to the subgradient.

    The distance from the minimum falls as 1 / t. It is estimated after 1, 2, 4, 8, ... passes and
    at the end: if the objective has changed by c from pass s to pass t, it is c s / (t - s).

    Parameters
    ----------
    risk : callable
        Returns the weighted mean of the functions at w, and a subgradient.
    slope_at : callable
        Returns a subgradient of function i at w.
    weight : array of shape (n,)
        Positive weights. A function of twice the weight is drawn twice as often.
    width : int
        The number of coefficients D.
    alpha : float
        Penalty strength.
    tol : float
        Stop if the objective is about this fraction above the minimum.
    max_iter : int
        Maximum number of passes.
    seed : int
        Seed of the order.
    context : Context
        Progress reports.

    Returns
    -------
    Solution
        With one column of coefficients.

    References
    ----------
    Ratliff, Bagnell and Zinkevich (2007), (Online) subgradient methods for structured prediction.

    Shalev-Shwartz, Singer, Srebro and Cotter (2011), Pegasos: primal estimated sub-gradient solver
    for SVM.

    Lacoste-Julien, Schmidt and Bach (2012), A simpler approach to obtaining an O(1/t) convergence
    rate for the projected stochastic subgradient method (the weights of the average).
    """
    w, mean, t, passes = np.zeros(width), np.zeros(width), 0, 0
    visits, factor = Visits().count(weight)
    numbers = np.repeat(np.arange(len(weight)), visits)
    history: list[float] = []
    status, distance, due, before = Status.MAX_ITER, np.inf, 1, 0
    with (
        single_threaded_blas(),
        context.phase("subgradient", unit="passes", total=max_iter) as phase,
    ):
        while passes < max_iter and status is Status.MAX_ITER:
            for i in np.random.default_rng([seed, passes]).permutation(numbers):
                t += 1
                step = factor[i] / (2 * alpha * t) * slope_at(i, w)
                w *= 1 - 1 / t
                w -= step
                mean += 2 / (t + 1) * (w - mean)
            passes += 1
            if passes in (due, max_iter):
                value = risk(mean)[0] + alpha * float(mean @ mean)
                if history and value:
                    change = abs(history[-1] - value) / value
                    distance = change * before / (passes - before)
                history.append(value)
                due, before = 2 * passes, passes
                if (distance <= tol or value == 0) and t >= _LEAST_STEPS:
                    status = Status.CONVERGED
            if phase.advance(f"distance about {distance:.1e}"):
                status = Status.STOPPED_EARLY
    return Solution(
        mean[:, None],
        np.zeros(1),
        passes,
        status,
        f"{passes} passes, relative distance from the minimum about {distance:.1e}",
        np.array(history),
        solver="subgradient",
        intercept_penalized=True,
    )
