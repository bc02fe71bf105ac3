"""Checks of feature maps."""

import pickle
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from skimp._core._linalg import dense
from skimp._core._types import Array
from skimp.data import open_rows
from skimp.features import FeatureMap
from skimp.testing._assertions import close, params_of, refused, require, rows_for


def check_feature_map(feature_map: FeatureMap, X: Any = None, *, max_error: float = np.inf) -> None:
    """Check the features, parameters and basis of a feature map.

    Features must depend on the rows and the seed only: not on the block size, on sparse or dense
    storage, or on pickling. Inner products of features must approximate the kernel, and the basis
    must give the same ridge predictions as the features. `FeatureMap.fit_width` must give the same
    map as ``fit``, or raise an error.

    Parameters
    ----------
    feature_map : FeatureMap
        The map; it is cloned, with ``random_state=0`` if it has this parameter.
    X : array of shape (n, d), optional
        Rows to which to fit it; by default 600 random rows of five columns.
    max_error : float
        The largest allowed difference between inner products of features and ``kernel_`` on X.

    Raises
    ------
    AssertionError
        If a check fails; the message names it.

    Examples
    --------
    >>> from skimp.features import Nystroem
    >>> from skimp.testing import check_feature_map
    >>> check_feature_map(Nystroem(budget=600), max_error=1e-6)
    """
    X = rows_for(X, feature_map.kernel)
    S, X32 = sparse.csr_matrix(X), X.astype(np.float32)
    new = clone(feature_map)
    if "random_state" in new.get_params():
        new.set_params(random_state=0)

    refused("transform before fit", new.transform, X)
    fitted = clone(new).fit(X)
    require(params_of(fitted) == params_of(new), "fit does not change the parameters")
    Z = _transform(fitted, X)
    G = Z @ Z.T
    tol = 1e-8 * max(1.0, np.abs(G).max())
    width = Z.shape[1] == fitted.width == len(fitted.get_feature_names_out())
    require(width, "width is the number of features and of feature names")
    single = _transform(clone(new).fit(X32), X32)
    require(Z.dtype == float and single.dtype == np.float32, "features have the dtype of the rows")
    close(_transform(clone(new).fit(X), X), Z, "the same seed gives the same features")
    copied = pickle.loads(pickle.dumps(fitted))
    close(_transform(copied, X), Z, "an unpickled map gives the same features")
    close(_transform(fitted, S), Z, "sparse rows have the features of dense rows", tol)
    out = np.empty_like(Z)
    for start in range(0, len(X), 77):
        fitted.map_block(X[start : start + 77], out[start : start + 77])
    close(out, Z, "map_block gives the features of transform", tol)
    for source in (S, open_rows(X, block_rows=7)):
        other = _transform(clone(new).fit(source), X)
        close(other @ other.T, G, "fitting to sparse rows or small blocks gives the same map", tol)
    if fitted.kernel_ is not None:
        close(G, fitted.kernel_(X), "<z(x), z(y)> approximates k(x, y)", max_error)
    close(single @ single.T, G, "float32 agrees with float64", 1e5 * tol)
    basis = fitted.basis()
    C = np.empty((len(X), basis.width))
    basis.map_block(X, C)
    y, ridge = np.sin(X.sum(axis=1)), 1e-2 * len(X)
    if basis.penalty is None:
        f = C @ (C.T @ np.linalg.solve(C @ C.T + ridge * np.eye(len(X)), y))
    else:
        f = C @ np.linalg.solve(C.T @ C + ridge * basis.penalty, C.T @ y)
    expected = G @ np.linalg.solve(G + ridge * np.eye(len(X)), y)
    close(f, expected, "ridge regression on basis() predicts as on the features", 1e-6)
    _check_width(new, X, X32)
    refused("transform of another number of columns", fitted.transform, X[:, 1:])
    if new.size_name in ("n_components", "budget"):
        copied.set_params(**{new.size_name: 1})
        close(_transform(copied, X), Z, "parameters that are set count from the next fit on")
        for size in (1, 2, 7):
            Z = _transform(new.resized(size).fit(X), X)
            message = f"{new.size_name}={size} works"
            require(1 <= Z.shape[1] <= size and np.isfinite(Z).all(), message)


def _transform(fitted: FeatureMap, X: Any) -> Array:
    Z = fitted.transform(X)
    return dense(Z, Z.dtype)


def _check_width(new: FeatureMap, X: Array, X32: Array) -> None:
    """Check that the number of columns determines the map, or that ``fit_width`` is refused."""
    try:
        new.check_width_suffices()
    except ValueError:
        refused("fit_width of a map that depends on rows", clone(new).fit_width, X.shape[1])
        return
    for rows in (X, X32):
        drawn, fitted = clone(new).fit_width(X.shape[1], dtype=rows.dtype), clone(new).fit(rows)
        restored = pickle.loads(pickle.dumps(drawn))
        expected = _transform(fitted, rows)
        close(_transform(drawn, rows), expected, "fit_width draws the map that fit draws")
        close(_transform(restored, rows), expected, "a map of fit_width can be pickled")
        require(drawn.transform(rows).dtype == rows.dtype, "fit_width sets the dtype")
        names = [part.get_feature_names_out().tolist() for part in (drawn, fitted)]
        require(names[0] == names[1], "fit_width names the features as fit does")
