"""Leave-one-out errors of ridge models for many penalties, from one eigendecomposition."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from skimp._core._blocks import Scratch
from skimp._core._linalg import check_representable, eigenpairs, triangular_solve
from skimp._core._types import Array
from skimp._core._work import DOUBLE
from skimp.data import LOCAL, Block, Context
from skimp.solvers._base import Problem
from skimp.solvers._features import as_dense_features
from skimp.solvers.ridge._moments import covariance
from skimp.solvers.ridge._path import penalty_factor
from skimp.solvers.ridge._principal import PrincipalRidge
from skimp.solvers.ridge._validation import left_out_errors

_EPS = float(np.finfo(np.float64).eps)
_ROUNDINGS = 10.0
"""Penalties below this multiple of the eigenvalues' rounding error are rejected."""
_LEAST_KEPT = 1e-10
"""Minimum of 1 minus the leverage: smaller values are rounding errors."""


@dataclass(frozen=True)
class LeftOut:
    r"""Summary of leave-one-out predictions.

    Each row is predicted by the model of all other rows with the same penalty n alpha.

    Attributes
    ----------
    costs : array of shape (n_alphas, t)
        Weighted mean of t error measures. Infinite if the penalty is at the level of rounding.
    dimensions : array of shape (n_alphas,)
        Effective dimensions, including the intercept.
    lowest, highest : arrays of shape (n_alphas, k)
        Smallest and largest prediction of each output. They include the intercept, which the model
        predicts far away from all rows.
    """

    costs: Array
    dimensions: Array
    lowest: Array
    highest: Array


Measure = Callable[[Array, Array], Array]
"""Error measures: from targets (n, k) and predictions (n, n_models, k) to (n, n_models, t)."""


def squared_errors(Y: Array, F: Array) -> Array:
    """Return squared errors, summed over outputs."""
    missed = Y[:, None, :] - F
    squares: Array = np.einsum("ijk,ijk->ij", missed, missed)
    return squares[:, :, None]


def leave_one_out(
    problem: Problem,
    alphas: Array,
    sizes: Sequence[int],
    measures: Sequence[Measure],
    counts: Array | None = None,
    context: Context = LOCAL,
) -> list[LeftOut]:
    """Compute leave-one-out errors for several penalties and numbers of columns.

    Takes two passes over the rows and, for D features and k outputs, 4 n D^2 operations, 9 D^3 for
    the eigenvalues, and 2 n D (k + 1) per penalty.

    Parameters
    ----------
    problem : Problem
        The features of the rows. The loss and ``alpha`` are ignored.
    alphas : array
        Penalties.
    sizes : sequence of int
        Numbers of columns: models use the first columns.
    measures : sequence of callables
        Error measure for each size.
    counts : array of shape (n,), optional
        Number of identical rows that each row represents, of which one is left out. Default: one.
    context : Context
        Number of threads and progress reports.

    Returns
    -------
    list of LeftOut
        One per size.
    """
    S = covariance(problem.rows, problem.fit_intercept, context=context)
    check_representable(S.within, S.across, S.targets)
    R = penalty_factor(problem)
    white = S.whiten(R)
    models, floors, initial = [], [], []
    for m in sizes:
        values, V = eigenpairs(white.within[:m, :m])
        floors.append(_ROUNDINGS * max(-float(values[0]), _EPS * float(values[-1])))
        turn = V if R is None else triangular_solve(R[:m, :m], V, lower=False)
        across, values = V.T @ white.across[:m], np.maximum(values, 0.0)
        made = PrincipalRidge(turn, values, across, S.mean[:m], S.target_mean, S.centred)
        models.append(made)
        _, constants = made.models(alphas)
        initial.append((np.zeros((len(alphas), 1)), constants, constants))

    def of_block(block: Block, _: Scratch) -> list[_Sums]:
        weight = block.weights()
        present = weight > 0
        if not present.any():
            return initial
        Y = np.asarray(block.y, np.float64)[present]
        Z = as_dense_features(block.X, DOUBLE)[present]
        single = share = weight[present] / S.weight
        if counts is not None:
            single = share / counts[block.start : block.start + block.size][present]
        found = []
        for m, made, measure in zip(sizes, models, measures, strict=True):
            errors, left = made.residuals(Z[:, :m], Y, single, alphas)
            predicted = Y[:, None] - left_out_errors(errors, left, _LEAST_KEPT)
            costs = np.einsum("i,ijt->jt", share, measure(Y, predicted))
            found.append((costs, predicted.min(axis=0), predicted.max(axis=0)))
        return found

    def add(total: list[_Sums], part: list[_Sums]) -> list[_Sums]:
        return [
            (a[0] + b[0], np.minimum(a[1], b[1]), np.maximum(a[2], b[2]))
            for a, b in zip(total, part, strict=True)
        ]

    sums = context.map_reduce(problem.rows, of_block, add, initial, record="left out")
    return [
        LeftOut(np.where((alphas > floor)[:, None], costs, np.inf), made.dimensions(alphas), *ends)
        for made, floor, (costs, *ends) in zip(models, floors, sums, strict=True)
    ]


_Sums = tuple[Array, Array, Array]
