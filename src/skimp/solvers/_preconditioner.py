"""Approximate curvature that is cheap to invert, for conjugate gradients."""

from collections.abc import Callable
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
from skimp._core._types import Array
from skimp.data import Context, Rows
from skimp.solvers._base import Problem
from skimp.solvers._bordered_factor import BorderedFactor

_STALE = 1.5
"""Factor by which the mean curvature may change before landmarks are factorized anew."""
CHUNK = 4096
_LARGEST_JITTER = 1e-3


@final
class Preconditioner:
    r"""Coordinates in which the penalty is a multiple of the identity, and an inverse in them.

    With :math:`P = T^T T` the coordinates are u = T c. The second derivative of the objective in
    them is approximated by :math:`S + 2 \alpha I`, with a border for the intercept.

    S is summed over some rows, with the mean curvature of each of them over the outputs.
    Landmarks can stand for the rows instead, as in Falkon, which costs no sum: with a mean
    curvature h, :math:`S = h T T^T / m`. That is a good guide where they are distributed as rows
    are, and a poor one where they are centres of clusters.

    T and :math:`T T^T` are computed in float64. They are kept and applied in the dtype of the
    rows: T shares an array with the factor of :math:`S + 2 \alpha I`, which takes m^3 / 3
    operations. One factor serves all outputs; where
    that makes many iterations, `update_each` gives every output its own.

    References
    ----------
    Rudi, Carratino and Rosasco (2017), Falkon: an optimal large scale kernel method.
    """

    def __init__(self, problem: Problem, rows: Rows, context: Context, *, standing_in: bool = True):
        self._alpha = problem.alpha
        self._fit_intercept = problem.fit_intercept
        self._n_threads = context.threads
        self._height = 0.0
        self._shared: BorderedFactor | None = None
        self._outputs: list[BorderedFactor] = []
        self.landmarks = problem.penalty is not None
        width = rows.n_features
        self._buffer = np.zeros((width, width), rows.dtype, order="F")
        self._inverse: Array | None = None
        if problem.penalty is None:
            return
        known = problem.factor
        T = _upper_factor(problem.penalty) if known is None else known
        with np.errstate(over="ignore"):
            for j in range(width):
                self._buffer[: j + 1, j] = T[: j + 1, j]
            self._diagonal = self._buffer.diagonal().copy()
            check_representable(self._diagonal**2)
            self._inverse = linalg.lapack.dtrtri(T, lower=0)[0].astype(rows.dtype, order="C")
        if not standing_in:
            return
        self._mean = np.array([T[i, i:].sum() for i in range(width)]) / width
        gram = T.copy("F")
        mirror_upper(gram)
        linalg.lapack.dlauum(gram, lower=1, overwrite_c=1)
        gram /= width
        with np.errstate(over="ignore"):
            self._gram = gram.astype(rows.dtype, order="F")

    @property
    def by_output(self) -> bool:
        """Whether every output has a factor of its own."""
        return bool(self._outputs)

    @property
    def standing_in(self) -> bool:
        """Whether landmarks stand for rows."""
        return self._height > 0

    def stand_in(self, height: float) -> None:
        """Adapt to a mean curvature, with landmarks for rows; little changes are ignored."""
        if self._height / _STALE < height < self._height * _STALE:
            return

        def fill() -> Array:
            self._set_lower(self._gram, height)
            return height * self._mean

        self._share(fill, height)
        self._height = height

    def update(self, X: Array, D: Array) -> None:
        """Adapt to rows with the curvatures D, of which zeros cost nothing."""
        S, border = self._sums(X, D, self._n_threads)

        def fill() -> Array:
            self._set_lower(S, 1.0)
            return border

        self._share(fill, float(D.sum()))
        self._height = 0.0

    def _share(self, fill: Callable[[], Array], height: float) -> None:
        self._outputs = []
        corner = height if self._fit_intercept else 0.0
        self._shared = BorderedFactor(self._buffer, fill, corner, self._alpha)

    def _set_lower(self, S: Array, scale: float) -> None:
        factor = self._buffer.dtype.type(scale)
        for j in range(len(S)):
            self._buffer[j:, j] = factor * S[j:, j]

    def _sums(self, X: Array, D: Array, n_threads: int) -> tuple[Array, Array]:
        """Return S and its border in the coordinates u."""
        # rows are changed before they are summed: rounding of their sums would be magnified
        return _weighted_gram(X, D, self._inverse, n_threads)

    def update_each(self, X: Array, curvature: Array) -> None:
        """Factorize the curvature of each output, from all rows where it is not zero."""

        def factorize(output: int, _: object) -> BorderedFactor:
            D = curvature[:, output].astype(np.float64)
            buffer = np.zeros(self._buffer.shape, self._buffer.dtype, order="F")
            S, border = self._sums(X, D, 1)

            def fill() -> Array:
                buffer[...] = S
                return border

            corner = float(D.sum()) if self._fit_intercept else 0.0
            return BorderedFactor(buffer, fill, corner, self._alpha)

        def append(factors: list[BorderedFactor], factor: BorderedFactor) -> list[BorderedFactor]:
            return [*factors, factor]

        initial: list[BorderedFactor] = []
        outputs = range(curvature.shape[1])
        self._outputs = fold(outputs, factorize, append, initial, self._n_threads)

    def solve(self, R: Array, columns: Array) -> Array:
        """Return the inverse of the approximate curvature times R, of these outputs."""
        if not self._outputs:
            assert self._shared is not None, "it was updated"
            return self._shared.solve(R)
        return np.hstack([self._outputs[c].solve(R[:, [j]]) for j, c in enumerate(columns)])

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


def _weighted_gram(X: Array, D: Array, change: Array | None, n_threads: int) -> tuple[Array, Array]:
    """Return ``sum_i D_i z_i z_i^T`` and ``sum_i D_i z_i`` over rows where D is not zero.

    z are the rows of X times ``change``.
    """
    chosen = np.flatnonzero(D)

    def of_chunk(start: int, _: Scratch) -> tuple[Array, Array]:
        rows = chosen[start : start + CHUNK]
        root = np.sqrt(D[rows]).astype(X.dtype)
        Z = X[rows] * root[:, None]
        if change is not None:
            Z = Z @ change
        return Z.T @ Z, root @ Z

    def add(total: tuple[Array, Array], part: tuple[Array, Array]) -> tuple[Array, Array]:
        for sums, more in zip(total, part, strict=True):
            np.add(sums, more, out=sums)
        return total

    width = X.shape[1]
    zeros = np.zeros((width, width)), np.zeros(width)
    return fold(range(0, len(chosen), CHUNK), of_chunk, add, zeros, n_threads)


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
