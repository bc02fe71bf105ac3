"""Automatic choice of the solver."""

from dataclasses import dataclass, replace
from typing import ClassVar, final

from skimp._core._work import MapCost, Size, Stage
from skimp._params._rules import NONE, Rule, check_params, integer, number
from skimp.data import LOCAL, Context, Rows
from skimp.losses import Loss, Squared
from skimp.solvers._base import Learner, Outline, Problem, Solution, Solver
from skimp.solvers._costs import outline_of
from skimp.solvers._direct import Direct
from skimp.solvers._dual_cd import DualCD, has_dual
from skimp.solvers._newton import Newton
from skimp.solvers._pcg import PCG
from skimp.solvers._sgd import SGD

_FEW_CODED = 1000
DIRECT_FEATURES = 3000
"""Number of features up to which normal equations are as fast as conjugate gradients."""


@final
class Auto(Solver):
    """Automatic choice of a solver; the solution's message gives the reason.

    ===================================================  =========
    problem                                              solver
    ===================================================  =========
    squared loss, at most 3,000 features, equations fit  `Direct`
    coded or wide sparse features, loss with a dual      `DualCD`
    squared loss otherwise                               `PCG`
    other smooth losses                                  `Newton`
    other losses                                         `DualCD`
    ===================================================  =========

    The first row that applies decides. The equations fit if they respect the memory limit. Coded
    features, those of `RandomBinning`, go to `Direct` only if they are at most 1,000 or not more
    than the rows. Sparse features are wide if there are more than 2,000 of them. See each solver
    for its cost. ``partial_fit`` uses `SGD` instead of solvers that need all rows at once.

    Parameters
    ----------
    tol : float or None, default=None
        Tolerance of the chosen solver, if it has one. None uses its default.
    max_iter : int or None, default=None
        Maximum number of iterations of the chosen solver. None uses its default.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.data import open_rows
    >>> from skimp.losses import hinge
    >>> from skimp.solvers import Auto, Problem
    >>> Z = np.array([[-1.0], [1.0]])
    >>> solution = Auto().solve(Problem(open_rows(Z, target=Z), hinge, alpha=0.1))
    >>> solution.message.split(";")[0]
    'auto chose dual_cd, since the loss is not smooth'
    """

    incremental: ClassVar[bool] = True
    rules: ClassVar[dict[str, Rule]] = {
        "tol": NONE | number(above=0),
        "max_iter": NONE | integer(at_least=1),
    }

    def __init__(self, tol: float | None = None, max_iter: int | None = None):
        self.tol = tol
        self.max_iter = max_iter

    def solve(self, problem: Problem, context: Context = LOCAL) -> Solution:
        """Choose a solver and minimize with it; see `Solver.solve`."""
        check_params(self)
        solver, why = self._choose(problem.outline(context), problem.loss)
        return _explained(solver.solve(problem, context), why)

    def learner(self, problem: Problem) -> Learner:
        """Return the learner of the chosen solver, or of `SGD` if that needs all rows at once."""
        check_params(self)
        solver, why = self._choose(problem.outline(), problem.loss)
        if not solver.incremental:
            solver, why = SGD(), f"{type(solver).__name__} would need all rows at once"
        return _Chosen(solver.learner(problem), why)

    def cost(self, mapped: MapCost, size: Size, loss: Loss, alpha: float) -> Stage:
        """Return the cost of the chosen solver; see `Solver.cost`."""
        solver, _ = self._choose(outline_of(mapped, size), loss)
        return solver.cost(mapped, size, loss, alpha)

    def _choose(self, outline: Outline, loss: Loss) -> tuple[Solver, str]:
        """Return the chosen solver, with the given parameters, and the reason."""
        width, coded = outline.width, outline.coded
        few = isinstance(loss, Squared) and width <= DIRECT_FEATURES
        # codes of few rows have more features than rows: the equations would take longer
        few &= not coded or width <= max(_FEW_CODED, outline.n_rows)
        solver: Solver = DualCD()
        why = "the loss is not smooth"
        if few and Direct().needed_bytes(outline) <= outline.memory:
            solver, why = Direct(), f"the loss is squared and there are only {width} features"
        elif (coded or outline.wide) and has_dual(loss):
            why = f"the {width} features are {'coded' if coded else 'sparse'}"
        elif isinstance(loss, Squared) and width > DIRECT_FEATURES:
            solver, why = (
                PCG(),
                f"the loss is squared and there are {width} features, more than {DIRECT_FEATURES}",
            )
        elif isinstance(loss, Squared):
            why = f"the normal equations of {width} features exceed the memory limit"
            solver = PCG()
        elif loss.smooth:
            solver, why = Newton(), "the loss is smooth"
        known = solver.get_params()
        given = {name: value for name, value in self.get_params().items() if value is not None}
        solver.set_params(**{name: value for name, value in given.items() if name in known})
        return solver, why


@dataclass(frozen=True)
class _Chosen(Learner):
    """The learner of the chosen solver, and the reason for the choice."""

    learner: Learner
    why: str

    def learn(self, rows: Rows, context: Context = LOCAL) -> "_Chosen":
        return replace(self, learner=self.learner.learn(rows, context))

    def solution(self) -> Solution:
        return _explained(self.learner.solution(), self.why)


def _explained(solution: Solution, why: str) -> Solution:
    message = f"auto chose {solution.solver}, since {why}; {solution.message}"
    return replace(solution, message=message)
