"""Squared distances, as fast as a matrix product and as accurate as a sum of differences."""

from functools import cached_property
from typing import Any, final

import numpy as np
from scipy import sparse

from skimp._core._linalg import canonical, dense, squared_norms
from skimp._core._pairs import Distances, InnerProducts, private, scaled, stays_sparse
from skimp._core._types import Array, Matrix

_FEW_COLUMNS = 4
"""With at most this many columns, summing squared differences is as fast as a matrix product."""

_SHARES = {np.dtype(np.float32): 2.0**-5, np.dtype(np.float64): 2.0**-16}
"""Distances below this share of ``|x|^2 + |b|^2`` lose too many digits to cancellation."""


@final
class SquaredDistances(Distances):
    r"""Weighted squared Euclidean distance, :math:`\sum_k w_k (x_k - b_k)^2`.

    Distances are computed as :math:`|x|^2 + |b|^2 - 2 \langle x, b \rangle`, which is fast but
    loses digits if the distance is small relative to the norms. Dense rows are therefore centred
    at the mean of B, and distances that are still relatively small are recomputed from
    differences. The relative error is at most about 4e-6 sqrt(d) in float32 and 1e-11 sqrt(d) in
    float64, far from the origin too, and the distance of equal rows is exactly zero.
    """

    degree = 2
    rotation_invariant = True

    def _prepare(self, B: Matrix) -> None:
        self._root = np.sqrt(self._weights)
        self._centre: Array | None = None
        kept_sparse = stays_sparse(B)
        self._B: Any = _rows_to_merge(B, self.dtype) if kept_sparse else private(B, self.dtype)
        if not sparse.issparse(B):
            self._centre = self._B.mean(axis=0, dtype=np.float64).astype(self.dtype)
        self._Bt = None
        if B.shape[1] <= _FEW_COLUMNS and not kept_sparse:
            self._Bt = np.ascontiguousarray(self._B.T)
        rows, self._norms = self._scaled(self._B)
        self._products = InnerProducts(rows, self.dtype)
        self._share = self.dtype.type(_SHARES[self.dtype])

    def _scaled(self, X: Matrix) -> tuple[Matrix, Array]:
        """Centre and scale rows, so that plain distances are weighted; return their norms too."""
        from skimp._core.loops._pairs import centre_rows

        if self._centre is None and sparse.issparse(X):
            rows = scaled(X, self._root)
            return rows, squared_norms(rows).astype(self.dtype)
        rows, norms = private(X, self.dtype), np.empty(X.shape[0], self.dtype)
        centre = np.zeros_like(self._root) if self._centre is None else self._centre
        centre_rows(rows, centre, self._root, norms)
        return rows, norms

    def fill(self, X: Matrix, out: Array) -> None:
        from skimp._core.loops import _pairs as loops

        if self._Bt is not None:
            loops.squared_differences(private(X, self.dtype), self._Bt, self._weights, out)
            return
        rows, norms = self._scaled(X)
        self._products.fill(rows, out)
        n_close = np.empty(len(out), np.int32)
        loops.squared_distances(out, norms, self._norms, self._share, n_close)
        close = np.flatnonzero(n_close)
        if not len(close):
            return
        rest = (self._weights, norms, self._norms, self._share)
        if sparse.issparse(self._B):
            parts = (*_parts(_rows_to_merge(X[close], self.dtype)), *_parts(self._B))
            loops.close_sparse_distances(out, close, *parts, *rest)
        else:
            loops.close_distances(out, close, private(X[close], self.dtype), self._B, *rest)

    def add_gradient(self, X: Matrix, A: Array, out: Array) -> None:
        """Add ``2 w (x_i sum_j A_ij - sum_j A_ij b_j)``."""
        # in float64: the two terms cancel if rows are far from the centre
        A = A.astype(np.float64)
        G = self._shifted(dense(X, np.dtype(np.float64))) * A.sum(axis=1, keepdims=True)
        G -= A @ self._points
        G *= 2 * self._weights
        out += G

    def add_gradient_sums(self, X: Matrix, A: Array, out: Array) -> None:
        """Add ``2 w (sum_i A_ij x_i - b_j sum_i A_ij)``."""
        A = A.astype(np.float64)
        G = A.T @ self._shifted(dense(X, np.dtype(np.float64)))
        G -= dense(self._points, np.dtype(np.float64)) * A.sum(axis=0)[:, None]
        G *= 2 * self._weights
        out += G

    @cached_property
    def _points(self) -> Matrix:
        """The rows of B in float64, used for gradients only."""
        return self._shifted(self._B.astype(np.float64))

    def _shifted(self, X: Matrix) -> Matrix:
        return X if self._centre is None else X - self._centre


def _rows_to_merge(X: Matrix, dtype: Any) -> Matrix:
    return canonical(sparse.csr_matrix(X, dtype=dtype))


def _parts(X: Matrix) -> tuple[Array, Array, Array]:
    return X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)
