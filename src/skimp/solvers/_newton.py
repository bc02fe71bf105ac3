"""Newton's method with conjugate gradients, for smooth losses."""

from typing import ClassVar, final

import numpy as np

from skimp._core._work import MapCost, Size, Stage
from skimp._params._rules import Rule, broken, check_params, integer, number
from skimp.data import LOCAL, Context
from skimp.losses import Loss
from skimp.solvers._active import solve_active_sets
from skimp.solvers._base import Problem, Solution, Solver
from skimp.solvers._costs import descent_cost
from skimp.solvers._descent import descend

_ROUGH = 0.4
"""Relative tolerance of conjugate gradients far from the minimum."""


@final
class Newton(Solver):
    r"""Newton's method with conjugate gradients, for smooth losses.

    Each step solves, for all outputs together,

    .. math::
        \Bigl(\frac{1}{\sum_i w_i} \sum_i w_i \, \ell''_i \, z_i z_i^T + 2 \alpha P\Bigr) \, d = -g

    by conjugate gradients, followed by a line search. The tolerance of conjugate gradients tightens
    near the minimum, and outputs that are solved drop out of the products. One preconditioner
    serves all outputs: their mean curvature on a sample of rows, or on the landmarks as in Falkon.
    If the curvature is nearly zero, a quadratic majorant of the loss replaces it.

    The solver stops if the expected decrease :math:`g^T H^{-1} g / 2` is at most ``tol`` times the
    objective, or times the objective's decrease from the zero model if that is smaller.

    Small problems with a squared hinge or squared epsilon-insensitive loss are solved exactly: each
    step is a least-squares problem of the rows with a positive loss.

    A pass over the rows takes 4 n D k operations for D features and k outputs, less if few rows
    have a nonzero curvature. Features and predictions take n D numbers and 40 n k bytes of memory
    if the memory limit allows it. Otherwise both are recomputed in each pass, and memory is
    constant: O(D^2) for the preconditioner and a sample of 16 D rows. A step then takes a pass for
    each product and one for its end, and up to four more if the line search does not stay there.

    Parameters
    ----------
    tol : float, default=1e-3
        Relative tolerance of the objective.
    max_iter : int, default=100
        Maximum number of Newton steps.

    References
    ----------
    Keerthi and DeCoste (2005), A modified finite Newton method for fast solution of large scale
    linear SVMs. Marteau-Ferey, Bach and Rudi (2019), Globally convergent Newton methods for
    ill-conditioned generalized self-concordant losses.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.data import open_rows
    >>> from skimp.losses import huber
    >>> from skimp.solvers import Newton, Problem
    >>> Z = np.arange(20.0)[:, None]
    >>> y = 3 * Z + 1
    >>> y[7] += 1000
    >>> solution = Newton().solve(Problem(open_rows(Z, target=y), huber, alpha=1e-9))
    >>> bool(np.abs(solution.coef - 3) < 0.02)
    True
    """

    rules: ClassVar[dict[str, Rule]] = {
        "tol": number(above=0),
        "max_iter": integer(at_least=1),
    }

    def __init__(self, tol: float = 1e-3, max_iter: int = 100):
        self.tol = tol
        self.max_iter = max_iter

    def solve(self, problem: Problem, context: Context = LOCAL) -> Solution:
        """Minimize a smooth loss; see `Solver.solve`."""
        check_params(self)
        if not problem.loss.smooth:
            raise broken(type(self).__name__, "loss", "smooth", problem.loss)
        found = solve_active_sets(problem, self.max_iter, context)
        if found is not None:
            return found
        return descend(
            problem,
            context,
            name="newton",
            tol=self.tol,
            max_iter=self.max_iter,
            forcing=self._forcing,
        )

    def cost(self, mapped: MapCost, size: Size, loss: Loss, alpha: float) -> Stage:
        """Return the cost of the steps; see `Solver.cost`."""
        return descent_cost(
            mapped, size, loss, tol=self.tol, usual_tol=1e-3, max_iter=self.max_iter
        )

    def _forcing(self, expected: float) -> float:
        """Return a coarse tolerance for the first steps and the necessary one for the last."""
        expected = max(expected, self.tol)
        fine = max(np.sqrt(expected), np.sqrt(self.tol / expected) / 2)
        return min(_ROUGH, float(fine))
