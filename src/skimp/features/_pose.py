"""The optimization problem of a model in a feature map."""

from typing import Any

from skimp.data import Rows
from skimp.features._base import Basis
from skimp.losses import Loss
from skimp.solvers import Problem


def pose_problem(basis: Basis, rows: Rows, loss: Loss, alpha: float, **options: Any) -> Problem:
    """Return the problem of fitting a weighted sum of basis functions to rows.

    Both the trials and the final fit of an estimator use it.

    Parameters
    ----------
    basis : Basis
        Result of ``basis()`` of a fitted map.
    rows : Rows
        The rows, with a matrix of numeric targets.
    loss, alpha, **options
        As in `~skimp.solvers.Problem`.
    """
    return Problem(
        rows.mapped(basis), loss, alpha, penalty=basis.penalty, factor=basis.factor, **options
    )
