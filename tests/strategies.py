"""Hypothesis strategies: rows as users have them, and rows that must be refused."""

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

FLOATS = (np.float32, np.float64)
DTYPES = (*FLOATS, np.int8, np.uint8, np.bool_)
LAYOUTS = ("C", "F", "read-only", "strided", "csr")


@st.composite
def matrices(
    draw,
    *,
    dtypes=DTYPES,
    layouts=LAYOUTS,
    nonnegative=False,
    max_rows=12,
    max_columns=6,
    scales=(1e-6, 1.0, 1e6),
):
    """Draw X: few rows or one, duplicates, zeros, constant columns, any scale, dtype and layout."""
    n, d = draw(st.integers(1, max_rows)), draw(st.integers(1, max_columns))
    dtype, layout = np.dtype(draw(st.sampled_from(dtypes))), draw(st.sampled_from(layouts))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(n, d))
    X[rng.random((n, d)) < draw(st.sampled_from((0.0, 0.3, 1.0)))] = 0
    if draw(st.booleans()):
        X[:, draw(st.integers(0, d - 1))] = 1
    if draw(st.booleans()):
        X = X[rng.integers(0, n, n)]
    X = X * draw(st.sampled_from(scales)) if dtype.kind == "f" else X * 40
    if nonnegative or dtype.kind in "ub":
        X = np.abs(X)
    return _lay_out(np.clip(X, -127, 127) if dtype.kind in "iu" else X, dtype, layout)


def _lay_out(X, dtype, layout):
    X = X.astype(dtype)
    if layout == "csr":
        return sparse.csr_matrix(X)
    if layout == "strided":
        return np.repeat(X, 2, axis=0)[::2]
    X = np.array(X, order="F" if layout == "F" else "C")
    X.flags.writeable = layout != "read-only"
    return X


@st.composite
def pairs_of_matrices(draw, **options):
    """Draw X and Y with the same number of columns, of any two dtypes and layouts."""
    X, Y = draw(matrices(**options)), draw(matrices(**options))
    d = min(X.shape[1], Y.shape[1])
    return X[:, :d], Y[:, :d]


def _with(value):
    X = np.ones((6, 3))
    X[2, 1] = value
    return X


BAD = {
    "NaN": (_with(np.nan), "NaN"),
    "infinity": (_with(np.inf), "infinity"),
    "minus infinity": (_with(-np.inf), "infinity"),
    "float32 infinity": (np.full((6, 3), np.inf, np.float32), "infinity"),
    "sparse NaN": (sparse.csr_matrix(_with(np.nan)), "NaN"),
    "no rows": (np.empty((0, 3)), "0 sample"),
    "no columns": (np.empty((6, 0)), "0 feature"),
    "one-dimensional": (np.ones(6), "2D array"),
    "three-dimensional": (np.ones((6, 3, 1)), "dim 3"),
    "strings": (np.full((6, 3), "one"), "numeric|must hold numbers"),
    "objects": (np.full((6, 3), "one", dtype=object), "could not convert|must hold numbers"),
    "complex": (np.ones((6, 3), complex), "[Cc]omplex"),
}
"""Rows that must be refused, and a pattern that the message must match."""


def bad_matrices():
    """Draw rows that must be refused, with a pattern for the message."""
    return st.sampled_from(sorted(BAD)).map(BAD.__getitem__)


def negative_matrices(**options):
    """Draw rows with a negative entry, for kernels that do not allow any."""

    def negate(X):
        X = X.copy()
        X[X.shape[0] // 2, 0] = -1
        return X

    return matrices(dtypes=FLOATS, layouts=("C",), nonnegative=True, **options).map(negate)
