"""Approximate curvature that is cheap to invert, for conjugate gradients."""

from collections.abc import Callable
from typing import final

import numpy as np
from scipy import linalg

from skimp._core._blocks import Scratch, fold
from skimp._core._linalg import check_representable, cholesky, mirror_upper, triangular_solve
from skimp._core._types import Array
from skimp.data import Block, Codes, Context, Rows
from skimp.solvers._base import Problem

_STALE = 1.5
"""Factor by which the mean curvature may change before landmarks are factorized anew."""
CHUNK = 4096
_LARGEST_JITTER = 1e-3
_LEAST = 1e-3
"""Least share of the corner that is left when the border is eliminated; rounding may leave none."""


@final
class BorderedFactor:
    r"""The factor of :math:`S + 2 \alpha I`, bordered by a column for the unpenalized intercept.

    Parameters
    ----------
    buffer : array of shape (m, m), column-major
        Holds the factor below its diagonal; what is above is not touched.
    fill : callable
        Writes S into the lower triangle of the buffer, and returns the border, of shape (m,).
    corner : float
        The entry of the intercept itself; zero if there is none.
    alpha : float
        Strength of the penalty.
    """

    def __init__(self, buffer: Array, fill: Callable[[], Array], corner: float, alpha: float):
        (potrf,) = linalg.get_lapack_funcs(("potrf",), (buffer,))
        self._buffer = buffer
        diagonal = np.einsum("ii->i", buffer)
        shift = 0.0
        while True:
            border = fill()
            check_representable(diagonal)
            diagonal += 2 * alpha + shift * diagonal.max()
            _, info = potrf(buffer, lower=1, clean=0, overwrite_a=1)
            if info == 0:
                break
            # if rounding leaves an S that is not positive, a shifted one preconditions as well
            shift = max(10 * shift, float(np.finfo(buffer.dtype).eps))
        self._diagonal = diagonal.copy()
        self._border = self._lower(border[:, None].astype(buffer.dtype))
        rest = corner - float(np.sum(self._border**2, dtype=np.float64))
        self._corner = max(rest, _LEAST * corner)

    def solve(self, R: Array) -> Array:
        """Return the inverse times R, of shape (m + 1, k); the last row is the intercept's."""
        X = np.zeros_like(R)
        forth = self._lower(R[:-1])
        if self._corner > 0:
            X[-1] = (R[-1] - self._border[:, 0] @ forth) / self._corner
            forth -= self._border * X[-1]
        X[:-1] = self._lower(forth, transposed=True)
        return X

    def _lower(self, B: Array, *, transposed: bool = False) -> Array:
        # the diagonal of a shared buffer is that of whoever used it last
        np.einsum("ii->i", self._buffer)[:] = self._diagonal
        return triangular_solve(self._buffer, B, lower=True, transposed=transposed)


