"""Ridge regression on nested features, for all sizes and penalties, from one covariance."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skimp._core._blocks import Scratch, fold
from skimp._core._linalg import cholesky, inverse_lower, triangular_solve
from skimp._core._types import Array
from skimp.data import LOCAL, Block, Context
from skimp.solvers._base import Problem
from skimp.solvers.ridge._moments import Covariance
from skimp.solvers.ridge._validation import generalized_errors, left_out_errors

_CAUTION = 1.4
"""Factor of the effective dimension in GCV. Kim and Gu (2004), Smoothing spline Gaussian
regression: more scalable computation via efficient approximation, section 4.2."""
_EPS = float(np.finfo(np.float64).eps)
_JITTERS = (0.0, 1e-12, 1e-8)


@dataclass(frozen=True)
class Path:
    r"""Ridge models on the first columns, for several numbers of columns and penalties.

    Attributes
    ----------
    sizes : tuple of int
        Numbers of columns, increasing.
    alphas : array of shape (n_alphas,)
        Penalties.
    coefs : tuple of arrays of shape (n_alphas, size, k)
        Coefficients for each size.
    residuals : array of shape (n_sizes, n_alphas)
        Weighted mean of the squared residuals, summed over outputs. If a penalty is below the
        rounding error of the equations, the residual is infinite and the coefficients are zero.
    dimensions : array of shape (n_sizes, n_alphas)
        Effective dimensions: the trace of the hat matrix, without the intercept.
    gcv, cautious : arrays of shape (n_sizes, n_alphas)
        Errors of generalized cross-validation, plain and with the dimension multiplied by 1.4. The
        penalty is chosen by the second: with few rows, the first can be smallest for a model that
        interpolates.
    left_out : array of shape (n_sizes, n_alphas, s, k), or None
        Leave-one-out predictions of a sample of rows, with the same penalty n alpha.
    """

    sizes: tuple[int, ...]
    alphas: Array
    coefs: tuple[Array, ...]
    residuals: Array
    dimensions: Array
    gcv: Array
    cautious: Array
    left_out: Array | None

    def best(self, size: int = -1, trusted: Array | None = None) -> int:
        """Return the number of the best alpha by cautious cross-validation at the n-th size.

        Restricted to ``trusted`` ones if given. If no error is finite, return the largest alpha.
        """
        errors = self.cautious[size]
        if trusted is not None:
            errors = np.where(trusted, errors, np.inf)
        return int(np.argmin(errors) if np.isfinite(errors).any() else np.argmax(self.alphas))


def ridge_path(
    S: Covariance,
    alphas: Sequence[float] | Array,
    sizes: Sequence[int] | None = None,
    *,
    factor: Array | None = None,
    averaged: bool = False,
    sample: Block | None = None,
    context: Context = LOCAL,
) -> Path:
    r"""Solve ridge regression for the first m columns, for each m in ``sizes`` and each penalty.

    In coordinates in which the penalty is the identity, the equations of the first m columns are a
    leading block of all equations. The same holds for the Cholesky factors and their inverses:

    .. math:: (S + \alpha I)_{1..m} = L_m L_m^T, \quad \mathrm{tr}\,(L_m L_m^T)^{-1} =
        \sum_{i \le m} \|(L^{-1})_i\|^2

    One factorization per alpha, with 2 D^3 operations for D columns, therefore serves all sizes.

    Parameters
    ----------
    S : Covariance
        Covariances of all columns and targets.
    alphas : sequence of float
        Penalties.
    sizes : sequence of int, optional
        Numbers of columns, increasing; by default all columns.
    factor : array of shape (D, D), optional
        Upper factor of the penalty matrix; None means the identity.
    averaged : bool, default=False
        Whether the kernel is a mean over columns, so that features of fewer columns are larger.
    sample : Block, optional
        Rows for leave-one-out predictions: features, targets of shape (s, k) and weights.
    context : Context
        Number of threads.

    Returns
    -------
    Path
    """
    width, k = S.across.shape
    sizes = (width,) if sizes is None else tuple(sizes)
    # one factorization per shift of the diagonal, for the largest size with that shift
    shifts = defaultdict(list)
    for i, size in enumerate(sizes):
        for j, alpha in enumerate(alphas):
            shifts[float(alpha) * (size / width if averaged else 1.0)].append((i, j))
    shape = len(sizes), len(alphas)
    # defaults for a penalty below rounding: the model predicts the mean of the targets
    residuals = np.full(shape, np.inf)
    dimensions = np.tile(np.array(sizes, float)[:, None], len(alphas))
    coefs = tuple(np.zeros((len(alphas), size, k)) for size in sizes)
    left_out = None
    if sample is not None:
        Y, share = np.asarray(sample.y), sample.weights() / S.weight
        left_out = np.tile(S.target_mean, (*shape, len(Y), 1))
        U = (sample.X - S.mean).T
        if factor is not None:
            U = triangular_solve(factor, U, lower=False, transposed=True)
    white = S.whiten(factor)
    b = white.across

    def solve(shift: float, _: Scratch) -> None:
        largest = sizes[shifts[shift][-1][0]]
        inverse = _inverse_factor(white.within[:largest, :largest], shift)
        if inverse is None:
            return
        u = inverse @ b[:largest]
        traces = np.cumsum(np.einsum("ij,ij->i", inverse, inverse))
        V = None if left_out is None else inverse @ U[:largest]
        for i, j in shifts[shift]:
            m = sizes[i]
            c = coefs[i][j] = inverse[:m, :m].T @ u[:m]
            dimensions[i, j] = m - shift * traces[m - 1]
            explained = np.sum(c * b[:m]) + shift * np.sum(c**2)
            residuals[i, j] = max(S.target - explained, _EPS * S.target)
            if left_out is not None and V is not None:
                errors = Y - S.target_mean - V[:m].T @ u[:m]
                leverage = (np.einsum("ij,ij->j", V[:m], V[:m]) + S.centred) * share
                left_out[i, j] = Y - left_out_errors(errors, 1 - leverage, _EPS)

    fold(shifts, solve, lambda total, _: total, None, context.threads)
    if factor is not None:
        for m, c in zip(sizes, coefs, strict=True):
            c[...] = [triangular_solve(factor[:m, :m], one, lower=False) for one in c]
    gcv, cautious = (
        generalized_errors(residuals, 1 - times * (dimensions + S.centred) / S.size)
        for times in (1.0, _CAUTION)
    )
    alphas = np.asarray(alphas, float)
    return Path(sizes, alphas, coefs, residuals, dimensions, gcv, cautious, left_out)


def _inverse_factor(G: Array, shift: float) -> Array | None:
    """Return the inverse of the lower Cholesky factor of G with a shifted diagonal.

    Return None if the shift is below the rounding error of G.
    """
    for jitter in (0.0, 1.0, 100.0):
        A = G.copy()
        A.flat[:: len(A) + 1] += shift + jitter * len(A) * _EPS * G.diagonal().max()
        try:
            return inverse_lower(np.linalg.cholesky(A))
        except np.linalg.LinAlgError:
            continue
    return None


def penalty_factor(problem: Problem) -> Array | None:
    """Return the upper factor of the penalty matrix; None means the identity."""
    if problem.penalty is None or problem.factor is not None:
        return problem.factor
    factors = (cholesky(problem.penalty, jitter=jitter) for jitter in _JITTERS)
    return next(R for R in factors if R is not None)
