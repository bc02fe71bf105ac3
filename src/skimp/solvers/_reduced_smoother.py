"""Penalized least squares in few basis functions for every penalty, in one or two passes."""

from functools import cached_property
from typing import final

import numpy as np

from skimp._core._blocks import Scratch
from skimp._core._linalg import check_representable, dense, eigenpairs, inverse_root
from skimp._core._types import Array
from skimp.data import LOCAL, Block, Context, Rows
from skimp.losses import Squared
from skimp.solvers._base import Problem
from skimp.solvers._features import targets
from skimp.solvers._moments import covariance
from skimp.solvers._smoother import LEAST, LinearFit, Smoother

_DOUBLE = np.dtype(np.float64)
_EPS = float(np.finfo(np.float64).eps)
_CUT = 1e-11
"""Directions of less penalty than this, relative to the largest, are left out: functions that are
all but sums of others, whose covariances are rounding."""
_LEFT = 1e-3
"""Share of the freedom of the rows that a model must leave: what is left of less is rounding."""


@final
class ReducedSmoother(Smoother):
    r"""Models in D basis functions, with the penalty matrix P.

    With S the covariance of the functions over the rows, and U such that
    :math:`U^T P U = I` and :math:`U^T S U = \mathrm{diag}(\mu)`, functions :math:`z = U^T \varphi`
    have the coefficients :math:`s / (\mu + \alpha)`, where s is their covariance with y, and

    .. math:: H_{ii} = \frac{w_i}{n} \Bigl(1 + \sum_j \frac{z_{ij}^2}{\mu_j + \alpha}\Bigr)

    The covariance takes one pass over the rows and n D^2 operations, all left-out errors another
    one and 2 n D^2, residuals one and next to none.

    Parameters
    ----------
    rows : Rows
        Values of the functions, targets of shape (n, k), centred where there is an intercept, and
        positive weights.
    penalty : array of shape (D, D)
        The matrix P.
    fit_intercept : bool
        Whether there is an unpenalized b.
    context : Context
        How to run over the rows.
    """

    def __init__(
        self, rows: Rows, penalty: Array, *, fit_intercept: bool, context: Context = LOCAL
    ):
        problem = Problem(rows, Squared(), 1.0, fit_intercept=fit_intercept)
        S = covariance(problem, _DOUBLE, context)
        check_representable(S.within, S.across, S.targets, penalty)
        self.rows = rows
        self.context = context
        self.n_rows = S.n_rows
        self.weight = S.weight
        self.variance = S.targets.clip(0)
        self.total = S.n_rows * self.variance
        self.fit_intercept = fit_intercept
        self.mean = S.mean
        self.target_mean = S.target_mean
        self.weight_mean = S.weight / S.n_rows
        W, _ = inverse_root(penalty, rank=None, eps=_CUT)
        values, V = eigenpairs(W.T @ S.within @ W)
        # what is below rounding is not less than rounding: penalties may be
        self.values = np.maximum(values, len(values) * _EPS * max(values[-1], 0.0))
        self.U = W @ V
        self.across = self.U.T @ S.across
        self.scale = float(self.values.sum()) or 1.0

    @property
    def eigenvalues(self) -> Array:
        """The variances of the z, times n; see `Smoother.eigenvalues`."""
        return np.asarray(self.n_rows * self.values[::-1])

    def scores(self, alphas: Array, criterion: str) -> Array:
        """Return scores, "gcv" by residuals, "loo" by leverages; see `Smoother.scores`."""
        shrinkage = 1 / np.add.outer(np.asarray(alphas), self.values)
        total = np.where(self.variance > 0, self.variance, 1.0)
        left = 1 - (shrinkage @ self.values + self.fit_intercept) / self.n_rows
        told = left > _LEFT
        told[-1] |= not told.any()
        if criterion == "gcv":
            errors = self.squared_residuals(alphas) / (self.n_rows * total)
            scores = errors.mean(axis=1) / np.where(told, left, 1.0) ** 2
            return np.asarray(np.where(told, scores, np.inf))

        def left_out(block: Block, _: Scratch) -> Array:
            errors, kept = self.residuals(block, shrinkage)
            return np.asarray(np.square(errors / kept[:, :, None]).sum(axis=0))

        initial = np.zeros((len(alphas), len(total)))
        sums = self.context.map_reduce(self.rows, left_out, lambda a, b: a + b, initial)
        return np.asarray(np.where(told, (sums / total).mean(axis=1) / self.n_rows, np.inf))

    def squared_residuals(self, alphas: Array) -> Array:
        """Return summed squared residuals of each penalty and output, in a pass over the rows.

        From the rows: what covariances leave of the variance of y is rounding for a close fit.
        """
        coefs, intercepts = self.models(alphas)
        columns = np.moveaxis(coefs, 1, 0).reshape(coefs.shape[1], -1)

        def of_block(block: Block, _: Scratch) -> Array:
            Y, weight = targets(block, _DOUBLE)
            F = (dense(block.X, _DOUBLE) @ columns).reshape(len(Y), *intercepts.shape)
            squares = np.square(Y[:, None] - F - intercepts)
            return np.asarray(np.einsum("i,ijk->jk", weight[:, 0] / self.weight_mean, squares))

        sums = self.context.map_reduce(
            self.rows, of_block, lambda a, b: a + b, np.zeros(intercepts.shape)
        )
        return np.asarray(sums)

    def residuals(self, block: Block, shrinkage: Array) -> tuple[Array, Array]:
        """Return residuals times the root of the weight, and what H leaves of each row.

        For each of several penalties: of shapes (n, n_alphas, k) and (n, n_alphas).
        """
        Z, root, Y = self.block(block)
        coefs = (shrinkage.T[:, :, None] * self.across[:, None]).reshape(Z.shape[1], -1)
        errors = Y[:, None] - (Z @ coefs).reshape(len(Y), -1, Y.shape[1])
        taken = np.square(Z) @ shrinkage.T + self.fit_intercept * root**2
        return errors, np.maximum(1 - taken / self.n_rows, _EPS)

    def block(self, block: Block) -> tuple[Array, Array, Array]:
        """Return z times the root of the weight, that root as a column, and targets times it."""
        Y, weight = targets(block, _DOUBLE)
        root = np.sqrt(weight / self.weight_mean)
        Z = (dense(block.X, _DOUBLE) - self.mean) @ self.U
        Z *= root
        return Z, root, root * (Y - self.target_mean)

    def models(self, alphas: Array) -> tuple[Array, Array]:
        """Return the models; see `Smoother.models`."""
        if np.min(alphas) < LEAST * self.scale:
            raise self.too_small(np.min(alphas))
        coefs = [self.U @ (self.across / (self.values + a)[:, None]) for a in alphas]
        return np.array(coefs), np.array([self.target_mean - self.mean @ c for c in coefs])

    def at(self, alpha: float) -> "ReducedFit":
        """Return the model of one penalty; see `Smoother.at`."""
        return ReducedFit(self, alpha)


