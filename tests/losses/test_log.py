import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import log_loss

from skimp.losses import log
from tests.reference import naive


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    return rng.choice([-1.0, 1.0], size=50), 3 * rng.normal(size=50)


def test_value(points):
    y, f = points
    np.testing.assert_allclose(log.value(y, f), naive.losses(naive.log_loss, y, f))
    assert np.isclose(log.value(y, f).mean(), log_loss(y, expit(f)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_far_out(dtype):
    y, f = np.array([1, 1, -1, -1], dtype), np.array([1e30, -1e30, 1e30, -1e30], dtype)
    assert log.value(y, f).tolist() == [0, *[float(dtype(1e30))] * 2, 0]
    assert log.gradient(y, f).tolist() == [0, -1, 1, 0]
    assert log.curvature(y, f).tolist() == [0, 0, 0, 0]


def test_small_losses_are_not_lost():
    value = log.value(np.ones(1, np.float32), np.full(1, 50, np.float32))
    np.testing.assert_allclose(value, np.exp(-50), rtol=1e-5)


def test_conjugate_at_the_ends_and_beyond():
    y, p = np.array([1.0, -1, 1, -1, 1]), np.array([0, 1, 1.001, -0.001, 2])
    assert log.conjugate(y, -y * p).tolist() == [0, 0, np.inf, np.inf, np.inf]
