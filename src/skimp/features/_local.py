"""Features of locally linear models: products of local coordinates and the columns of a row."""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from scipy import sparse

from skimp._core._linalg import canonical, check_columns, dense
from skimp._core._types import Array, DType, Matrix
from skimp._core._work import DOUBLE
from skimp.features._coordinates import LocalCoordinates


@final
@dataclass(frozen=True, eq=False)
class LocalProducts:
    r"""The features :math:`\gamma(x) \otimes (x / s, 1)` and x / s of a locally linear model.

    A linear function of them is a linear model that all rows share, plus one at each anchor. With a
    single anchor, the features are x / s alone. The coordinates of a row x belong to its k nearest
    of m anchors v:

    .. math::
        \gamma_v(x) \propto \frac{1}{\|x - v\|} - \frac{1}{r(x)}, \qquad \sum_v \gamma_v(x) = 1

    where r is the distance to the next anchor, k + 1 in order; 1 / r is zero if k = m. Subtracting
    it makes coordinates continuous for k > 1: an anchor that stops being one of the nearest has
    reached a coordinate of zero. The exception are points that have the same distance to k + 1
    nearest anchors. At an anchor, its coordinate is 1.

    A row with z nonzero entries has k (z + 1) + z nonzero features of m (d + 1) + d. Mapping n rows
    takes 2 n m d operations for the distances, and writes the nonzero features to a CSR matrix.

    Attributes
    ----------
    anchors : array or CSR matrix of shape (m, d)
        The anchors; no two are equal.
    n_neighbors : int
        Number of nearest anchors k, at most m.
    scale : float
        Factor of the rows, 1 / s.
    dtype : dtype
        Data type of the features, float32 or float64.
    entries : float
        Mean number of nonzero features of a training row.

    References
    ----------
    Franke and Nielson (1980), Smooth interpolation of large sets of scattered data (inverse
    distances that vanish at a radius).

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.features import LocalProducts
    >>> anchors = np.array([[0.0], [4.0], [9.0]])
    >>> local = LocalProducts(anchors, 2, 1.0, np.dtype(float), 4.0)
    >>> local.map_sparse(np.array([[1.0]])).toarray().round(3).tolist()
    [[0.808, 0.808, 0.192, 0.192, 0.0, 0.0, 1.0]]
    """

    anchors: Matrix
    n_neighbors: int
    scale: float
    dtype: DType
    entries: float

    @property
    def width(self) -> int:
        """Number of features."""
        m, d = (int(size) for size in self.anchors.shape)
        return d if m == 1 else m * (d + 1) + d

    @cached_property
    def _local(self) -> LocalCoordinates:
        return LocalCoordinates(self.anchors, self.n_neighbors, self.dtype)

    def coordinates(self, X: Matrix) -> tuple[Array, Array]:
        """Return the numbers of the nearest anchors, and their coordinates in float64."""
        return self._local.find(X)

    def map_sparse(self, X: Matrix) -> sparse.csr_matrix:
        """Return the features of rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
            Validated rows.

        Returns
        -------
        Z : CSR matrix of shape (n, width)
            Features: d + 1 columns per anchor, then d columns for the row itself.
        """
        from skimp._core.loops._local import count_products, fill_products

        m, d = self.anchors.shape
        check_columns(X, d)
        rows = canonical(sparse.csr_matrix(X, dtype=self.dtype))
        if m == 1:
            return rows * self.dtype.type(self.scale)
        numbers, weights = self.coordinates(X)
        starts = np.zeros(len(weights) + 1, np.int64)
        count_products(rows.indptr, weights, starts[1:])
        index = np.int32 if max(self.width, starts[-1]) < 2**31 else np.int64
        data, places = np.empty(starts[-1], self.dtype), np.empty(starts[-1], index)
        parts = rows.data, rows.indices, rows.indptr, m, d
        fill_products(*parts, numbers, weights, self.scale, data, places)
        Z = sparse.csr_matrix((data, places, starts.astype(index)), (len(weights), self.width))
        Z.has_canonical_format = True
        return Z

    def combine(self, X: Matrix, models: Array) -> Array:
        r"""Return :math:`\sum_v \gamma_v(x) a_v` for each row.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
            Validated rows.
        models : array of shape (m, ...)
            Numbers :math:`a_v` of each anchor, such as its coefficients.

        Returns
        -------
        combined : array of shape (n, ...)
            In the dtype of ``models``.
        """
        shares = self._local.matrix(X).astype(models.dtype)
        combined: Array = shares @ models.reshape(len(models), -1)
        return combined.reshape(X.shape[0], *models.shape[1:])

    def gram(self, X: Matrix) -> Array:
        """Return the inner products of the features of rows, without computing these features.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
            Validated rows.

        Returns
        -------
        K : array of shape (n, n), float64
        """
        rows = X.astype(np.float64) * self.scale
        products = dense(rows @ rows.T, DOUBLE)
        if self.anchors.shape[0] == 1:
            return products
        shares = self._local.matrix(X)
        K: Array = dense(shares @ shares.T, DOUBLE)
        K *= products + 1
        K += products
        return K

    def split(self, coef: Array) -> tuple[Array, Array]:
        r"""Return the linear models of the anchors, given the coefficients of the features.

        Parameters
        ----------
        coef : array of shape (width, q)
            Coefficients of q functions.

        Returns
        -------
        models, constants : arrays of shape (m, d, q) and (m, q)
            Coefficients of x and constants at each anchor, the shared model included.
        """
        m, d = self.anchors.shape
        own = np.zeros((m, d + 1, coef.shape[1]))
        if m > 1:
            own[...] = coef[:-d].reshape(own.shape)
        return self.scale * (own[:, :d] + coef[-d:]), own[:, d]
