"""Least squares in nested features: every size and every penalty from one covariance."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skimp._core._blocks import Scratch, fold
from skimp._core._linalg import cholesky, inverse_lower, triangular_solve, whitened
from skimp._core._types import Array
from skimp.data import LOCAL, Context
from skimp.solvers._base import Problem
from skimp.solvers.ridge._moments import Covariance
from skimp.solvers.ridge._validation import generalized_errors, left_out_errors

_CAUTION = 1.4
"""Kim and Gu (2004), Smoothing spline Gaussian regression: more scalable computation via efficient
approximation, section 4.2."""
_EPS = float(np.finfo(np.float64).eps)
_JITTERS = (0.0, 1e-12, 1e-8)


@dataclass(frozen=True)
class Path:
    r"""Ridge models in the first columns of nested features, for several sizes and penalties.

    Attributes
    ----------
    sizes : tuple of int
        Numbers of columns, rising.
    alphas : array of shape (n_alphas,)
        Penalties.
    coefs : tuple of arrays of shape (n_alphas, size, k)
        Coefficients of the columns, for each size.
    residuals : array of shape (n_sizes, n_alphas)
        Weighted mean of the squared residuals, summed over outputs. Infinite, with coefficients of
        zero, for a penalty that is too small for the rounding of the equations.
    dimensions : array of shape (n_sizes, n_alphas)
        Effective dimensions: the trace of the matrix that turns y into fitted values, without the
        intercept.
    left_out : array of shape (n_sizes, n_alphas, s, k), or None
        Predictions of a sample of rows, each by the model of all others with the same penalty
        n alpha.
    size : float
        What the rows count for.
    intercept : bool
        Whether there is one.
    """

    sizes: tuple[int, ...]
    alphas: Array
    coefs: tuple[Array, ...]
    residuals: Array
    dimensions: Array
    left_out: Array | None
    size: float
    intercept: bool

    @cached_property
    def gcv(self) -> Array:
        """The errors of generalized cross-validation; the intercept is a dimension."""
        return self._cross_validated(1.0)

    @cached_property
    def cautious(self) -> Array:
        """The same with every dimension counted 1.4 times, to choose by.

        On few rows the least of the plain error is now and then that of a model that interpolates.
        """
        return self._cross_validated(_CAUTION)

    def _cross_validated(self, factor: float) -> Array:
        free = 1 - factor * (self.dimensions + self.intercept) / self.size
        return generalized_errors(self.residuals, free)

    def best(self, size: int = -1, trusted: Array | None = None) -> int:
        """Return which alpha is best by cautious cross-validation at the n-th size.

        Of those that are ``trusted``, if some are; the largest one if none leaves any freedom.
        """
        errors = self.cautious[size]
        if trusted is not None:
            errors = np.where(trusted, errors, np.inf)
        return int(np.argmin(errors) if np.isfinite(errors).any() else np.argmax(self.alphas))


@dataclass(frozen=True)
class Sampled:
    """Features of some rows, their targets, and their shares in the weight of all rows."""

    Z: Array
    Y: Array
    share: Array


def ridge_path(
    S: Covariance,
    alphas: Sequence[float] | Array,
    sizes: Sequence[int] | None = None,
    *,
    intercept: bool,
    factor: Array | None = None,
    averaged: bool = False,
    sample: Sampled | None = None,
    context: Context = LOCAL,
) -> Path:
    r"""Solve for each prefix of the columns and each penalty.

    In coordinates in which the penalty is the identity, the equations of fewer columns are a
    leading block of those of more, and so are Cholesky factors of them and their inverses:

    .. math:: (S + \alpha I)_{1..m} = L_m L_m^T, \quad \mathrm{tr}\,(L_m L_m^T)^{-1} =
        \sum_{i \le m} \|(L^{-1})_i\|^2

    so that one factorization for each alpha serves all sizes, in 2 D^3 operations for D columns.

    Parameters
    ----------
    S : Covariance
        Covariances of all columns and the targets.
    alphas : sequence of float
        Penalties.
    sizes : sequence of int, optional
        Numbers of columns, rising; all of them by default.
    intercept : bool
        Whether the covariances are centred.
    factor : array of shape (D, D), optional
        The upper factor of the penalty matrix; None for the identity.
    averaged : bool, default=False
        Whether features are roots of a mean over columns, and larger if there are fewer.
    sample : Sampled, optional
        Rows to be left out.
    context : Context
        Threads.
    """
    width = len(S.within)
    sizes = (width,) if sizes is None else tuple(sizes)
    G, b = S.within, S.across
    rest = None if sample is None else sample.Z - S.mean
    if factor is not None:
        G = whitened(G, factor)
        b = triangular_solve(factor, b, lower=False, transposed=True)
        if rest is not None:
            rest = triangular_solve(factor, rest.T, lower=False, transposed=True).T
    shares = [size / width if averaged else 1.0 for size in sizes]
    # one factorization for each shift of the diagonal, as large as the largest size that has it
    shifts: dict[float, list[tuple[int, int]]] = {}
    for i, share in enumerate(shares):
        for j, alpha in enumerate(alphas):
            shifts.setdefault(float(alpha) * share, []).append((i, j))
    k = b.shape[1]
    shape = len(sizes), len(alphas)
    residuals, dimensions = np.empty(shape), np.empty(shape)
    coefs = tuple(np.empty((len(alphas), size, k)) for size in sizes)
    left_out = None if sample is None else np.empty((*shape, *sample.Y.shape))

    def solve(shift: float, _: Scratch) -> None:
        cells = shifts[shift]
        inverse = _inverse_factor(G[: sizes[cells[-1][0]], : sizes[cells[-1][0]]], shift)
        if inverse is None:
            for i, j in cells:
                coefs[i][j], dimensions[i, j], residuals[i, j] = 0.0, sizes[i], np.inf
                if left_out is not None:
                    left_out[i, j] = S.target_mean
            return
        u = inverse @ b[: len(inverse)]
        traces = np.cumsum(np.einsum("ij,ij->i", inverse, inverse))
        V = inverse @ rest[:, : len(inverse)].T if rest is not None else np.empty((0, 0))
        for i, j in cells:
            m = sizes[i]
            c = coefs[i][j] = inverse[:m, :m].T @ u[:m]
            dimensions[i, j] = m - shift * traces[m - 1]
            explained = np.sum(c * b[:m]) + shift * np.sum(c**2)
            residuals[i, j] = max(S.target - explained, _EPS * S.target)
            if left_out is not None and sample is not None:
                errors = sample.Y - S.target_mean - V[:m].T @ u[:m]
                leverage = (np.einsum("ij,ij->j", V[:m], V[:m]) + intercept) * sample.share
                left_out[i, j] = sample.Y - left_out_errors(errors, 1 - leverage, _EPS)

    fold(shifts, solve, lambda total, _: total, None, context.threads)
    if factor is not None:
        for size, c in zip(sizes, coefs, strict=True):
            columns = np.moveaxis(c, 1, 0).reshape(size, -1)
            solved = triangular_solve(factor[:size, :size], columns, lower=False)
            c[...] = np.moveaxis(solved.reshape(size, len(alphas), k), 0, 1)
    return Path(
        sizes, np.asarray(alphas, float), coefs, residuals, dimensions, left_out, S.size, intercept
    )


def _inverse_factor(G: Array, shift: float) -> Array | None:
    """Return the inverse of the lower Cholesky factor of G with a shifted diagonal.

    None for a shift that is too small for the rounding of G.
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
    """Return the upper factor of the penalty matrix, None for the identity."""
    if problem.penalty is None or problem.factor is not None:
        return problem.factor
    factors = (cholesky(problem.penalty, jitter=jitter) for jitter in _JITTERS)
    return next(R for R in factors if R is not None)
