import numpy as np
import pytest

from skimp.losses import hinge, squared_hinge
from tests.reference import naive


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    return rng.choice([-1.0, 1.0], size=(50, 2)), 2 * rng.normal(size=(50, 2))


def test_value(points):
    expected = naive.losses(naive.squared_hinge_loss, *points)
    np.testing.assert_allclose(squared_hinge.value(*points), expected, atol=1e-15)
    np.testing.assert_allclose(squared_hinge.value(*points), hinge.value(*points) ** 2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_limits(dtype):
    low, high = squared_hinge.limits(np.array([1.0, -1.0], dtype))
    assert low.tolist() == [0, -np.inf]
    assert high.tolist() == [np.inf, 0]
    assert low.dtype == high.dtype == dtype


def test_conjugate_is_infinite_on_one_side():
    y, dual = np.array([1.0, -1.0, 1.0, -1.0]), np.array([2.0, 2.0, -0.1, -0.1])
    assert squared_hinge.conjugate(y, -dual * y).tolist() == [-1, -1, np.inf, np.inf]
