"""A bound of the Hessian that mini-batches respect, for preconditioned steps of size 1."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from skimp._core._linalg import check_representable
from skimp._core._threads import single_threaded_blas
from skimp._core._types import Array, Matrix
from skimp._core._work import DOUBLE
from skimp.data import Codes, Sample
from skimp.solvers._base import Problem
from skimp.solvers._features import as_features

SAMPLED = 2048
"""Rows from which the second moments are estimated."""
RANK = 64
"""Maximum number of directions."""
POWERS = 3
"""Power iterations."""
_HALVINGS = 20


@dataclass(frozen=True)
class Metric:
    r"""The matrix :math:`M = \sum_r \lambda_r u_r u_r^T + \rho I`, an estimated bound of a Hessian.

    The :math:`u_r` are the leading eigenvectors of the second moments of the features, with a
    column of ones for the intercept, and :math:`\lambda_r` the eigenvalues times the largest
    curvature C of the loss. :math:`\rho` is at least :math:`2 \alpha` plus the largest eigenvalue
    that is left out, so that M bounds the Hessian.

    In coordinates in which M is the identity, the gradient of a mini-batch of b rows has the
    expected smoothness

    .. math::
        L_b = \frac{n (b - 1)}{b (n - 1)} L + \frac{n - b}{b (n - 1)} \max_i C \, x_i^T M^{-1} x_i,
        \qquad L \le 1

    `widened` increases :math:`\rho` until :math:`L_b \le 2`. Steps of size 1 then do not diverge.
    Larger mini-batches allow a smaller :math:`\rho`, and so longer steps.

    Attributes
    ----------
    U : array of shape (r, width)
        The eigenvectors.
    u : array of shape (r,)
        Their entries for the intercept.
    values : array of shape (r,)
        The eigenvalues.
    rho : float
        The eigenvalue of all other directions.
    curvature, constant : float
        Bound C of the curvature, and 1 with an intercept or 0 without.

    References
    ----------
    Gower, Loizou, Qian, Sailanbayev, Shulgin and Richtarik (2019), SGD: general analysis and
    improved rates (expected smoothness). Gonen, Orabona and Shalev-Shwartz (2016), Solving ridge
    regression using sketched preconditioned SVRG (the preconditioner).
    """

    U: Array
    u: Array
    values: Array
    rho: float
    curvature: float
    constant: float

    @classmethod
    def of(cls, sample: Sample, problem: Problem, batch: int, seed: int) -> "Metric":
        """Estimate a bound of the Hessian from a sample of rows."""
        X, scale = _weighted(sample.X, sample.weight, problem.loss.max_curvature)
        constant, (n, width) = float(problem.fit_intercept), X.shape
        full = width + problem.fit_intercept
        rank = min(RANK, full, n)
        # multiplications by the directions take about as long as the rows of a mini-batch
        filled = X.nnz if sparse.issparse(X) else X.size
        kept = int(np.clip(batch * filled / (n * width), 1, rank))
        with single_threaded_blas():
            Q = np.random.default_rng(seed).normal(size=(width + 1, rank))
            for _ in range(POWERS):
                Q[-1] *= constant
                T = scale[:, None] ** 2 * (X @ Q[:-1] + Q[-1])
                Q = np.linalg.qr(np.vstack([X.T @ T, constant * T.sum(axis=0)]))[0]
            Q[-1] *= constant
            T = scale[:, None] * (X @ Q[:-1] + Q[-1])
            check_representable(T)
            values, turn = np.linalg.eigh(T.T @ T / n)
            U = (Q @ turn)[:, ::-1].T
        values = np.maximum(values[::-1], 0)
        rest = values[kept] if kept < rank else values[-1] if rank < min(full, n) else 0.0
        U, values = U[:kept], values[:kept]
        rho = 2 * problem.alpha + rest
        parts = np.ascontiguousarray(U[:, :-1]), U[:, -1].copy()
        return cls(*parts, values, rho, problem.loss.max_curvature, constant)

    def widened(self, X: Matrix, weight: Array, largest: float) -> "Metric":
        """Increase rho until no row has a leverage :math:`C x^T M^{-1} x` above ``largest``."""
        X, scale = _weighted(X, weight, self.curvature)
        with single_threaded_blas():
            along = (scale[:, None] * (X @ self.U.T + self.constant * self.u)) ** 2
        squares = X.multiply(X) if sparse.issparse(X) else X * X
        norms = scale**2 * (np.asarray(squares.sum(axis=1)).ravel() + self.constant)
        check_representable(norms)

        def fits(rho: float) -> bool:
            beside = norms / rho - along @ (1 / rho - 1 / (self.values + rho))
            return bool(beside.max() <= largest)

        if fits(self.rho):
            return self
        low, high = np.log(self.rho), np.log(norms.max() / largest)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if fits(np.exp(middle)) else (middle, high)
        return replace(self, rho=float(np.exp(high)))

    @property
    def parts(self) -> tuple[Array, Array, Array, float]:
        """The metric in the form of `skimp._core.loops._sarah`."""
        shrink = self.values / (self.rho * (self.values + self.rho))
        return self.U, self.u, shrink, 1 / self.rho


def largest_leverage(batch: int, n_rows: float) -> float:
    """Return the leverage up to which mini-batches have an expected smoothness of at most 2."""
    if batch >= n_rows:
        return np.inf
    of_mean = (1 - 1 / batch) / (1 - 1 / n_rows)
    of_largest = (1 - batch / n_rows) / (batch * (1 - 1 / n_rows))
    return (2 - of_mean) / of_largest


def _weighted(X: Matrix, weight: Array, curvature: float) -> tuple[Any, Array]:
    """Return features for products, and roots of the weights in units of their mean."""
    X = as_features(X.tocsr() if isinstance(X, Codes) else X, DOUBLE)
    return X, np.sqrt(curvature * weight / weight.mean())
