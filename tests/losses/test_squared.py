import numpy as np
from sklearn.metrics import mean_squared_error

from skimp.losses import squared
from tests.reference import naive


def test_value():
    y, f = np.random.default_rng(0).normal(size=(2, 20, 3))
    np.testing.assert_allclose(squared.value(y, f), naive.losses(naive.squared_loss, y, f))
    assert np.isclose(squared.value(y, f).mean(), mean_squared_error(y, f))


def test_derivatives():
    y, f, v = np.random.default_rng(0).normal(size=(3, 20, 2))
    np.testing.assert_allclose(squared.gradient(y, f), 2 * (f - y))
    np.testing.assert_array_equal(squared.curvature(y, f), 2)
    np.testing.assert_array_equal(squared.curved(y, f, v), 2 * v)


def test_conjugate():
    y, u = np.random.default_rng(0).normal(size=(2, 20))
    np.testing.assert_allclose(squared.conjugate(y, u), u * y + u**2 / 4)


def test_mean_minimises():
    y = np.random.default_rng(0).normal(size=51)
    np.testing.assert_allclose(squared.gradient(y, np.full_like(y, y.mean())).sum(), 0, atol=1e-12)
