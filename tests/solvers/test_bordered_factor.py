import numpy as np
import pytest

from skimp.solvers._preconditioner import invert_bordered

ALPHA = 0.05


def gram(n=20, m=5):
    """Return inner products of columns, the last of which is of ones."""
    A = np.hstack([np.random.default_rng(0).normal(size=(n, m)), np.ones((n, 1))])
    return A.T @ A


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1.0, 0.3])
def test_inverts_the_bordered_matrix(dtype, scale):
    G = gram()
    H = scale * G + 2 * ALPHA * np.diag([1.0] * 5 + [0.0])
    R = np.random.default_rng(1).normal(size=(6, 3)).astype(dtype)
    found = invert_bordered(G, ALPHA, np.dtype(dtype), scale)(R)
    np.testing.assert_allclose(found, np.linalg.solve(H, R), atol=1e3 * np.finfo(dtype).eps)
    assert found.dtype == dtype


def test_without_an_intercept_its_row_is_zero():
    G = gram()
    G[-1] = G[:, -1] = 0
    R = np.ones((6, 1))
    found = invert_bordered(G, ALPHA, G.dtype)(R)
    expected = np.linalg.solve(G[:-1, :-1] + 2 * ALPHA * np.eye(5), R[:-1])
    np.testing.assert_allclose(found[:-1], expected, rtol=1e-10)
    assert found[-1] == 0


def test_what_rounding_left_indefinite_is_shifted():
    R = np.ones((3, 1))
    found = invert_bordered(np.diag([1e3, -0.11, 1.0]), ALPHA, np.dtype(float))(R)
    assert np.isfinite(found).all()
    assert np.sum(R * found) > 0


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_a_diagonal_that_overflowed_is_refused(value):
    with pytest.raises(ValueError, match="infinity or NaN"):
        invert_bordered(np.diag([1.0, value, 1.0, 1.0]), ALPHA, np.dtype(float))
