"""Error of distances between features, relative to distances in the kernel's feature space."""

from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length

from skimp._core._linalg import check_representable, dense, squared_norms
from skimp._core._objects import as_real
from skimp._core._types import Array, Matrix
from skimp._params._rules import Rule, check_values
from skimp.data import open_rows
from skimp.diagnostics._inputs import KERNEL, is_data
from skimp.kernels import Kernel

_BLOCK = 256
_DOUBLE = np.dtype(np.float64)
ROUNDING = 64 * float(np.finfo(np.float64).eps)
"""Relative differences of kernel values in float64 below this are rounding."""


def distance_distortion(X: Any, Z: Any, kernel: Kernel) -> float:
    r"""Return the mean relative error of squared distances, over all pairs of rows.

    .. math::

        \operatorname{mean}_{i < j} \frac{\left| \|z_i - z_j\|^2 - d_{ij} \right|}{d_{ij}}, \qquad
        d_{ij} = k(x_i, x_i) + k(x_j, x_j) - 2 k(x_i, x_j)

    A distortion of 0.1 means that squared distances in feature space change by 10 %. Pairs with
    :math:`d_{ij} = 0` up to rounding, such as equal rows, are left out. Takes O(n^2 (d + D))
    time.

    Parameters
    ----------
    X : array, CSR matrix, frame or Rows of shape (n, d)
        Rows.
    Z : array or CSR matrix of shape (n, D)
        Their features.
    kernel : Kernel
        The kernel with numeric parameters, such as ``kernel_`` of a fitted map.

    Returns
    -------
    distortion : float
        The mean relative error; NaN if no two rows differ.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.diagnostics import distance_distortion
    >>> from skimp.features import PolynomialProjection
    >>> X = np.random.default_rng(0).normal(size=(100, 20))
    >>> projection = PolynomialProjection(n_terms=30, n_vectors=3000, random_state=0)
    >>> distortion = distance_distortion(X, projection.fit_transform(X), projection.kernel_)
    >>> bool(distortion < 0.1)
    True
    """
    features = Rule("the features of X, such as feature_map.transform(X)", is_data)
    check_values("distance_distortion", {"kernel": KERNEL, "Z": features}, kernel=kernel, Z=Z)
    rows = open_rows(X)
    if rows.feature_names is not None:
        kernel = kernel.with_names(rows.feature_names)
    A = as_real(rows.collect().X, _DOUBLE)
    Z = check_array(Z, accept_sparse="csr", dtype=_DOUBLE, input_name="Z")
    check_consistent_length(A, Z)
    return pair_errors(A, Z, kernel).mean


def pair_errors(X: Matrix, Z: Matrix, kernel: Kernel) -> "PairErrors":
    """Return the errors over all pairs of validated float64 rows."""
    diagonal, lengths = kernel.diag(X), squared_norms(Z)
    errors = PairErrors()
    for start in range(0, len(lengths), _BLOCK):
        part = slice(start, start + _BLOCK)
        # each pair of a row of this block and a later row, once
        K, G = kernel(X[part], X[start:]), dense(Z[part] @ Z[start:].T, _DOUBLE)
        k_sums, g_sums = (s[part, None] + s[start:] for s in (diagonal, lengths))
        errors.add(K, k_sums, G, g_sums)
    return errors


class PairErrors:
    """Running mean of the relative errors of squared distances, over pairs that differ."""

    def __init__(self) -> None:
        self.total, self.kept, self.left_out = 0.0, 0, 0

    @property
    def mean(self) -> float:
        """The mean error; NaN without pairs."""
        return self.total / self.kept if self.kept else np.nan

    def add(self, K: Array, k_sums: Array, G: Array, g_sums: Array) -> None:
        """Add the pairs above the diagonal, given inner products and sums of squared norms."""
        behind = np.triu(np.ones(K.shape, bool), 1)
        with np.errstate(over="ignore", invalid="ignore"):
            exact, found = k_sums - 2 * K, g_sums - 2 * G
            check_representable(exact, found)
            differ = behind & (exact > ROUNDING * k_sums)
            self.total += float(np.sum(np.abs(found - exact)[differ] / exact[differ]))
        self.kept += int(np.count_nonzero(differ))
        self.left_out += int(np.count_nonzero(behind & ~differ))
