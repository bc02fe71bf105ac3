"""The solver of an estimator: its options, and a warning if it does not converge."""

from typing import Any

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from skimp._core._warn import warn_user
from skimp._params._rules import broken, check_params
from skimp.losses import Loss
from skimp.solvers import Solution, Solver, as_solver


def make_solver(solver: Any, *, owner: str, **options: Any) -> Solver:
    """Return a checked copy of a solver, with the options that are not None."""
    made: Solver = clone(as_solver(solver, owner=owner))
    for name, value in options.items():
        if value is not None:
            if name not in made.get_params():
                raise broken(owner, name, f"None for {type(made).__name__}", value)
            made.set_params(**{name: value})
    check_params(made)
    return made


def advise(solver: Solver, loss: Loss) -> str:
    """Return what helps a solver to converge."""
    scaled = loss.smooth or solver.first_order
    return "scale the columns of X" if scaled else "take a smooth loss"


def warn_unless_converged(
    solution: Solution, *, owner: str, advice: str, limit: str = "max_iter"
) -> None:
    """Warn if the solver stopped before its tolerance; ``limit`` names what may have stopped it."""
    if solution.converged:
        return
    warn_user(
        f"{owner}: the solver stopped before its tolerance was reached, after "
        f"{solution.n_iter} iterations ({solution.message}). Raise {limit}, {advice}, or "
        "choose a larger alpha.",
        ConvergenceWarning,
    )