@final
class Preconditioner:
    r"""Coordinates in which the penalty is a multiple of the identity, and an inverse in them.

    With :math:`P = T^T T` the coordinates are u = T c. The second derivative of the objective in
    them is approximated by :math:`S + 2 \alpha I`, with a border for the intercept.

    S is summed over some rows, with the mean curvature of each of them over the outputs.
    Landmarks can stand for the rows instead, as in Falkon, which costs no sum: with a mean
    curvature h, :math:`S = h T T^T / m`. That is a good guide if they are distributed as rows
    are, and a poor one if they are centres of clusters.

    T and :math:`T T^T` are computed in float64. They are kept and applied in the dtype of the
    rows: T shares an array with the factor of :math:`S + 2 \alpha I`, which takes m^3 / 3
    operations. One factor serves all outputs; if that makes many iterations, `update_each` gives
    every output its own.

    References
    ----------
    Rudi, Carratino and Rosasco (2017), Falkon: an optimal large scale kernel method.
    """

    def __init__(self, problem: Problem, rows: Rows, context: Context, *, standing_in: bool = True):
        self._alpha, self._fit_intercept = problem.alpha, problem.fit_intercept
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
        T = _upper_factor(problem.penalty) if problem.factor is None else problem.factor
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
        if not self._height / _STALE < height < self._height * _STALE:
            self._share(self._gram, height * self._mean, height, scale=height)
            self._height = height

    def update(self, X: Array, D: Array) -> None:
        """Adapt to rows with the curvatures D, of which zeros cost nothing."""
        S, border = _weighted_gram(X, D, self._inverse, self._n_threads)
        self._share(S, border, float(D.sum()))
        self._height = 0.0

    def _share(self, S: Array, border: Array, height: float, scale: float = 1.0) -> None:
        buffer, factor = self._buffer, self._buffer.dtype.type(scale)

        def fill() -> Array:
            for j in range(len(S)):
                buffer[j:, j] = factor * S[j:, j]
            return border

        self._outputs = []
        self._shared = BorderedFactor(buffer, fill, height * self._fit_intercept, self._alpha)

    def update_each(self, X: Array, curvature: Array) -> None:
        """Factorize the curvature of each output, from all rows where it is not zero."""

        def factorize(output: int, _: object) -> BorderedFactor:
            D = curvature[:, output].astype(np.float64)
            buffer = np.zeros(self._buffer.shape, self._buffer.dtype, order="F")
            S, border = _weighted_gram(X, D, self._inverse, 1)

            def fill() -> Array:
                buffer[...] = S
                return border

            return BorderedFactor(buffer, fill, float(D.sum()) * self._fit_intercept, self._alpha)

        initial: list[BorderedFactor] = []
        outputs = range(curvature.shape[1])
        self._outputs = fold(outputs, factorize, lambda a, b: [*a, b], initial, self._n_threads)

    def solve(self, R: Array, columns: Array) -> Array:
        """Return the inverse of the approximate curvature times R, of these outputs."""
        if not self._outputs:
            assert self._shared is not None, "it was updated"
            return self._shared.solve(R)
        return np.hstack([self._outputs[c].solve(R[:, [j]]) for j, c in enumerate(columns)])

    def to_rows(self, V: Array) -> Array:
        """Return the coefficients of coordinates u; the last row, of the intercept, is kept."""
        return self._changed(V, transposed=False)

    def from_rows(self, V: Array) -> Array:
        """Return a gradient in u for one in the coefficients; the last row is kept."""
        return self._changed(V, transposed=True)

    def _changed(self, V: Array, *, transposed: bool) -> Array:
        if not self.landmarks:
            return V
        # the diagonal of the buffer may be that of the shared factor
        np.einsum("ii->i", self._buffer)[:] = self._diagonal
        changed = np.empty(V.shape, self._buffer.dtype)
        changed[:-1] = triangular_solve(self._buffer, V[:-1], lower=False, transposed=transposed)
        changed[-1] = V[-1]
        return changed


@final
class Diagonal:
    r"""The diagonal of the curvature, for `Codes` of too many features for a matrix of them.

    :math:`h \, \overline{z_j^2} + 2 \alpha` for feature j, with a mean curvature h. Takes one pass,
    and as many numbers as there are features. Coordinates are the coefficients.
    """

    by_output = False

    def __init__(self, problem: Problem, rows: Rows, context: Context):
        self._alpha, self._dtype = problem.alpha, rows.dtype

        def add(total: Array, block: Block) -> Array:
            assert isinstance(block.X, Codes), "rows are coded"
            weight = block.weights()
            block.X.add_transposed(weight[:, None], total[:-1])
            total[-1] += weight.sum()
            return total

        zeros = np.zeros((rows.n_features + 1, 1))
        sums = context.map_reduce(rows, lambda block, _: block, add, zeros)
        assert rows.coded is not None, "rows are coded"
        self._means = sums / sums[-1]
        self._means[:-1] *= rows.coded.value
        self._inverse = np.ones_like(self._means)

    def stand_in(self, height: float) -> None:
        """Adapt to a mean curvature."""
        curved = height * self._means
        curved[:-1] += 2 * self._alpha
        self._inverse = np.divide(1.0, curved, out=np.ones_like(curved), where=curved > 0)

    def solve(self, R: Array, columns: Array) -> Array:
        """Return the inverse of the approximate curvature times R."""
        solved: Array = (self._inverse * R).astype(self._dtype)
        return solved

    def to_rows(self, V: Array) -> Array:
        """Return V."""
        return V

    def from_rows(self, V: Array) -> Array:
        """Return V."""
        return V


def _weighted_gram(X: Array, D: Array, change: Array | None, n_threads: int) -> tuple[Array, Array]:
    """Return ``sum_i D_i z_i z_i^T`` and ``sum_i D_i z_i`` over rows where D is not zero.

    z are the rows of X times ``change``: changing the sums instead would magnify their rounding.
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
    """Return T, of a slightly shifted P if that is singular, which preconditions as well."""
    check_representable(P)
    eps = float(np.finfo(np.float64).eps)
    if not P.any():
        return np.asfortranarray(np.diag(np.full(len(P), np.sqrt(eps))))
    for jitter in (0.0, *np.geomspace(10 * eps * len(P), _LARGEST_JITTER, 10)):
        R = cholesky(P, jitter=float(jitter))
        if R is not None:
            return R
    raise ValueError("the penalty matrix must be positive semidefinite, found a negative direction")
