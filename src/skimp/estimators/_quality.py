"""How well a basis approximates its kernel, as far as a sample of rows can show."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse

from skimp._core._linalg import cholesky, condition_number
from skimp._core._threads import single_threaded_blas
from skimp._core._types import Array, Matrix
from skimp.data import ArrayRows, Codes
from skimp.features import Basis, FeatureMap, Landmarks
from skimp.kernels import Precomputed

_PAIRS = 500
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Quality:
    """What a sample of rows says about a basis."""

    residual_trace: float | None
    kernel_error: float | None
    dimension: float
    condition_number: float | None


def measure_quality(
    feature_map: FeatureMap | Landmarks,
    X: Matrix,
    weight: Array,
    alpha: float,
    *,
    centred: bool = False,
) -> Quality:
    """Measure a fitted map on some rows.

    Parameters
    ----------
    feature_map : FeatureMap or Landmarks
        The map.
    X : array or CSR matrix of shape (s, d)
        The rows, checked.
    weight : array of shape (s,)
        Their weights.
    alpha : float
        The penalty.
    centred : bool, default=False
        Whether the model has an intercept, which takes the mean of the features.
    """
    kernel, landmarks, share = feature_map.kernel_, feature_map.landmarks_, weight / weight.sum()
    if isinstance(kernel, Precomputed):
        kernel = None  # its matrix need not have columns for all rows
    residual = error = None
    with single_threaded_blas():
        Z = _coordinates(feature_map.basis(), X)
        if kernel is not None:
            own = kernel.diag(X)
            if feature_map.nested and share @ own > 0:
                missed = np.clip(own - _squares(Z), 0, None)
                residual = float(share @ missed / (share @ own))
            K, A = kernel(X[:_PAIRS]), Z[:_PAIRS] @ Z[:_PAIRS].T
            norm = float(np.linalg.norm(K))
            error = float(np.linalg.norm(K - A)) / norm if norm else 0.0
        values = _spectrum(Z, share, centred)
        condition = None if landmarks is None else condition_number(landmarks.penalty)
    return Quality(residual, error, float((values / (values + alpha)).sum()), condition)


def _spectrum(Z: Any, share: Array, centred: bool) -> Array:
    """Return the eigenvalues of the weighted covariance, or second moments, of features."""
    roots = np.sqrt(share)[:, None]
    if Z.shape[1] <= Z.shape[0] and not sparse.issparse(Z):
        Z = roots * (Z - share @ Z if centred else Z)
        G = Z.T @ Z
    else:
        G = Z @ Z.T
        G = np.asarray(G.todense() if sparse.issparse(G) else G)
        if centred:
            G = G - share @ G
            G = G - (G @ share)[:, None]
        G = roots * G * roots.T
    values: Array = np.linalg.eigvalsh(G).clip(0)
    return values


def _coordinates(basis: Basis, X: Matrix) -> Any:
    """Return features in which the norm of a model is that of its coefficients."""
    block = ArrayRows(X).mapped(basis).collect().X
    if isinstance(block, Codes):
        return block.tocsr().astype(np.float64)
    Z = np.asarray(block, np.float64)
    if basis.penalty is None:
        return Z
    R = basis.factor
    R = cholesky(basis.penalty, jitter=8 * _EPS * len(basis.penalty)) if R is None else R
    return linalg.solve_triangular(R, Z.T, trans="T").T


def _squares(Z: Any) -> Array:
    squares = Z.multiply(Z) if sparse.issparse(Z) else Z**2
    return np.asarray(squares.sum(axis=1)).ravel()
