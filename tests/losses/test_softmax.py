import numpy as np
import pytest
from scipy.special import softmax as probabilities
from sklearn.metrics import log_loss

from skimp.losses import log, softmax
from tests.reference import naive


def rows(k):
    """Return targets, the classes they say, and predictions."""
    rng = np.random.default_rng(k)
    own = rng.integers(k, size=60)
    return np.where(own[:, None] == np.arange(k), 1.0, -1.0), own, 2 * rng.normal(size=(60, k))


@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_value(k):
    y, _, f = rows(k)
    expected = naive.losses(naive.softmax_loss, y, f)
    np.testing.assert_allclose(softmax.value(y, f), expected, atol=1e-14)


def test_mean_is_that_of_scikit_learn():
    y, own, f = rows(4)
    expected = log_loss(own, probabilities(f, axis=1), labels=np.arange(4))
    assert np.isclose(softmax.value(y, f).mean(), expected)


def test_two_classes_are_the_log_loss_of_the_difference():
    y, _, f = rows(2)
    sign, margin = y[:, [1]], f[:, [1]] - f[:, [0]]
    np.testing.assert_allclose(softmax.value(y, f), log.value(sign, margin))
    slope, bend = log.gradient(sign, margin), log.curvature(sign, margin)
    np.testing.assert_allclose(softmax.gradient(y, f), np.hstack([-slope, slope]), atol=1e-14)
    np.testing.assert_allclose(softmax.curvature(y, f), np.hstack([bend, bend]))
    u = np.hstack([-slope, slope])
    np.testing.assert_allclose(softmax.conjugate(y, u), log.conjugate(sign, slope), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_far_out(dtype):
    y, f = np.array([[1, -1, -1]] * 2, dtype), np.array([[1e30, 0, -1e30], [-1e30, 0, 1e30]], dtype)
    assert softmax.value(y, f).tolist() == [[0], [2 * float(dtype(1e30))]]
    assert softmax.gradient(y, f).tolist() == [[0, 0, 0], [-1, 0, 1]]
    assert softmax.curvature(y, f).tolist() == [[0] * 3] * 2


def test_conjugate_at_the_corners_and_beyond():
    u = np.array([[0.0, 0, 0], [-1, 1, 0], [0.1, -0.1, 0], [-0.5, 0.5, 0.5]])
    found = softmax.conjugate(np.tile([1.0, -1, -1], (4, 1)), u)
    assert found.ravel().tolist() == [0, 0, np.inf, np.inf]
