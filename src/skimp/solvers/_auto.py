"""The solver that chooses a solver."""

from dataclasses import replace
from typing import ClassVar, final

from skimp._core._work import MapCost, Size, Stage
from skimp._params._rules import NONE, Rule, check_params, integer, number
from skimp.data import LOCAL, Context
from skimp.losses import Loss, Squared
from skimp.solvers._base import Outline, Problem, Solution, Solver
from skimp.solvers._costs import outline_of
from skimp.solvers._direct import Direct
from skimp.solvers._dual_cd import DualCD, has_dual
from skimp.solvers._newton import Newton
from skimp.solvers._pcg import PCG

_FEW_CODED = 1000
DIRECT_FEATURES = 3000
"""Features for which normal equations are as fast as conjugate gradients, and exact."""


@final
class Auto(Solver):
    """Chooses `Direct` or `PCG`, `Newton` or `DualCD`, and says why in the solution's message.

    The squared loss goes to normal equations while the features are few and their equations fit
    the memory limit, and to conjugate gradients beyond; other smooth losses go to Newton's
    method, and losses with kinks to dual coordinate descent. So do rows of `~skimp.data.Codes`,
    which it reads as they are, with any other loss that has a dual.

    Parameters
    ----------
    tol : float or None, default=None
        Tolerance of the chosen solver, if it has one; None for its default.
    max_iter : int or None, default=None
        Most iterations of the chosen solver; None for its default.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.data import open_rows
    >>> from skimp.losses import hinge
    >>> from skimp.solvers import Auto, Problem
    >>> Z = np.array([[-1.0], [1.0]])
    >>> solution = Auto().solve(Problem(open_rows(Z, target=Z), hinge, alpha=0.1))
    >>> solution.message.split(";")[0]
    'auto chose dual_cd, since the loss has kinks'
    """

    rules: ClassVar[dict[str, Rule]] = {
        "tol": NONE | number(above=0),
        "max_iter": NONE | integer(at_least=1),
    }

    def __init__(self, tol: float | None = None, max_iter: int | None = None):
        self.tol = tol
        self.max_iter = max_iter

    def solve(self, problem: Problem, context: Context = LOCAL) -> Solution:
        """Choose a solver and minimise with it; see `Solver.solve`."""
        check_params(self)
        solver, why = self._choose(problem.outline(context), problem.loss)
        solution = solver.solve(problem, context)
        message = f"auto chose {solution.solver}, since {why}; {solution.message}"
        return replace(solution, message=message)

    def cost(self, mapped: MapCost, size: Size, loss: Loss, alpha: float) -> Stage:
        """Return the stage of the solver that is chosen; see `Solver.cost`."""
        solver, _ = self._choose(outline_of(mapped, size), loss)
        return solver.cost(mapped, size, loss, alpha)

    def _choose(self, outline: Outline, loss: Loss) -> tuple[Solver, str]:
        """Return the solver with the parameters that are given, and why."""
        width, coded = outline.width, outline.coded
        few = isinstance(loss, Squared) and width <= DIRECT_FEATURES
        # codes of few rows have more features than rows: equations would be the longer way
        few &= not coded or width <= max(_FEW_CODED, outline.n_rows)
        solver: Solver = DualCD()
        why = "the loss has kinks"
        if few and Direct().needed_bytes(outline) <= outline.memory:
            solver, why = Direct(), f"the loss is squared and {width} features are few"
        elif coded and has_dual(loss):
            why = f"rows are codes of {width} features, few of which a row has"
        elif isinstance(loss, Squared) and width > DIRECT_FEATURES:
            solver, why = PCG(), f"the loss is squared and {width} features are many"
        elif isinstance(loss, Squared):
            why = f"normal equations of {width} features do not fit the memory limit"
            solver = PCG()
        elif loss.smooth:
            solver, why = Newton(), "the loss is smooth"
        known = solver.get_params()
        given = {name: value for name, value in self.get_params().items() if value is not None}
        solver.set_params(**{name: value for name, value in given.items() if name in known})
        return solver, why
