"""Preconditioners: approximate Hessians that are cheap to invert."""

from collections.abc import Callable
from typing import final

import numpy as np
from scipy import linalg

from skimp._core._blocks import Scratch, fold
from skimp._core._linalg import check_representable, cholesky, mirror_upper, triangular_solve
from skimp._core._types import Array, DType
from skimp.data import Block, Codes, Context, Rows
from skimp.solvers._base import Problem

_STALE = 1.5
"""Factor by which the mean curvature may change before a new factorization."""
CHUNK = 4096
_MAX_JITTER = 1e-3
_MIN_CORNER = 1e-3
"""Minimum fraction of the corner after elimination of the border, because of rounding."""

Inverse = Callable[[Array], Array]


def invert_bordered(G: Array, alpha: float, dtype: DType, scale: float = 1.0) -> Inverse:
    r"""Return a function that multiplies by the inverse of :math:`s G + 2 \alpha I`.

    The last row and column of G belong to the intercept, which is not penalized. If they are zero,
    there is no intercept, and the last row of the products is zero. The factorization is in
    ``dtype``.
    """
    (potrf,) = linalg.get_lapack_funcs(("potrf",), dtype=dtype)
    shift = 0.0
    while True:
        L = np.multiply(G[:-1, :-1], scale, dtype=dtype, order="F", casting="same_kind")
        diagonal = np.einsum("ii->i", L)
        check_representable(diagonal)
        diagonal += 2 * alpha + shift * diagonal.max()
        _, info = potrf(L, lower=1, clean=0, overwrite_a=1)
        if info == 0:
            break
        # if G is not positive definite because of rounding, a shifted G works as well
        shift = max(10 * shift, float(np.finfo(dtype).eps))
    border = triangular_solve(L, scale * G[:-1, -1:], lower=True)
    corner = scale * float(G[-1, -1])
    corner = max(corner - float(np.sum(border**2, dtype=np.float64)), _MIN_CORNER * corner)

    def solve(R: Array) -> Array:
        X = np.zeros_like(R)
        forth = triangular_solve(L, R[:-1], lower=True)
        if corner > 0:
            X[-1] = (R[-1] - border[:, 0] @ forth) / corner
            forth -= border * X[-1]
        X[:-1] = triangular_solve(L, forth, lower=True, transposed=True)
        return X

    return solve


@final
class Preconditioner:
    r"""Approximate inverse of the Hessian, in coordinates in which the penalty is the identity.

    With :math:`P = T^T T`, the coordinates are u = T c. The Hessian in these coordinates is
    approximated by :math:`S + 2 \alpha I`, with a border for the intercept. There are two choices
    of S:

    - a sum over some rows, weighted by their mean curvature over the outputs;
    - :math:`S = h T T^T / m` with the mean curvature h, as in Falkon. The landmarks represent the
      rows, so that no sum is needed. This works well if landmarks are distributed like rows, and
      poorly if they are cluster centres.

    The inverse of T and :math:`T T^T` are computed in float64, and stored and applied in the dtype
    of the rows. One factor of :math:`S + 2 \alpha I`, which takes m^3 / 3 operations, serves all
    outputs. If that leads to many iterations, `update_each` computes one factor per output.

    Attributes
    ----------
    landmarks : bool
        Whether there is a penalty matrix.
    by_output : bool
        Whether every output has its own factor.
    height : float
        Mean curvature h of the Falkon preconditioner; zero if S is a sum over rows.

    References
    ----------
    Rudi, Carratino and Rosasco (2017), Falkon: an optimal large scale kernel method.
    """

    def __init__(self, problem: Problem, rows: Rows, context: Context, *, falkon: bool = True):
        self._alpha, self._fit_intercept = problem.alpha, problem.fit_intercept
        self._dtype, self._n_threads = rows.dtype, context.threads
        self.landmarks, self.by_output, self.height = problem.penalty is not None, False, 0.0
        self._inverses: list[Inverse] = []
        self._to_rows: Array | None = None
        if problem.penalty is None:
            return
        T = _upper_factor(problem.penalty) if problem.factor is None else problem.factor
        with np.errstate(over="ignore"):
            check_representable(T.diagonal().astype(rows.dtype) ** 2)
            self._to_rows = linalg.lapack.dtrtri(T, lower=0)[0].astype(rows.dtype, order="C")
            if falkon:
                self._gram = _landmark_gram(T, problem.fit_intercept, rows.dtype)

    def set_mean_curvature(self, height: float) -> None:
        """Use the Falkon preconditioner with this mean curvature; ignore small changes."""
        if not self.height / _STALE < height < self.height * _STALE:
            self._inverses = []
            self._inverses = [invert_bordered(self._gram, self._alpha, self._dtype, height)]
            self.by_output, self.height = False, height

    def update(self, X: Array, D: Array) -> None:
        """Sum over the rows X with curvatures D; rows of zero curvature are skipped."""
        self._inverses = []
        self._inverses = [self._invert(X, D, self._n_threads)]
        self.by_output, self.height = False, 0.0

    def update_each(self, X: Array, curvature: Array) -> None:
        """Compute one factor per output, from all rows of nonzero curvature."""

        def invert(D: Array, _: Scratch) -> Inverse:
            return self._invert(X, D.astype(np.float64), 1)

        none: list[Inverse] = []
        self._inverses = fold(curvature.T, invert, lambda a, b: [*a, b], none, self._n_threads)
        self.by_output = True

    def _invert(self, X: Array, D: Array, n_threads: int) -> Inverse:
        G = _weighted_gram(X, D, self._to_rows, n_threads)
        if not self._fit_intercept:
            G[-1] = G[:, -1] = 0
        return invert_bordered(G, self._alpha, self._dtype)

    def solve(self, R: Array, columns: Array) -> Array:
        """Multiply R by the approximate inverse Hessian; its columns belong to these outputs."""
        if not self.by_output:
            return self._inverses[0](R)
        return np.hstack([self._inverses[c](R[:, [j]]) for j, c in enumerate(columns)])

    def to_rows(self, V: Array) -> Array:
        """Return the coefficients c of coordinates u; the last row, the intercept, is unchanged."""
        return V if self._to_rows is None else _change(self._to_rows, V)

    def from_rows(self, V: Array) -> Array:
        """Return the gradient in u for a gradient in c; the last row is unchanged."""
        return V if self._to_rows is None else _change(self._to_rows.T, V)


