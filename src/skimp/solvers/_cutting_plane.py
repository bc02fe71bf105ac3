"""Minimization of a penalized convex function from below, by its tangents."""

from collections.abc import Callable
from typing import TypeAlias, final

import numpy as np

from skimp._core._threads import single_threaded_blas
from skimp._core._types import Array
from skimp.data import LOCAL, Context
from skimp.solvers._base import Solution, Status
from skimp.solvers._simplex_qp import simplex_qp

Risk: TypeAlias = Callable[[Array], tuple[float, Array]]
"""Returns the value of a convex, nonnegative function, and a subgradient."""

_TOWARDS = 0.2
"""How far to go from the best point to the minimum of the model."""
_IDLE = 20
"""Iterations after which a cut without influence is dropped, and after which a solver that makes no
progress stops."""
_FIRST = 32
"""Number of cuts for which there is space at first."""
_SHARE = 0.02
"""Error of the quadratic program, in units of the gap."""


def solve_by_cuts(
    risk: Risk,
    width: int,
    alpha: float,
    *,
    tol: float,
    max_iter: int,
    context: Context = LOCAL,
) -> Solution:
    r"""Minimize :math:`R(w) + \alpha \|w\|^2` for a convex function R by cutting planes.

    Each evaluation of R gives a cut :math:`a^T w + b \le R(w)`. The maximum of all cuts is a model
    of R from below, so that the minimum of the penalized model is a lower bound of the objective.
    Its dual has one variable per cut:

    .. math::
        \max_p \; b^T p - \frac{1}{4 \alpha} \|A^T p\|^2, \qquad p \ge 0, \; \sum_j p_j = 1,
        \qquad w = -\frac{1}{2 \alpha} A^T p

    An iteration takes one evaluation of R, and O(m D + m^3) time for D coefficients and m cuts,
    which take m D numbers of memory. The number of iterations grows as :math:`1 / \alpha`.

    The next cut is taken between the best point so far and the minimum of the model, and not at
    that minimum, which saves about half of the cuts. Either the objective at this new point
    decreases by a share of the gap, or the cut raises the model at its minimum by one.

    Values of R may be too small, if the cuts are still below R. The lower bound then holds, and the
    objective is estimated as the larger of the value and the model.

    Parameters
    ----------
    risk : callable
        Returns R(w) >= 0 and a subgradient of it.
    width : int
        The number of coefficients D.
    alpha : float
        Penalty strength.
    tol : float
        Stop if the objective is at most this fraction of it above the lower bound.
    max_iter : int
        Maximum number of cuts.
    context : Context
        Progress reports.

    Returns
    -------
    Solution
        With one column of coefficients.

    References
    ----------
    Joachims, Finley and Yu (2009), Cutting-plane training of structural SVMs, algorithm 3.

    Teo, Vishwanathan, Smola and Le (2010), Bundle methods for regularized risk minimization.

    Franc and Sonnenburg (2008), Optimized cutting plane algorithm for support vector machines (the
    choice of the next cut).
    """
    cuts, best, objective, low = _Cuts(width, alpha), np.zeros(width), np.inf, 0.0
    w, status, least_gap, idle = best, Status.MAX_ITER, np.inf, 0
    history: list[float] = []
    with (
        single_threaded_blas(),
        context.phase("cutting plane", unit="cuts", total=max_iter) as phase,
    ):
        while len(history) < max_iter and status is Status.MAX_ITER:
            value, slope = risk(w)
            offset = value - float(slope @ w)
            # cuts elsewhere may say more than an inexact value
            value = max(value, cuts.at(w))
            objective = max(objective, offset + float((slope + alpha * best) @ best))
            at_w = value + alpha * float(w @ w)
            if at_w < objective:
                best, objective = w, at_w
            history.append(objective)
            cuts.add(slope, offset)
            bound, least = cuts.minimize(_SHARE * max(tol * objective, objective - low))
            low = max(low, bound)
            w = best + _TOWARDS * (least - best)
            gap = (objective - low) / objective if objective > low else 0.0
            least_gap, idle = (gap, 0) if gap < least_gap else (least_gap, idle + 1)
            if gap <= tol:
                status = Status.CONVERGED
            elif idle == _IDLE:
                status = Status.STALLED
            if phase.advance(f"relative gap {gap:.1e}"):
                status = Status.STOPPED_EARLY
    message = f"{len(history)} cuts, relative gap {gap:.1e}"
    if status is Status.STALLED:
        message += ", no progress because of rounding"
    return Solution(
        best[:, None],
        np.zeros(1),
        len(history),
        status,
        message,
        np.array(history),
        solver="cutting_plane",
        intercept_penalized=True,
    )


@final
class _Cuts:
    """Cuts of a nonnegative function; the first is zero."""

    def __init__(self, width: int, alpha: float):
        self._alpha = alpha
        self._size = 1
        self._A, self._G = np.zeros((_FIRST, width)), np.zeros((_FIRST, _FIRST))
        self._b, self._p, self._idle = np.zeros(_FIRST), np.zeros(_FIRST), np.zeros(_FIRST, int)
        self._p[0] = 1.0

    def add(self, slope: Array, offset: float) -> None:
        if self._size == len(self._b):
            self._make_room()
        m = self._size
        self._A[m], self._b[m], self._p[m], self._idle[m] = slope, offset, 0.0, 0
        with np.errstate(over="ignore"):
            self._G[m, : m + 1] = self._G[: m + 1, m] = self._A[: m + 1] @ slope
            finite = np.isfinite(self._G[m, m] / self._alpha)
        if not finite:
            raise ValueError(
                f"gradients must be small enough for their squares divided by alpha={self._alpha:g}"
                " to be finite numbers, found infinity: rescale the features, or raise alpha."
            )
        self._size += 1

    def _make_room(self) -> None:
        """Drop idle cuts, and double the space if most cuts are in use."""
        keep = np.flatnonzero(self._idle < _IDLE)
        m, space = len(keep), len(self._b) * (2 if 2 * len(keep) > len(self._b) else 1)
        square = np.zeros((space, space))
        square[:m, :m] = self._G[np.ix_(keep, keep)]
        self._G = square
        for name in ("_A", "_b", "_p", "_idle"):
            kept = getattr(self, name)[keep]
            part = np.zeros((space, *kept.shape[1:]), kept.dtype)
            part[:m] = kept
            setattr(self, name, part)
        self._size = m

    def at(self, w: Array) -> float:
        """Return the maximum of all cuts at w."""
        return float(np.max(self._A[: self._size] @ w + self._b[: self._size]))

    def minimize(self, tol: float) -> tuple[float, Array]:
        """Return the minimum of the penalized model within ``tol`` from below, and its place."""
        m, alpha = self._size, self._alpha
        A, b = self._A[:m], self._b[:m]
        p = simplex_qp(self._G[:m, :m] / (2 * alpha), b, self._p[:m], tol)
        self._p[:m] = p
        self._idle[:m] = np.where(p > 0, 0, self._idle[:m] + 1)
        w = p @ A / (-2 * alpha)
        return float(b @ p - alpha * (w @ w)), w
