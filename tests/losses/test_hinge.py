import numpy as np
from sklearn.metrics import hinge_loss

from skimp.losses import hinge
from tests.reference import naive


def test_value():
    rng = np.random.default_rng(0)
    y, f = rng.choice([-1.0, 1.0], size=(50, 2)), 2 * rng.normal(size=(50, 2))
    np.testing.assert_allclose(hinge.value(y, f), naive.losses(naive.hinge_loss, y, f), atol=1e-15)
    assert np.isclose(hinge.value(y[:, 0], f[:, 0]).mean(), hinge_loss(y[:, 0], f[:, 0]))


def test_limits_contain_the_slopes():
    low, high = hinge.limits(np.array([1.0, -1.0], np.float32))
    assert low.tolist() == [0, -1]
    assert high.tolist() == [1, 0]
    assert low.dtype == high.dtype == np.float32


def test_conjugate_is_the_dual_of_support_vector_machines():
    """Minus u y is the dual variable, between 0 and 1, and the conjugate its negative."""
    y, dual = np.array([1.0, -1.0, 1.0, -1.0]), np.array([0.25, 0.75, 1.25, -0.25])
    assert hinge.conjugate(y, -dual * y).tolist() == [-0.25, -0.75, np.inf, np.inf]