@final
class Diagonal:
    r"""Diagonal preconditioner, for `Codes` or sparse rows with too many features for a matrix.

    The entry of feature j is :math:`h \, \overline{z_j^2} + 2 \alpha` with the mean curvature h.
    Takes one pass over the rows and one number per feature. Coordinates are the coefficients.
    """

    def __init__(self, problem: Problem, rows: Rows, context: Context):
        self._alpha, self._dtype = problem.alpha, rows.dtype

        def add(total: Array, block: Block) -> Array:
            weight = block.weights()
            if isinstance(block.X, Codes):
                block.X.add_transposed(weight[:, None], total[:-1])
            else:
                squares = block.X.astype(np.float64).power(2)
                total[:-1, 0] += squares.T @ weight
            total[-1] += weight.sum()
            return total

        zeros = np.zeros((rows.n_features + 1, 1))
        sums = context.map_reduce(rows, lambda block, _: block, add, zeros)
        self._means = sums / sums[-1]
        if rows.coded is not None:
            self._means[:-1] *= rows.coded.value
        self._inverse = np.ones_like(self._means)

    def set_mean_curvature(self, height: float) -> None:
        """Set the mean curvature."""
        curved = height * self._means
        curved[:-1] += 2 * self._alpha
        self._inverse = np.divide(1.0, curved, out=np.ones_like(curved), where=curved > 0)

    def solve(self, R: Array, columns: Array) -> Array:
        """Multiply R by the approximate inverse Hessian."""
        solved: Array = (self._inverse * R).astype(self._dtype)
        return solved

    def to_rows(self, V: Array) -> Array:
        """Return V unchanged: coordinates are the coefficients."""
        return V

    from_rows = to_rows


def _change(W: Array, V: Array) -> Array:
    V = V.astype(W.dtype, copy=False)
    return np.vstack([W @ V[:-1], V[-1:]])


def _weighted_gram(X: Array, D: Array, change: Array | None, n_threads: int) -> Array:
    """Return ``sum_i D_i z_i z_i^T`` over rows with nonzero D.

    z are the rows of ``X @ change`` with a one appended. Transforming the sum instead of the rows
    would magnify rounding errors.
    """
    chosen = np.flatnonzero(D)

    dtype = X.dtype if change is None else np.result_type(X, change)

    def of_chunk(start: int, scratch: Scratch) -> Array:
        rows = chosen[start : start + CHUNK]
        root = np.sqrt(D[rows]).astype(X.dtype)[:, None]
        Z = scratch.array("Z", (len(rows), X.shape[1] + 1), dtype)
        if change is None:
            np.multiply(X[rows], root, out=Z[:, :-1])
        else:
            Z[:, :-1] = (X[rows] * root) @ change
        Z[:, -1:] = root
        return np.asarray(Z.T @ Z)

    def add(total: Array, part: Array) -> Array:
        total += part
        return total

    zeros = np.zeros((X.shape[1] + 1, X.shape[1] + 1))
    return fold(range(0, len(chosen), CHUNK), of_chunk, add, zeros, n_threads)


def _landmark_gram(T: Array, fit_intercept: bool, dtype: DType) -> Array:
    """Return ``sum_i z_i z_i^T / m``, where z are the m columns of T with a one appended."""
    gram = linalg.lapack.dlauum(T, lower=0)[0]
    mirror_upper(gram)
    gram /= len(T)
    G = np.zeros((len(T) + 1, len(T) + 1), dtype)
    G[:-1, :-1] = gram
    if fit_intercept:
        G[-1, :-1] = G[:-1, -1] = T.mean(axis=1)
        G[-1, -1] = 1
    return G


def _upper_factor(P: Array) -> Array:
    """Return the upper Cholesky factor of P, shifted slightly if P is singular."""
    check_representable(P)
    eps = float(np.finfo(np.float64).eps)
    if not P.any():
        return np.asfortranarray(np.diag(np.full(len(P), np.sqrt(eps))))
    for jitter in (0.0, *np.geomspace(10 * eps * len(P), _MAX_JITTER, 10)):
        R = cholesky(P, jitter=float(jitter))
        if R is not None:
            return R
    raise ValueError("penalty must be positive semidefinite, found a negative eigenvalue.")
