"""How far distances of features are from those in the kernel's feature space."""

from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length

from skimp._core._linalg import dense, squared_norms
from skimp._core._objects import as_real
from skimp._core._rules import broken, instance
from skimp._core._types import Matrix
from skimp.data import open_rows
from skimp.kernels import Kernel

_BLOCK = 256
_DOUBLE = np.dtype(np.float64)
_ROUNDING = 64 * float(np.finfo(np.float64).eps)
_KERNEL = instance(Kernel, "a kernel object, with numbers for parameters")


def distance_distortion(X: Any, Z: Any, kernel: Kernel) -> float:
    r"""Return the mean relative error of squared distances, over all pairs of rows.

    .. math::

        \operatorname{mean}_{i < j} \frac{\left| \|z_i - z_j\|^2 - d_{ij} \right|}{d_{ij}}, \qquad
        d_{ij} = k(x_i, x_i) + k(x_j, x_j) - 2 k(x_i, x_j)

    A distortion of 0.1 says that squared distances in feature space change by 10 %. Pairs with
    :math:`d_{ij} = 0` to rounding, such as equal rows, are left out. Takes O(n^2 (d + D)) time.

    Parameters
    ----------
    X : array, CSR matrix, frame or Rows of shape (n, d)
        Rows.
    Z : array or CSR matrix of shape (n, D)
        Their features.
    kernel : Kernel
        The kernel, with numbers for parameters: ``kernel_`` of a fitted map.

    Returns
    -------
    distortion : float
        The mean; NaN where no two rows differ.

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
    owner = "distance_distortion"
    if not _KERNEL.test(kernel):
        raise broken(owner, "kernel", _KERNEL.wording, kernel)
    rows = open_rows(X)
    if rows.feature_names is not None:
        kernel = kernel.with_names(rows.feature_names)
    Z = check_array(Z, accept_sparse="csr", dtype=_DOUBLE, input_name="Z")
    check_consistent_length(rows.collect().X, Z)
    return distortion(rows.collect().X, Z, kernel)[0]


def distortion(X: Matrix, Z: Matrix, kernel: Kernel) -> tuple[float, int]:
    """Return the mean distortion of checked rows, and how many pairs were left out."""
    X, Z = as_real(X, _DOUBLE), Z.astype(_DOUBLE)
    diagonal, lengths, n = kernel.diag(X), squared_norms(Z), Z.shape[0]
    total, kept, left_out = 0.0, 0, 0
    for start in range(0, n, _BLOCK):
        part = slice(start, min(n, start + _BLOCK))
        # pairs with a row of the block and one at or behind its start; each of them once
        behind = np.arange(n - start) > np.arange(part.stop - start)[:, None]
        sums = diagonal[part, None] + diagonal[start:]
        exact = sums - 2 * kernel(X[part], X[start:])
        inner = dense(Z[part] @ Z[start:].T, _DOUBLE)
        found = lengths[part, None] + lengths[start:] - 2 * inner
        differ = behind & (exact > _ROUNDING * sums)
        total += float(np.sum(np.abs(found - exact)[differ] / exact[differ]))
        kept += int(np.count_nonzero(differ))
        left_out += int(np.count_nonzero(behind & ~differ))
    return (total / kept if kept else np.nan), left_out
