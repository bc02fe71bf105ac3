"""Leave-one-out errors of ridge models: every penalty from one eigendecomposition."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skimp._core._blocks import Scratch
from skimp._core._linalg import (
    check_representable,
    cholesky,
    eigenpairs,
    triangular_solve,
    whitened,
)
from skimp._core._types import Array
from skimp.data import LOCAL, Block, Context
from skimp.solvers._base import Problem
from skimp.solvers._features import dense_features
from skimp.solvers._moments import Covariance, covariance

_DOUBLE = np.dtype(np.float64)
_EPS = float(np.finfo(np.float64).eps)
_JITTERS = (0.0, 1e-12, 1e-8)
_ROUNDINGS = 10.0
"""Penalties below this many times the rounding of the eigenvalues are left out."""
_LEAST_KEPT = 1e-10
"""The least share of a row that others do not determine, as far as rounding can say."""


@dataclass(frozen=True)
class LeftOut:
    r"""Predictions of rows by the models of all other rows with the same penalty n alpha.

    For one size.

    Attributes
    ----------
    alphas : array of shape (n_alphas,)
        Penalties.
    costs : array of shape (n_alphas, t)
        Weighted means of what predictions of left-out rows cost, by each of t measures. Infinite
        for a penalty that is at the level of rounding.
    dimensions : array of shape (n_alphas,)
        Effective dimensions, with the intercept.
    lowest, highest : arrays of shape (n_alphas, k)
        The least and the largest prediction of each output, the intercept among them: the model
        predicts it far from all rows.
    """

    alphas: Array
    costs: Array
    dimensions: Array
    lowest: Array
    highest: Array


Measure = Callable[[Array, Array], Array]
"""What predictions cost: of targets (n, k) and predictions (n, n_models, k), (n, n_models, t).

