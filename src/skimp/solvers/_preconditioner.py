"""Approximate curvature that is cheap to invert, for conjugate gradients."""

from typing import final

import numpy as np
from scipy import linalg

from skimp._core._linalg import cholesky, dense, mirror_upper, triangular_solve
from skimp._core._types import Array
from skimp.data import Rows
from skimp.solvers._base import Problem

_STALE = 1.5
"""Factor by which the mean curvature may change before landmarks are factorized anew."""


@final
class Preconditioner:
    r"""Coordinates in which the penalty is a multiple of the identity, and an inverse in them.

    With :math:`P = T^T T` the coordinates are u = T c. The second derivative of the objective in
    them is approximated by :math:`S + 2 \alpha I`, with a border for the intercept.

    Landmarks stand for the rows, as in Falkon: with a mean curvature h, :math:`S = h T T^T / m`,
    without a further kernel value. Where there is no P, S is summed over a sample of rows, with
    the curvature of each of them.

    T is computed in float64, and :math:`T T^T` in place in the same m x m buffer. They are kept
    and applied in the dtype of the rows: T shares an array with the factor of
    :math:`S + 2 \alpha I`, which takes m^3 / 3 operations.

    References
    ----------
    Rudi, Carratino and Rosasco (2017), Falkon: an optimal large scale kernel method.
    """

    def __init__(self, problem: Problem, sample: Rows):
        self._alpha = problem.alpha
        self._fit_intercept = problem.fit_intercept
        self._height = 0.0
        self._landmarks = problem.penalty is not None
        if problem.penalty is not None:
            T = _upper_factor(problem.penalty)
            self._upper = T.diagonal().astype(sample.dtype)
            self._mean = np.array([T[i, i:].sum() for i in range(len(T))]) / len(T)
            mirror_upper(T)
            linalg.lapack.dlauum(T, lower=1, overwrite_c=1)
            self._factors = T.astype(sample.dtype, order="F")
            self._gram = self._factors / sample.dtype.type(len(T))
        else:
            self._rows = dense(sample.collect().X, sample.dtype)
            width = sample.n_features
            self._factors = np.zeros((width, width), sample.dtype, order="F")

    def update(self, height: float, curvature: Array) -> None:
        """Adapt to a mean curvature, and to that of each sampled row, up to a factor."""
        if self._landmarks and self._height / _STALE < height < self._height * _STALE:
            return
        self._height, shift = height, 0.0
        (potrf,) = linalg.get_lapack_funcs(("potrf",), (self._factors,))
        diagonal = np.einsum("ii->i", self._factors)
        while True:
            border = self._fill(curvature)
            diagonal += 2 * self._alpha + shift * diagonal.max()
            _, info = potrf(self._factors, lower=1, clean=0, overwrite_a=1)
            if info == 0:
                break
            # where rounding leaves an S that is not positive, a shifted one preconditions as well
            shift = max(10 * shift, float(np.finfo(diagonal.dtype).eps))
        self._lower = diagonal.copy()
        self._border = self._solve_lower(border[:, None])
        rest = height - float(np.sum(self._border**2, dtype=np.float64))
        self._corner = max(rest, 1e-3 * height) or 1.0

    def _fill(self, curvature: Array) -> Array:
        """Write S below the diagonal, and return its border."""
        if self._landmarks:
            height = self._factors.dtype.type(self._height)
            for j in range(len(self._factors)):
                self._factors[j:, j] = height * self._gram[j:, j]
            return self._height * self._mean
        D = curvature.mean(axis=1, dtype=np.float64)
        chosen = np.flatnonzero(D)
        root = np.sqrt(D[chosen] * (self._height / D.sum())).astype(self._rows.dtype)
        Z = self._rows[chosen] * root[:, None]
        self._factors[...] = Z.T @ Z
        border: Array = root @ Z
        return border

    def to_rows(self, V: Array) -> Array:
        """Return the coefficients of coordinates u; the last row, of the intercept, is kept."""
        return self._changed(V, transposed=False)

    def from_rows(self, V: Array) -> Array:
        """Return a gradient in u for one in the coefficients; the last row is kept."""
        return self._changed(V, transposed=True)

    def _changed(self, V: Array, *, transposed: bool) -> Array:
        if not self._landmarks:
            return V
        factors = self._with_diagonal(self._upper)
        changed = np.empty(V.shape, factors.dtype)
        changed[:-1] = triangular_solve(factors, V[:-1], lower=False, transposed=transposed)
        changed[-1] = V[-1]
        return changed

    def solve(self, R: Array) -> Array:
        """Return the inverse of the approximate curvature times R."""
        X = np.zeros_like(R)
        forth = self._solve_lower(R[:-1])
        if self._fit_intercept:
            X[-1] = (R[-1] - self._border[:, 0] @ forth) / self._corner
            forth -= self._border * X[-1]
        X[:-1] = self._solve_lower(forth, transposed=True)
        return X

    def _solve_lower(self, B: Array, *, transposed: bool = False) -> Array:
        factors = self._with_diagonal(self._lower)
        return triangular_solve(factors, B, lower=True, transposed=transposed)

    def _with_diagonal(self, diagonal: Array) -> Array:
        """Return the two factors, which share an array, with the diagonal of one of them."""
        np.einsum("ii->i", self._factors)[:] = diagonal
        return self._factors


def _upper_factor(P: Array) -> Array:
    R = cholesky(P)
    jitter = float(np.finfo(np.float64).eps) * len(P)
    while R is None:
        jitter *= 10
        R = cholesky(P, jitter=jitter)
    return R
