"""Ridge regression on few basis functions for all penalties, in one or two passes."""

from functools import cached_property
from typing import final

import numpy as np

from skimp._core._blocks import Scratch
from skimp._core._linalg import check_representable, dense, eigenpairs, inverse_root
from skimp._core._types import Array
from skimp._core._work import DOUBLE
from skimp.data import LOCAL, Block, Context, Rows
from skimp.solvers._features import as_targets
from skimp.solvers.ridge._moments import covariance
from skimp.solvers.ridge._principal import PrincipalRidge
from skimp.solvers.ridge._smoother import LEAST, LinearFit, Smoother
from skimp.solvers.ridge._validation import left_out_errors

_EPS = float(np.finfo(np.float64).eps)
_CUT = 1e-11
"""Directions with a smaller penalty than this, relative to the largest, are dropped: they come from
linearly dependent functions, and their covariances are rounding errors."""


@final
class ReducedSmoother(Smoother):
    r"""Models in D basis functions with the penalty matrix P; see `PrincipalRidge`.

    The covariance takes one pass over the rows and n D^2 operations. Leave-one-out errors take
    another pass and 2 n D^2 operations. Residuals take one pass and O(n D) operations per penalty.

    Parameters
    ----------
    rows : Rows
        Values of the basis functions, targets of shape (n, k) and positive weights. Targets must
        be centred if there is an intercept.
    penalty : array of shape (D, D)
        Matrix P.
    fit_intercept : bool
        Whether to fit an unpenalized intercept b.
    context : Context
        Number of threads and progress reports.
    """

    least_free = 1e-3

    def __init__(
        self, rows: Rows, penalty: Array, *, fit_intercept: bool, context: Context = LOCAL
    ):
        S = covariance(rows, fit_intercept, context=context)
        check_representable(S.within, S.across, S.targets, penalty)
        self.rows, self.context = rows, context
        self.n_rows, self.weight = S.n_rows, S.weight
        self.total = S.n_rows * S.targets.clip(0)
        W, _ = inverse_root(penalty, rank=None, eps=_CUT)
        values, V = eigenpairs(W.T @ S.within @ W)
        # raise eigenvalues to the level of rounding: penalties may be smaller
        values = np.maximum(values, len(values) * _EPS * max(values[-1], 0.0))
        turn = W @ V
        across = turn.T @ S.across
        self.principal = PrincipalRidge(turn, values, across, S.mean, S.target_mean, S.centred)
        self.scale = float(values.sum()) or 1.0

    @property
    def eigenvalues(self) -> Array:
        """Variances of the coordinates, multiplied by n; see `Smoother.eigenvalues`."""
        return np.asarray(self.n_rows * self.principal.values[::-1])

    def sums(
        self, alphas: Array, *, left_out: bool, copies: Array | None = None
    ) -> tuple[Array, Array]:
        """Compute the sums in a pass over the rows; see `Smoother.sums`.

        Residuals from covariances would be dominated by rounding if the fit is close.
        """
        if not left_out:
            coefs, intercepts = self.models(alphas)
            columns = np.moveaxis(coefs, 1, 0).reshape(coefs.shape[1], -1)

        def of_block(block: Block, _: Scratch) -> Array:
            if left_out:
                part = None if copies is None else copies[block.start : block.start + block.size]
                missed = left_out_errors(*self.residuals(block, alphas)[:2], copies=part)
            else:
                Y, weight = as_targets(block, DOUBLE)
                F = (dense(block.X, DOUBLE) @ columns).reshape(len(Y), *intercepts.shape)
                missed = self.root(weight)[:, :, None] * (Y[:, None] - F - intercepts)
            return np.asarray(np.square(missed).sum(axis=0))

        initial = np.zeros((len(alphas), len(self.total)))
        squares = self.context.map_reduce(self.rows, of_block, lambda a, b: a + b, initial)
        return squares, 1 - self.principal.dimensions(alphas) / self.n_rows

    def root(self, weight: Array) -> Array:
        """Return the roots of the weights, scaled so that the weights have mean one."""
        return np.asarray(np.sqrt(weight * (self.n_rows / self.weight)))

    def residuals(self, block: Block, alphas: Array) -> tuple[Array, Array, Array]:
        """Return the residuals multiplied by R, 1 - H_ii, and R.

        The shapes are (n, n_alphas, k), (n, n_alphas) and (n, 1).
        """
        Y, weight = as_targets(block, DOUBLE)
        share, root = weight[:, 0] / self.weight, self.root(weight)
        errors, left = self.principal.residuals(dense(block.X, DOUBLE), Y, share, alphas)
        errors *= root[:, :, None]
        return errors, np.maximum(left, _EPS), root

    def models(self, alphas: Array) -> tuple[Array, Array]:
        """Return the models; see `Smoother.models`."""
        if np.min(alphas) < LEAST * self.scale:
            raise self.too_small(np.min(alphas))
        return self.principal.models(alphas)

    def at(self, alpha: float) -> "ReducedFit":
        """Return the model of one penalty; see `Smoother.at`."""
        return ReducedFit(self, alpha)


