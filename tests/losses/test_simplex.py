import numpy as np
import pytest

from skimp.losses._joint import conjugate_on_simplex

Y = np.array([[1.0, -1.0, -1.0]])


@pytest.mark.parametrize(
    ("u", "expected"),
    [
        ([-0.5, 0.25, 0.25], 0.375),
        ([0.0, 0.0, 0.0], 1.0),
        ([-1.0, 1.0, 0.0], 1.0),
        ([0.1, -0.1, 0.0], np.inf),
        ([-1.1, 1.1, 0.0], np.inf),
        ([-0.5, 0.25, 0.3], np.inf),
        ([-0.5, 0.25, 0.2], np.inf),
    ],
)
def test_sum_of_squares(u, expected):
    found = conjugate_on_simplex(Y, np.array([u]), np.square)
    assert found.shape == (1, 1)
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_is_forgiven(dtype):
    p = np.random.default_rng(0).dirichlet(np.ones(40), size=100).astype(dtype)
    y = np.tile(np.where(np.arange(40) == 3, 1, -1).astype(dtype), (100, 1))
    found = conjugate_on_simplex(y, p - (y > 0), np.abs)
    np.testing.assert_allclose(found, 1, rtol=1e-5)
    assert found.dtype == dtype
