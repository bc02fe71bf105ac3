"""Projection of features onto the eigenvectors of spectral clustering."""

from typing import Any, ClassVar, Self, final

import numpy as np
from scipy import linalg
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from skimp._core._types import Array
from skimp._params._parametrized import Parametrized, all_or_nothing
from skimp._params._rules import Rule, check_params, integer
from skimp.features._file_transformer import FileTransformer

_EPS = float(np.finfo(np.float64).eps)
_CHUNK = 4096


@final
class SpectralProjection(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, FileTransformer, Parametrized
):
    r"""Projection of features onto the eigenvectors of their normalized similarities.

    For features Z of n rows, :math:`K = Z Z^T` approximates the kernel matrix. The projections of
    the fitted rows are the leading eigenvectors of

    .. math:: G^{-1/2} K G^{-1/2}, \qquad g_i = \sum_j K_{ij}, \qquad G = \operatorname{diag}(g)

    They are the left singular vectors of :math:`G^{-1/2} Z`, computed from its D x D second
    moments; no n x n matrix is formed. Rows of different clusters are far apart in them, which
    k-means uses in spectral clustering. A new row x has the degree
    :math:`\sum_j \langle z(x), z(x_j) \rangle`.

    A degree is at least :math:`\|z(x)\|^2`, the similarity of a row to itself, because random
    features can make sums of small kernel values negative. Rows of zeros remain zero.

    ``fit`` takes n D^2 + O(D^3) operations for D features, and D^2 numbers of memory.

    Parameters
    ----------
    n_components : int, default=8
        Number of eigenvectors, or of features if there are fewer.

    Attributes
    ----------
    total_ : array of shape (D,)
        Sum of the fitted rows, in float64.
    eigenvalues_ : array of shape (n_components,)
        The largest eigenvalues, in descending order. The first one is 1.
    components_ : array of shape (D, n_components)
        Matrix that multiplies the normalized features, in float64.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Ng, Jordan and Weiss (2001), On spectral clustering: analysis and an algorithm, section 2.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.features import SpectralProjection
    >>> Z = np.repeat([[1.0, 0.0], [0.0, 1.0]], 3, axis=0)  # two groups without similarity
    >>> U = SpectralProjection(2).fit_transform(Z)
    >>> bool(np.allclose(U @ U.T, np.kron(np.eye(2), np.ones((3, 3))) / 3))
    True
    """

    rules: ClassVar[dict[str, Rule]] = {"n_components": integer(at_least=1)}

    def __init__(self, n_components: int = 8):
        self.n_components = n_components

    def fit(self, X: Any, y: Any = None) -> Self:
        """Compute the leading eigenvectors.

        Parameters
        ----------
        X : array of shape (n, D)
            Features of the rows.
        y : ignored

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            check_params(self)
            Z = self._read(X, reset=True)
            D = Z.shape[1]
            k = min(int(self.n_components), D)
            self.total_ = Z.sum(axis=0, dtype=np.float64)
            moments = np.zeros((D, D))
            for start in range(0, len(Z), _CHUNK):
                N = self._normalized(Z[start : start + _CHUNK])
                moments += N.T @ N
            values, vectors = linalg.eigh(moments, subset_by_index=(D - k, D - 1))
            values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
            self.eigenvalues_ = values
            # directions without features are projected to zero
            scale = np.zeros(k)
            np.divide(1.0, np.sqrt(values), out=scale, where=values > D * _EPS * values[0])
            self.components_ = vectors * scale
        return self

    def transform(self, X: Any) -> Array:
        """Project features.

        Parameters
        ----------
        X : array of shape (n, D)
            Features of the rows.

        Returns
        -------
        array of shape (n, n_components)
        """
        check_is_fitted(self)
        Z = self._read(X, reset=False)
        projected: Array = (self._normalized(Z) @ self.components_).astype(Z.dtype)
        return projected

    def _normalized(self, Z: Array) -> Array:
        """Divide rows by the square roots of their degrees, in float64."""
        Z = np.asarray(Z, np.float64)
        degree = np.maximum(Z @ self.total_, np.einsum("ij,ij->i", Z, Z))
        scale = np.zeros(len(Z))
        np.divide(1.0, np.sqrt(degree), out=scale, where=degree > 0)
        return Z * scale[:, None]

    def _read(self, X: Any, *, reset: bool) -> Array:
        Z: Array = validate_data(self, X, dtype=[np.float64, np.float32], reset=reset)
        return Z

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[1])

    def __sklearn_tags__(self) -> Any:
        """Return the tags that describe the accepted input."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