@final
class ReducedFit(LinearFit):
    """Model for one penalty; coordinates are coefficients of the u and of a constant."""

    def __init__(self, smoother: ReducedSmoother, alpha: float):
        self._smoother, self._principal = smoother, smoother.principal
        values, intercept = self._principal.values, self._principal.intercept
        self.alpha, self.n_rows, self.total = alpha, smoother.n_rows, smoother.total
        (self.coef,), (self.intercept,) = smoother.models(np.array([alpha]))
        (self.squares,), (free,) = smoother.sums(np.array([alpha]), left_out=False)
        self.dimension = float(self.n_rows * (1 - free))
        self._shrink = 1 / (values + alpha)
        left, rest = alpha * self._shrink, self.n_rows - intercept - len(values)
        least = smoother.least_free**2 * self.n_rows
        second = max(rest + float(np.sum(left**2)), least)
        self.freedom = second**2 / max(rest + float(np.sum(left**4)), second**2 / self.n_rows)
        self.noise = self.squares / second
        self.lengths = np.sqrt(self.n_rows * np.append(values, float(intercept)))[:, None]
        across, target_mean = self._principal.across, self._principal.target_mean
        self.moments = self.n_rows * np.vstack([across, target_mean])

    def coordinates(self, L: Array, constant: float = 0.0) -> Array:
        """Return the coefficients of the u, then of the constant."""
        constant = constant if self._principal.intercept else 0.0
        L = L - constant * self._principal.mean[:, None]
        q = self._shrink[:, None] * (self._principal.turn.T @ L)
        return np.vstack([q, np.full(q.shape[1], constant)]) / self.n_rows

    def shrink(self, q: Array) -> Array:
        """Multiply by alpha / (lambda + alpha); zero for the constant, which is not penalized."""
        return np.append(self.alpha * self._shrink, 0.0)[:, None] * q

    def influence(self, q: Array) -> Array:
        """Compute the influences in a pass over the rows; see `LinearFit.influence`."""
        smoother = self._smoother

        def of_block(block: Block, _: Scratch) -> Array:
            U = self._principal.coordinates(dense(block.X, DOUBLE))
            return np.asarray(smoother.root(block.weights())[:, None] * (U @ q[:-1] + q[-1]))

        return smoother.context.compute(smoother.rows, of_block, (q.shape[1],), np.float64)

    @cached_property
    def residuals(self) -> tuple[Array, Array, Array]:
        """Residuals, computed in a pass over the rows; see `LinearFit.residuals`."""
        smoother, k, alphas = self._smoother, len(self.total), np.array([self.alpha])

        def of_block(block: Block, _: Scratch) -> Array:
            errors, left, root = smoother.residuals(block, alphas)
            return np.hstack([errors[:, 0], left, root])

        found = smoother.context.compute(smoother.rows, of_block, (k + 2,), np.float64)
        return found[:, :k], found[:, k], found[:, k + 1 :]
