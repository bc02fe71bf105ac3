"""Conjugate gradients for the squared loss, at budgets too large for normal equations."""

from typing import ClassVar, final

from skimp._core._work import MapCost, Size, Stage
from skimp._params._rules import Rule, broken, check_params, integer, number
from skimp.data import LOCAL, Context
from skimp.losses import Loss, Squared
from skimp.solvers._base import Problem, Solution, Solver
from skimp.solvers._costs import descent_cost
from skimp.solvers._descent import descend

_REDUCTION = 0.01
"""What conjugate gradients reduce a residual to before it is computed anew, from all digits."""


@final
class PCG(Solver):
    r"""Least squares by conjugate gradients, preconditioned as in Falkon.

    The machinery of `Newton`, which needs a step or two if the loss is a parabola:
    4 n D k operations for each of some twenty products with D features and k outputs, and
    O(D^3) for the preconditioner; `Direct` takes n D^2.

    Parameters
    ----------
    tol : float, default=1e-6
        Relative tolerance of the objective.
    max_iter : int, default=100
        Most times that conjugate gradients are started, each of up to sixty products.

    References
    ----------
    Rudi, Carratino and Rosasco (2017), Falkon: an optimal large scale kernel method.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.data import open_rows
    >>> from skimp.losses import squared
    >>> from skimp.solvers import PCG, Problem
    >>> Z = np.arange(20.0)[:, None]
    >>> solution = PCG().solve(Problem(open_rows(Z, target=3 * Z + 1), squared, alpha=1e-9))
    >>> solution.coef.round(4).item(), solution.intercept.round(3).item()
    (3.0, 1.0)
    """

    rules: ClassVar[dict[str, Rule]] = {
        "tol": number(above=0),
        "max_iter": integer(at_least=1),
    }

    def __init__(self, tol: float = 1e-6, max_iter: int = 100):
        self.tol = tol
        self.max_iter = max_iter

    def solve(self, problem: Problem, context: Context = LOCAL) -> Solution:
        """Minimise the squared loss; see `Solver.solve`."""
        check_params(self)
        if not isinstance(problem.loss, Squared):
            raise broken(type(self).__name__, "loss", "'squared'", problem.loss)
        return descend(
            problem,
            context,
            name="pcg",
            tol=self.tol,
            max_iter=self.max_iter,
            forcing=lambda promised: _REDUCTION,
        )

    def cost(self, mapped: MapCost, size: Size, loss: Loss, alpha: float) -> Stage:
        """Return the stage of the steps; see `Solver.cost`."""
        return descent_cost(
            mapped, size, loss, tol=self.tol, usual_tol=1e-6, max_iter=self.max_iter
        )
