import numpy as np
import pytest
from scipy import sparse

from skimp._core.loops import _rows as loops
from skimp.data import Codes
from tests.pairs import in_turn


def layouts(n=12, seed=0):
    """Return matrices, each with what loops take for it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 9)) * (rng.uniform(size=(n, 9)) < 0.6)
    X[3] = 0
    csr = sparse.csr_matrix(X)
    codes = rng.integers(0, 3, (n, 3)).astype(np.uint16)
    coded = Codes(codes, np.array([0, 3, 6]), np.float32(0.5), 9)
    some = Codes(codes, np.array([0, 3, 6]), np.float32(0.5), 9, first=1)
    small = np.round(10 * X).astype(np.int8)
    return {
        "float64": (X, X),
        "float32": (X.astype(np.float32), X.astype(np.float32)),
        "int8": (small, small),
        "csr": (X, (csr.data, csr.indices, csr.indptr)),
        "codes": (coded.tocsr().toarray(), coded.layout),
        "codes with none": (some.tocsr().toarray(), some.layout),
    }


@in_turn(n_outputs=[1, 2, 7], layout=layouts())
def test_products_are_those_of_matrices(layout, n_outputs):
    X, given = layouts()[layout]
    X = X.astype(np.float64)
    rng = np.random.default_rng(1)
    V, b = rng.normal(size=(n_outputs, 9)), rng.normal(size=n_outputs)
    if layout == "codes with none":
        V[:, ::3] = 0
    T, every = rng.normal(size=(12, n_outputs)), (0, n_outputs)
    V = np.asfortranarray(V) if "codes" in layout else V
    F, Q = np.empty((12, n_outputs)), np.empty(12)
    loops.predictions(given, every, V, b, F)
    loops.squared_norms(given, Q)
    np.testing.assert_allclose(F, X @ V.T + b, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(Q, np.sum(X * X, axis=1), rtol=1e-12)
    for constant in (0.0, 1.0):
        W, c = V.copy("K"), b.copy()
        loops.add_rows(given, every, T, constant, W, c)
        np.testing.assert_allclose(W, V + T.T @ X, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(c, b + constant * T.sum(axis=0), rtol=1e-12)


@pytest.mark.parametrize("layout", layouts())
def test_shares_of_the_outputs_are_those_of_all(layout):
    given = layouts()[layout][1]
    rng = np.random.default_rng(1)
    V, b, T = rng.normal(size=(5, 9)), rng.normal(size=5), rng.normal(size=(12, 5))
    order = "F" if "codes" in layout else "C"
    F, W, c = np.zeros((12, 5)), V.copy(order), b.copy()
    share = np.array(W[1:3], order=order)
    loops.predictions(given, (1, 3), share, b, F)
    loops.add_rows(given, (1, 3), T, 1.0, share, c)
    whole, everything = np.zeros((12, 5)), b.copy()
    loops.predictions(given, (0, 5), W, b, whole)
    loops.add_rows(given, (0, 5), T, 1.0, W, everything)
    assert np.array_equal(F, whole * [0, 1, 1, 0, 0])
    np.testing.assert_array_equal(share, W[1:3])
    assert np.array_equal(c, np.where([0, 1, 1, 0, 0], everything, b))