There may be t measures.
"""


def squared_errors(Y: Array, F: Array) -> Array:
    """Return squared errors, summed over outputs."""
    missed = Y[:, None, :] - F
    squares: Array = np.einsum("ijk,ijk->ij", missed, missed)
    return squares[:, :, None]


def leave_one_out(
    problem: Problem,
    alphas: Array,
    sizes: tuple[int, ...],
    counts: Array | None = None,
    measures: tuple[Measure, ...] = (squared_errors,),
    context: Context = LOCAL,
) -> list[LeftOut]:
    r"""Leave out every row, for each penalty and for the first columns of several sizes.

    With S the covariance of the features in coordinates in which the penalty is the identity,
    :math:`S = V \Lambda V^T`, and a row's :math:`u_i = V^T (z_i - \bar z)`,

    .. math::
        y_i - f_{-i}(x_i) = \frac{y_i - f(x_i)}{1 - h_i} , \qquad
        h_i = \frac{w_i}{W} \Bigl(1 + \sum_j \frac{u_{ij}^2}{\lambda_j + \alpha}\Bigr)

    Two passes over the rows: 4 n D^2 operations for D features, 9 D^3 for the eigenvalues, and
    2 n D (k + 1) for each penalty and k outputs.

    Parameters
    ----------
    problem : Problem
        The rows and their features; the loss and ``alpha`` are not used.
    alphas : array
        Penalties.
    sizes : tuple of int
        Numbers of columns.
    counts : array of shape (n,), optional
        Of how many equal rows each is made, of which one is left out; one by default.
    measures : tuple of callables
        What a prediction costs, for each size or for all; squared errors by default.
    context : Context
        How to run over the rows.

    Returns
    -------
    list of LeftOut
        One for each size.
    """
    S = covariance(problem, _DOUBLE, context)
    check_representable(S.within, S.across, np.array(S.target))
    G, b, R = S.within, S.across, _factor(problem)
    if R is not None:
        G = whitened(G, R)
        b = triangular_solve(R, b, lower=False, transposed=True)
    models = [_Models.of(G, b, R, size, alphas) for size in sizes]
    measures = measures * (len(sizes) // len(measures))

    def of_block(block: Block, _: Scratch) -> list[_Sums]:
        weight = block.weights()
        Y = np.asarray(block.y, np.float64)[weight > 0]
        if not len(Y):
            return []
        Z = (dense_features(block.X, _DOUBLE) - S.mean)[weight > 0]
        share = weight[weight > 0] / S.weight
        single = share
        if counts is not None:
            single = share / counts[block.start : block.start + block.size][weight > 0]
        found = []
        for model, measure in zip(models, measures, strict=True):
            U = Z[:, : len(model.turn)] @ model.turn
            fitted = (U @ model.coef.reshape(len(U.T), -1)).reshape(len(U), len(alphas), -1)
            leverage = single[:, None] * (np.square(U) @ model.shrink + problem.fit_intercept)
            missed = (Y - S.target_mean)[:, None, :] - fitted
            missed /= np.maximum(1 - leverage, _LEAST_KEPT)[:, :, None]
            predicted = np.subtract(Y[:, None, :], missed, out=missed)
            costs = np.einsum("i,ijt->jt", share, measure(Y, predicted))
            found.append(_Sums(costs, predicted.min(axis=0), predicted.max(axis=0)))
        return found

    def add(total: list[_Sums], part: list[_Sums]) -> list[_Sums]:
        if not (total and part):
            return total or part
        return [a.add(b) for a, b in zip(total, part, strict=True)]

    initial: list[_Sums] = []
    sums = context.map_reduce(problem.rows, of_block, add, initial)
    return [
        model.judged(found, S, problem.fit_intercept, alphas)
        for model, found in zip(models, sums, strict=True)
    ]


def _factor(problem: Problem) -> Array | None:
    """Return the upper factor of the penalty matrix, None for the identity."""
    if problem.penalty is None or problem.factor is not None:
        return problem.factor
    factors = (cholesky(problem.penalty, jitter=jitter) for jitter in _JITTERS)
    return next(R for R in factors if R is not None)


@dataclass(frozen=True)
class _Models:
    """Models of one size in the coordinates of eigenvectors.

    Features times ``turn`` are those coordinates; ``coef`` are the coefficients of each penalty
    there, ``shrink`` one over eigenvalue plus penalty, ``dimensions`` the effective ones of each
    penalty, and ``floor`` the penalty at which rounding begins.
    """

    turn: Array
    coef: Array
    shrink: Array
    dimensions: Array
    floor: float

    @classmethod
    def of(cls, G: Array, b: Array, R: Array | None, size: int, alphas: Array) -> "_Models":
        values, vectors = eigenpairs(G[:size, :size])
        rounding = max(-float(values[0]), _EPS * float(values[-1]))
        values = np.maximum(values, 0.0)
        shrink = 1 / (values[:, None] + alphas)
        coef = shrink[:, :, None] * (vectors.T @ b[:size])[:, None, :]
        turn = vectors
        if R is not None:
            turn = triangular_solve(R[:size, :size], vectors, lower=False)
        return cls(turn, coef, shrink, values @ shrink, _ROUNDINGS * rounding)

    def judged(self, sums: "_Sums", S: Covariance, intercept: bool, alphas: Array) -> LeftOut:
        """Return what was summed; the intercept counts as a prediction."""
        coefs = np.einsum("ij,jak->iak", self.turn, self.coef)
        constants = S.target_mean - np.einsum("i,iak->ak", S.mean[: len(coefs)], coefs)
        costs = sums.costs.copy()
        costs[alphas <= self.floor] = np.inf
        return LeftOut(
            np.asarray(alphas),
            costs,
            self.dimensions + intercept,
            np.minimum(sums.lowest, constants),
            np.maximum(sums.highest, constants),
        )


@dataclass(frozen=True)
class _Sums:
    """What predictions of left-out rows cost, and the least and the largest of them."""

    costs: Array
    lowest: Array
    highest: Array

    def add(self, other: "_Sums") -> "_Sums":
        return _Sums(
            self.costs + other.costs,
            np.minimum(self.lowest, other.lowest),
            np.maximum(self.highest, other.highest),
        )
