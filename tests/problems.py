"""Small problems that most tests fit, and what they call close."""

import numpy as np
from scipy import sparse

TOLERANCE = {np.dtype(np.float32): 1e-4, np.dtype(np.float64): 1e-8}
"""What predictions may differ by across block sizes and sources, relative to the largest one."""


def regression(n=200, d=3, *, seed=0, dtype=np.float64):
    """Return rows, a smooth noisy target, and weights that are whole numbers from 0 to 3."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(dtype)
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, -1] + 0.1 * rng.normal(size=n) + 2
    return X, y, rng.integers(0, 4, n).astype(np.float64)


def labelled(n=200, d=3, n_classes=3, *, seed=0, dtype=np.float64):
    """Return rows, labels 0, 1, ... that depend on them nonlinearly, and weights."""
    X, y, weight = regression(n, d, seed=seed, dtype=dtype)
    return X, np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes)), weight


def difference(a, b):
    """Return the largest difference relative to the largest entry of b, if b is not zero."""
    return np.abs(np.asarray(a, np.float64) - b).max() / (np.abs(b).max() or 1.0)


def with_gaps(X):
    """Return CSR rows, some of them empty, with explicit zeros."""
    X = X.copy()
    X[np.abs(X) < 0.3] = 0
    X[::7] = 0
    S = sparse.csr_matrix(X)
    S.data[::5] = 0
    return S
