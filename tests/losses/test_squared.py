import numpy as np
from sklearn.metrics import mean_squared_error

from skimp.losses import squared
from tests.reference import naive


def test_value():
    y, f = np.random.default_rng(0).normal(size=(2, 20, 3))
    np.testing.assert_allclose(squared.value(y, f), naive.losses(naive.squared_loss, y, f))
    assert np.isclose(squared.value(y, f).mean(), mean_squared_error(y, f))


def test_mean_minimises():
    y = np.random.default_rng(0).normal(size=51)
    np.testing.assert_allclose(squared.gradient(y, np.full_like(y, y.mean())).sum(), 0, atol=1e-12)
