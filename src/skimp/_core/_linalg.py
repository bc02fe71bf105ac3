"""Dense linear algebra in float64 that handles singular matrices, and products with sparse rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg, sparse

from skimp._core._threads import single_threaded_blas
from skimp._core._types import Array, DType, Matrix


def as_compute_dtype(dtype: Any) -> DType:
    """Return the precision in which to compute: float32 for float32 and float16, else float64."""
    dtype = np.dtype(dtype)
    single = dtype.kind == "f" and dtype.itemsize <= 4
    return np.dtype(np.float32 if single else np.float64)


def dense(X: Matrix, dtype: DType) -> Array:
    """Return a C-contiguous array of this dtype, without a copy if X is one."""
    if sparse.issparse(X):
        X = X.toarray()
    return np.ascontiguousarray(X, dtype)


def canonical(X: Matrix) -> Matrix:
    """Return CSR rows with sorted and unique columns, without a copy if X has them."""
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def check_shape(out: Array, shape: tuple[int, ...]) -> None:
    """Raise if an output has another shape; compiled loops do not check bounds."""
    if out.shape != shape:
        raise ValueError(f"out must have shape {shape}, found {out.shape}.")


def check_columns(X: Matrix, width: int) -> None:
    """Raise if rows have another number of columns; compiled loops do not check bounds."""
    if X.shape[1] != width:
        raise ValueError(f"X must have {width} columns, found {X.shape[1]}.")


def check_representable(*arrays: Array) -> None:
    """Raise if features or targets have overflowed."""
    if not all(np.isfinite(array).all() for array in arrays):
        raise ValueError(
            "X and y must be small enough for the kernel and its squares to be finite numbers, "
            "found infinity or NaN: rescale the columns of X, or y, or the kernel's parameters."
        )


def check_finite(Z: Array) -> None:
    """Raise if features have overflowed; sums them, which is fast enough for every strip."""
    with np.errstate(over="ignore", invalid="ignore"):
        check_representable(Z.sum())


def product(X: Matrix, W: Matrix, out: Array) -> None:
    """Write ``X @ W`` into ``out``; X and W may be sparse."""
    if sparse.issparse(X) or sparse.issparse(W):
        XW = X.astype(W.dtype, copy=False) @ W
        out[...] = XW.toarray() if sparse.issparse(XW) else XW
    else:
        np.matmul(np.asarray(X, W.dtype), W, out=out)


def squared_norms(X: Matrix, weights: Array | float = 1.0) -> Array:
    """Return the sum over columns of ``w_k x_k^2`` for each row, in float64."""
    weights = np.broadcast_to(np.asarray(weights, np.float64), X.shape[1])
    if sparse.issparse(X):
        X = X.astype(np.float64)
        norms: Array = X.multiply(X) @ weights
        return norms
    norms = np.einsum("ij,ij,j->i", X, X, weights, dtype=np.float64, casting="same_kind")
    return norms


def centred(K: Array) -> Array:
    """Centre a Gram matrix: return the inner products of the rows minus their mean."""
    means = K.mean(axis=0)
    around: Array = K - means - means[:, None] + means.mean()
    return around


def cholesky(A: Array, *, jitter: float = 0.0) -> Array | None:
    """Return the upper factor R of ``A + jitter mean(diag A) I = R^T R``, or None if it fails.

    Only the upper triangle of A is read.
    """
    with single_threaded_blas():
        shifted = np.array(A, order="F")
        if jitter:
            shifted.flat[:: len(A) + 1] += jitter * A.diagonal().mean()
        R, info = linalg.lapack.dpotrf(shifted, lower=0, clean=1, overwrite_a=1)
    return R if info == 0 and np.isfinite(R[-1, -1]) else None


def reciprocal_condition(R: Array, A: Array) -> float:
    """Estimate 1 / (||A|| ||A^-1||) in the 1-norm from the Cholesky factor R of A."""
    with single_threaded_blas():
        rcond, _ = linalg.lapack.dpocon(R, linalg.norm(A, 1, check_finite=False), uplo="U")
    return float(rcond)


def condition_number(A: Array) -> float:
    """Estimate the condition number of a positive definite matrix in the 1-norm.

    Returns infinity if the matrix is singular to working precision.
    """
    R = cholesky(A)
    inverse = 0.0 if R is None else reciprocal_condition(R, A)
    return 1 / inverse if inverse > _EPS64 else float("inf")


def solve_positive(A: Array, b: Array) -> tuple[Array, str]:
    """Solve ``A x = b`` for a positive semidefinite A; return x and the name of the method.

    Tries Cholesky first, then Cholesky with a jitter of a few eps. If A is singular to working
    precision in both, uses the pseudo-inverse without eigenvalues below ``eps len(A)`` times the
    largest.
    """
    for jitter, how in ((0.0, "Cholesky"), (8 * _EPS64 * len(A), "Cholesky with jitter")):
        R = cholesky(A, jitter=jitter)
        if R is not None and reciprocal_condition(R, A) > _EPS64:
            with single_threaded_blas():
                return linalg.cho_solve((R, False), b), how
    values, vectors = eigenpairs(A)
    keep = values > _EPS64 * len(A) * max(values[-1], 0.0)
    with single_threaded_blas():
        coef = (vectors[:, keep].T @ b) / values[keep, None]
        return vectors[:, keep] @ coef, "eigenvalues"


def eigenpairs(A: Array) -> tuple[Array, Array]:
    """Return the ascending eigenvalues and the eigenvectors of a symmetric matrix.

    Only its upper triangle is read.
    """
    with single_threaded_blas():
        values, vectors = linalg.eigh(A, lower=False, driver="evd")
    return values, vectors


def upper_gram(X: Any, out: Any, matmul: Callable[..., Any] = np.matmul) -> None:
    """Write X^T X on and above the diagonal of ``out``, and some entries below, for few rows.

    NumPy's product of a matrix and its own transpose takes twice as long, because it mirrors the
    triangle entry by entry. ``matmul`` can be that of another library, for its arrays.
    """
    for start in range(0, len(out), _GRAM_BLOCK):
        block = slice(start, start + _GRAM_BLOCK)
        matmul(X.T[block], X[:, start:], out=out[block, start:])


def mirror_upper(A: Array) -> None:
    """Copy the upper triangle of a square matrix onto the lower one, in place."""
    for start in range(0, len(A), _TILE):
        stop = start + _TILE
        tile = A[start:stop, start:stop]
        below = np.tril_indices(len(tile), -1)
        tile[below] = tile.T[below]
        A[stop:, start:stop] = A[start:stop, stop:].T


def triangular_solve(A: Array, B: Array, *, lower: bool, transposed: bool = False) -> Array:
    """Solve with one triangle of a column-major A; the other triangle is not read."""
    (trsm,) = linalg.get_blas_funcs(("trsm",), (A,))
    with single_threaded_blas():
        X: Array = trsm(1.0, A, B.astype(A.dtype, copy=False), lower=lower, trans_a=transposed)
    return X


def inverse_lower(L: Array) -> Array:
    """Return the inverse of a lower triangular matrix, by recursive halving.

    NumPy's matrix products release the GIL; SciPy's LAPACK routine for this does not.
    """
    if len(L) <= _TILE:
        inverse: Array = np.tril(np.linalg.inv(L))
        return inverse
    half = len(L) // 2
    inverse = np.zeros_like(L)
    inverse[:half, :half] = first = inverse_lower(L[:half, :half])
    inverse[half:, half:] = last = inverse_lower(L[half:, half:])
    np.negative(last @ (L[half:, :half] @ first), out=inverse[half:, :half])
    return inverse


def whitened(A: Array, R: Array) -> Array:
    """Return ``R^-T A R^-1`` for a symmetric A and an upper triangular R.

    Only the upper triangle of A is read.
    """
    with single_threaded_blas():
        reduced, _ = linalg.lapack.dsygst(A, R, itype=1, lower=0)
    mirror_upper(reduced)
    return np.asarray(reduced)


def well_conditioned_factor(A: Array) -> Array | None:
    """Return the upper Cholesky factor of A, or None if A is ill conditioned.

    The limit on the condition number, 1e7, keeps the square of A invertible in float64 as well.
    """
    R = cholesky(A)
    return None if R is None or reciprocal_condition(R, A) < _WELL_CONDITIONED else R


def pivoted_cholesky(A: Array, *, tol: float) -> tuple[Array, Array]:
    """Return the pivots of a pivoted Cholesky factorization, and the upper factor of their block.

    Each pivot is the row with the largest residual on the diagonal. Pivoting stops at residuals
    below ``tol len(A)`` times the largest diagonal entry, which are rounding errors.
    """
    with single_threaded_blas():
        tolerance = len(A) * tol * A.diagonal().max()
        R, pivots, rank, _ = linalg.lapack.dpstrf(A, tol=tolerance)
    rank = max(1, rank)
    return pivots[:rank] - 1, np.triu(R[:rank, :rank])


def ordered_cholesky(A: Array, *, tol: float) -> tuple[Array, Array]:
    """Return the rows that are linearly independent of earlier ones, and their lower factor.

    A row counts as dependent if its residual on the diagonal is at most ``tol len(A)`` times the
    largest diagonal entry.
    """
    n, least = len(A), len(A) * tol * A.diagonal().max()
    L, left = np.zeros((n, n), order="F"), A.diagonal().copy()
    kept: list[int] = []
    with single_threaded_blas():
        for j in range(n):
            k = len(kept)
            if left[j] <= least:
                continue
            L[j:, k] = (A[j:, j] - L[j:, :k] @ L[j, :k]) / np.sqrt(left[j])
            left[j:] -= L[j:, k] ** 2
            kept.append(j)
    rows = np.array(kept, np.int64)
    return rows, np.tril(L[rows, : len(rows)])


def inverse_root(A: Array, *, rank: int | None, eps: float) -> tuple[Array, Array | None]:
    r"""Return W of shape (m, r) with :math:`W W^T = A^+`, and the eigenvalues that were kept.

    If A is well conditioned and ``rank`` is None, W is the inverse Cholesky factor, and None
    replaces the eigenvalues. Otherwise the columns of W are eigenvectors divided by the square
    roots of their eigenvalues, in descending order, without eigenvalues below ``eps`` times the
    largest.
    """
    R = well_conditioned_factor(A) if rank is None else None
    if R is not None:
        with single_threaded_blas():
            W, _ = linalg.lapack.dtrtri(R, lower=0)
        return np.ascontiguousarray(W), None
    values, vectors = eigenpairs(A)
    values, vectors = values[::-1], vectors[:, ::-1]
    if values[0] <= 0:
        return np.zeros((len(A), 1)), np.zeros(1)
    cut = max(eps, len(A) * _EPS64) * values[0]
    keep = int(np.count_nonzero(values[:rank] > cut))
    return np.ascontiguousarray(vectors[:, :keep] / np.sqrt(values[:keep])), values[:keep]


_WELL_CONDITIONED = 1e-7
_TILE = 256
_GRAM_BLOCK = 128
_EPS64 = float(np.finfo(np.float64).eps)
