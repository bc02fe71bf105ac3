"""Conjugate gradients for the squared loss."""

from typing import ClassVar, final

from skimp._core._work import MapCost, Size, Stage
from skimp._params._rules import Rule, broken, check_params, integer, number
from skimp.data import LOCAL, Context
from skimp.losses import Loss, Squared
from skimp.solvers._base import Problem, Solution, Solver
from skimp.solvers._costs import descent_cost
from skimp.solvers._descent import descend

_REDUCTION = 0.01
"""Relative residual at which conjugate gradients restart from a recomputed gradient."""


@final
class PCG(Solver):
    r"""Least squares by conjugate gradients, preconditioned as in Falkon.

    Solves the normal equations :math:`(Z^T D Z + \alpha P) \, c = Z^T D y`, with the normalized
    weights on the diagonal of D, without forming them. It is `Newton` applied to the squared loss,
    which needs only a few steps.

    Each of about twenty products takes 4 n D k operations for D features and k outputs, and the
    preconditioner takes O(D^3). `Direct` takes n D^2 operations instead. Memory is O(D^2), plus
    n D numbers and 40 n k bytes if features and predictions fit; otherwise both are recomputed in
    each pass.

    Parameters
    ----------
    tol : float, default=1e-6
        Relative tolerance of the objective.
    max_iter : int, default=100
        Maximum number of restarts of conjugate gradients, each with up to sixty products.

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
        """Minimize the squared loss; see `Solver.solve`."""
        check_params(self)
        if not isinstance(problem.loss, Squared):
            raise broken(type(self).__name__, "loss", "'squared'", problem.loss)
        return descend(
            problem,
            context,
            name="pcg",
            tol=self.tol,
            max_iter=self.max_iter,
            forcing=lambda expected: _REDUCTION,
        )

    def cost(self, mapped: MapCost, size: Size, loss: Loss, alpha: float) -> Stage:
        """Return the cost of the steps; see `Solver.cost`."""
        return descent_cost(
            mapped, size, loss, tol=self.tol, usual_tol=1e-6, max_iter=self.max_iter
        )
