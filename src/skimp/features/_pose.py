"""Rows in the functions of a map, as a problem for a solver."""

from typing import Any

from skimp.data import Rows
from skimp.features._base import Basis
from skimp.losses import Loss
from skimp.solvers import Problem


def pose_problem(basis: Basis, rows: Rows, loss: Loss, alpha: float, **options: Any) -> Problem:
    """Return the problem of fitting a sum of the functions of a basis to rows.

    Trials and the final fit of an estimator both pose it here.

    Parameters
    ----------
    basis : Basis
        What a fitted map returns by ``basis()``.
    rows : Rows
        The rows, with matrices of numbers as targets.
    loss, alpha, **options
        As in `~skimp.solvers.Problem`.
    """
    return Problem(
        rows.mapped(basis), loss, alpha, penalty=basis.penalty, factor=basis.factor, **options
    )
