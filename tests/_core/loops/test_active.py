import numpy as np
import pytest

from skimp._core.loops._active import add_curved


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_adds_products_with_the_curved_rows(dtype):
    rng = np.random.default_rng(0)
    Z, V = rng.normal(size=(30, 5)).astype(dtype), rng.normal(size=(3, 6)).astype(dtype)
    D = (rng.random((30, 3)) * (rng.random((30, 3)) < 0.3)).astype(dtype)
    V[1] = 0
    out = np.ones((3, 6), dtype)
    add_curved(Z, V, D, out)
    A = np.hstack([Z, np.ones((30, 1))]).astype(np.float64)
    expected = 1 + np.array([A.T @ (d * (A @ v)) for v, d in zip(V, D.T, strict=True)])
    assert out.dtype == dtype
    np.testing.assert_allclose(out, expected, rtol=100 * np.finfo(dtype).eps)


def test_rows_that_are_not_curved_are_not_read():
    Z, V, out = np.full((4, 2), np.nan), np.ones((1, 3)), np.zeros((1, 3))
    Z[1] = [2.0, 3.0]
    add_curved(Z, V, np.array([[0.0], [0.5], [0.0], [0.0]]), out)
    assert out.tolist() == [[6.0, 9.0, 3.0]]