@final
class ReducedFit(LinearFit):
    """The model of one penalty; coordinates are coefficients of the z, and of a constant."""

    def __init__(self, smoother: ReducedSmoother, alpha: float):
        self._smoother = smoother
        self.alpha = alpha
        self.n_rows = n = smoother.n_rows
        self._t = 1 / (smoother.values + alpha)
        (self.coef,), (self.intercept,) = smoother.models(np.array([alpha]))
        self.dimension = float(self._t @ smoother.values) + smoother.fit_intercept
        left, rest = alpha * self._t, n - smoother.fit_intercept - len(self._t)
        second = max(rest + float(np.sum(left**2)), _LEFT**2 * n)
        self.freedom = second**2 / max(rest + float(np.sum(left**4)), second**2 / n)
        self.squares, self.total = smoother.squared_residuals(np.array([alpha]))[0], smoother.total
        self.noise = self.squares / second

    def coordinates(self, L: Array, constant: float = 0.0) -> Array:
        """Return coefficients of the z, and then of the constant."""
        smoother = self._smoother
        if smoother.fit_intercept:
            L = L - constant * smoother.mean[:, None]
        else:
            constant = 0.0
        q = self._t[:, None] * (smoother.U.T @ L)
        return np.vstack([q, np.full(q.shape[1], constant)]) / self.n_rows

    def shrunk(self, q: Array) -> Array:
        """Multiply by alpha / (mu + alpha); nothing of the constant is lost."""
        return np.vstack([(self.alpha * self._t)[:, None] * q[:-1], np.zeros(q.shape[1])])

    def estimates(self, q: Array) -> Array:
        """Multiply by the covariances with the targets."""
        smoother = self._smoother
        return np.asarray(
            self.n_rows * (q[:-1].T @ smoother.across + np.outer(q[-1], smoother.target_mean))
        )

    def halves(self, q: Array) -> Array:
        """Multiply by the roots of the variances of the z."""
        variances = np.append(self._smoother.values, float(self._smoother.fit_intercept))
        return np.asarray(np.sqrt(self.n_rows * variances)[:, None] * q)

    def influence(self, q: Array) -> Array:
        """Compute the z, and what they sum up to, in a pass over the rows."""

        def of_block(block: Block, _: Scratch) -> Array:
            Z, root = self._smoother.block(block)[:2]
            return np.asarray(Z @ q[:-1] + root * q[-1])

        return self._smoother.context.compute(
            self._smoother.rows, of_block, (q.shape[1],), np.float64
        )

    @cached_property
    def residuals(self) -> tuple[Array, Array]:
        """The residuals and what H leaves of each row, in a pass over the rows."""
        k = self.coef.shape[1]

        def of_block(block: Block, _: Scratch) -> Array:
            errors, left = self._smoother.residuals(block, self._t[None])
            return np.hstack([errors[:, 0], left])

        found = self._smoother.context.compute(self._smoother.rows, of_block, (k + 1,), np.float64)
        return found[:, :k], found[:, k]

    @property
    def root(self) -> Array:
        """The roots of the weights."""
        weight = self._smoother.rows.weights(self._smoother.context)
        w = np.ones(self.n_rows) if weight is None else weight / weight.mean()
        return np.sqrt(w)[:, None]
