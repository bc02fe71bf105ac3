"""Approximate curvature that is cheap to invert, for conjugate gradients."""

from typing import final

import numpy as np
from scipy import linalg

from skimp._core._blocks import Scratch, fold
from skimp._core._linalg import (
    check_representable,
    cholesky,
    mirror_upper,
    triangular_solve,
)
from skimp._core._threads import thread_count
from skimp._core._types import Array
from skimp.data import Rows
from skimp.solvers._base import Problem
from skimp.solvers._bordered_factor import BorderedFactor
from skimp.solvers._features import dense_features

_STALE = 1.5
"""Factor by which the mean curvature may change before landmarks are factorized anew."""
_CHUNK = 4096
_LARGEST_JITTER = 1e-3


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
    :math:`S + 2 \alpha I`, which takes m^3 / 3 operations. One factor serves all outputs; where
    that makes many iterations, `update_each` gives every output its own.

    References
    ----------
    Rudi, Carratino and Rosasco (2017), Falkon: an optimal large scale kernel method.
    """

    def __init__(self, problem: Problem, sample: Rows):
        self._alpha = problem.alpha
        self._fit_intercept = problem.fit_intercept
        self._n_threads = thread_count(sample.n_jobs)
        self._height = 0.0
        self._shared: BorderedFactor | None = None
        self._outputs: list[BorderedFactor] = []
        self.landmarks = problem.penalty is not None
        if problem.penalty is not None:
            known = problem.factor
            T = _upper_factor(problem.penalty) if known is None else known.copy("F")
            diagonal = T.diagonal().copy()
            self._mean = np.array([T[i, i:].sum() for i in range(len(T))]) / len(T)
            mirror_upper(T)
            linalg.lapack.dlauum(T, lower=1, overwrite_c=1)
            with np.errstate(over="ignore"):  # found where it is factorized
                self._diagonal = diagonal.astype(sample.dtype)
                self._buffer = T.astype(sample.dtype, order="F")
            self._gram = self._buffer / sample.dtype.type(len(T))
        else:
            whole = next(sample.copy_with(block_rows=sample.n_rows).blocks())
            self._rows = dense_features(whole.X, sample.dtype)
            self._buffer = np.zeros((sample.n_features,) * 2, sample.dtype, order="F")

    @property
    def by_output(self) -> bool:
        """Whether every output has a factor of its own."""
        return bool(self._outputs)

    def update(self, height: float, curvature: Array) -> None:
        """Adapt to a mean curvature, and to that of each sampled row, up to a factor."""
        fresh = self._height / _STALE < height < self._height * _STALE
        if self.landmarks and fresh and not self._outputs:
            return
        self._height = height
        corner = height if self._fit_intercept else 0.0

        def landmarks() -> Array:
            scale = self._buffer.dtype.type(height)
            for j in range(len(self._buffer)):
                self._buffer[j:, j] = scale * self._gram[j:, j]
            return height * self._mean

        def sampled() -> Array:
            D = curvature.mean(axis=1, dtype=np.float64)
            D *= height / (D.sum() or 1.0)
            self._buffer[...], border = _weighted_gram(self._rows, D, self._n_threads)
            return border

        self._outputs = []
        fill = landmarks if self.landmarks else sampled
        self._shared = BorderedFactor(self._buffer, fill, corner, self._alpha)

    def update_each(self, X: Array, curvature: Array) -> None:
        """Factorize the curvature of each output, from all rows where it is not zero."""

        def factorize(output: int, _: object) -> BorderedFactor:
            D = curvature[:, output].astype(np.float64)
            buffer = np.zeros(self._buffer.shape, self._buffer.dtype, order="F")
            S, border = _weighted_gram(X, D, 1)
            if self.landmarks:
                half = self._changed(S, transposed=True)
                S = self._changed(half.T, transposed=True)
                border = self._changed(border[:, None], transposed=True)[:, 0]

            def fill() -> Array:
                buffer[...] = S
                return border

            corner = float(D.sum()) if self._fit_intercept else 0.0
            return BorderedFactor(buffer, fill, corner, self._alpha)

        def append(factors: list[BorderedFactor], factor: BorderedFactor) -> list[BorderedFactor]:
            return [*factors, factor]

        initial: list[BorderedFactor] = []
        self._set_diagonal()
        outputs = range(curvature.shape[1])
        self._outputs = fold(outputs, factorize, append, initial, self._n_threads)

    def solve(self, R: Array) -> Array:
        """Return the inverse of the approximate curvature times R."""
        if not self._outputs:
            assert self._shared is not None, "it was updated"
            return self._shared.solve(R)
        columns = [factor.solve(R[:, [c]]) for c, factor in enumerate(self._outputs)]
        return np.hstack(columns)

    def to_rows(self, V: Array) -> Array:
        """Return the coefficients of coordinates u; the last row, of the intercept, is kept."""
        return self._with_intercept(V, transposed=False)

    def from_rows(self, V: Array) -> Array:
        """Return a gradient in u for one in the coefficients; the last row is kept."""
        return self._with_intercept(V, transposed=True)

    def _with_intercept(self, V: Array, *, transposed: bool) -> Array:
        if not self.landmarks:
            return V
        self._set_diagonal()
        changed = np.empty(V.shape, self._buffer.dtype)
        changed[:-1] = self._changed(V[:-1], transposed=transposed)
        changed[-1] = V[-1]
        return changed

    def _changed(self, V: Array, *, transposed: bool) -> Array:
        return triangular_solve(self._buffer, V, lower=False, transposed=transposed)

    def _set_diagonal(self) -> None:
        """Give the buffer the diagonal of T: it may be that of the shared factor."""
        if self.landmarks:
            np.einsum("ii->i", self._buffer)[:] = self._diagonal


def _weighted_gram(X: Array, D: Array, n_threads: int) -> tuple[Array, Array]:
    """Return ``sum_i D_i x_i x_i^T`` and ``sum_i D_i x_i`` over rows where D is not zero."""
    chosen = np.flatnonzero(D)

    def of_chunk(start: int, _: Scratch) -> tuple[Array, Array]:
        rows = chosen[start : start + _CHUNK]
        root = np.sqrt(D[rows]).astype(X.dtype)
        Z = X[rows] * root[:, None]
        return Z.T @ Z, root @ Z

    def add(total: tuple[Array, Array], part: tuple[Array, Array]) -> tuple[Array, Array]:
        for sums, more in zip(total, part, strict=True):
            np.add(sums, more, out=sums)
        return total

    width = X.shape[1]
    zeros = np.zeros((width, width)), np.zeros(width)
    return fold(range(0, len(chosen), _CHUNK), of_chunk, add, zeros, n_threads)


def _upper_factor(P: Array) -> Array:
    """Return T, of a slightly shifted P where that is singular, which preconditions as well."""
    check_representable(P)
    eps = float(np.finfo(np.float64).eps)
    if not P.any():
        return np.asfortranarray(np.diag(np.full(len(P), np.sqrt(eps))))
    smallest = eps * len(P)
    for jitter in (0.0, *np.geomspace(10 * smallest, _LARGEST_JITTER, 10)):
        R = cholesky(P, jitter=float(jitter))
        if R is not None:
            return R
    raise ValueError("the penalty matrix must be positive semidefinite, found a negative direction")
