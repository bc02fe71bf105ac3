"""Approximate curvature that is cheap to invert, for conjugate gradients."""

from typing import final

import numpy as np
from scipy import linalg

from skimp._core._linalg import cholesky, dense, mirror_upper, triangular_solve
from skimp._core._types import Array
from skimp.data import Rows
from skimp.solvers._base import Problem
from skimp.solvers._objective import Point

_SAMPLE = 5
"""Sampled rows for each feature: condition numbers stay below ten."""
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

    One m x m buffer in float64 holds T above the diagonal and the factor of :math:`S + 2 \alpha I`
    below; both are made in place, by m^3 operations, and applied in the dtype of the rows.

    References
    ----------
    Rudi, Carratino and Rosasco (2017), Falkon: an optimal large scale kernel method.
    """

    def __init__(self, problem: Problem, rows: Rows):
        self._alpha = problem.alpha
        self._fit_intercept = problem.fit_intercept
        self._dtype = rows.dtype
        self._height = 0.0
        self._landmarks = problem.penalty is not None
        if problem.penalty is not None:
            self._buffer = _upper_factor(problem.penalty)
            self._upper = self._buffer.diagonal().copy()
        else:
            self._buffer = np.zeros((rows.n_features, rows.n_features), order="F")
            sample = rows.sample(_SAMPLE * rows.n_features, seed=0)
            self._sampled, self._indices = dense(sample.X, rows.dtype), sample.indices

    def update(self, point: Point) -> None:
        """Adapt to the curvature at a point."""
        height = float(point.curvature.sum(axis=0, dtype=np.float64).mean())
        if self._landmarks and self._height / _STALE < height < self._height * _STALE:
            return
        self._height, shift = height, 0.0
        diagonal = np.einsum("ii->i", self._buffer)
        while True:
            border = self._fill_landmarks() if self._landmarks else self._fill_sample(point)
            diagonal += 2 * self._alpha + shift * diagonal.max()
            _, info = linalg.lapack.dpotrf(self._buffer, lower=1, clean=0, overwrite_a=1)
            if info == 0:
                break
            # where rounding leaves an S that is not positive, a shifted one preconditions as well
            shift = max(10 * shift, float(np.finfo(self._dtype).eps))
        self._lower = diagonal.copy()
        self._factors = self._buffer.astype(self._dtype, order="F")
        self._border = self._solve_lower(border[:, None])
        rest = height - float(np.sum(self._border.astype(np.float64) ** 2))
        self._corner = np.sqrt(max(rest, 1e-3 * height)) or 1.0

    def _fill_landmarks(self) -> Array:
        """Write S below the diagonal, and return the mean of h times the landmarks' features."""
        T, m = self._buffer, len(self._buffer)
        np.einsum("ii->i", T)[:] = self._upper
        border = self._height / m * np.array([T[i, i:].sum() for i in range(m)])
        mirror_upper(T)
        linalg.lapack.dlauum(T, lower=1, overwrite_c=1)
        for j in range(m):
            T[j:, j] *= self._height / m
        return border

    def _fill_sample(self, point: Point) -> Array:
        """Write S below the diagonal, and return the mean of curvature times features."""
        D = point.curvature[self._indices].mean(axis=1, dtype=np.float64)
        share = len(point.curvature) / len(D)
        root = np.sqrt(D * share).astype(self._dtype)
        chosen = np.flatnonzero(root)
        Z = self._sampled[chosen] * root[chosen, None]
        self._buffer[...] = Z.T @ Z
        return root[chosen] @ Z

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
        changed = np.empty(V.shape, self._dtype)
        changed[:-1] = triangular_solve(factors, V[:-1], lower=False, transposed=transposed)
        changed[-1] = V[-1]
        return changed

    def solve(self, R: Array) -> Array:
        """Return the inverse of the approximate curvature times R."""
        X = np.zeros_like(R)
        forth = self._solve_lower(R[:-1])
        if self._fit_intercept:
            X[-1] = (R[-1] - self._border[:, 0] @ forth) / self._corner**2
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
