import numpy as np
import pytest

from skimp.losses import squared


@pytest.fixture
def targets():
    rng = np.random.default_rng(0)
    return rng.normal(size=(20, 2)), rng.normal(size=(20, 2))


def test_value(targets):
    y, f = targets
    expected = [[(y[i, j] - f[i, j]) ** 2 for j in range(2)] for i in range(20)]
    np.testing.assert_allclose(squared.value(y, f), expected)


def test_derivatives_by_differences(targets):
    y, f = targets
    h = 1e-4
    slope = (squared.value(y, f + h) - squared.value(y, f - h)) / (2 * h)
    bend = (squared.gradient(y, f + h) - squared.gradient(y, f - h)) / (2 * h)
    np.testing.assert_allclose(squared.gradient(y, f), slope, atol=1e-7)
    np.testing.assert_allclose(squared.curvature(y, f), bend, atol=1e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["value", "gradient", "curvature"])
def test_shape_and_dtype_are_kept(targets, dtype, name):
    y, f = (array.astype(dtype) for array in targets)
    result = getattr(squared, name)(y, f)
    assert result.dtype == dtype
    assert result.shape == f.shape
