import numpy as np
import pytest
from sklearn.metrics import hinge_loss

from skimp.losses import hinge, multiclass_hinge
from tests.reference import naive


def rows(k):
    """Return targets, the classes they say, and predictions."""
    rng = np.random.default_rng(k)
    own = rng.integers(k, size=60)
    return np.where(own[:, None] == np.arange(k), 1.0, -1.0), own, 2 * rng.normal(size=(60, k))


@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_value(k):
    y, _, f = rows(k)
    found = multiclass_hinge.value(y, f)
    expected = naive.losses(naive.multiclass_hinge_loss, y, f)
    np.testing.assert_allclose(found, expected, atol=1e-14)


def test_mean_is_that_of_scikit_learn():
    y, own, f = rows(4)
    found = multiclass_hinge.value(y, f).mean()
    assert np.isclose(found, hinge_loss(own, f, labels=np.arange(4)))


def test_two_classes_are_the_hinge_of_the_difference():
    y, _, f = rows(2)
    margin = f[:, [1]] - f[:, [0]]
    np.testing.assert_allclose(multiclass_hinge.value(y, f), hinge.value(y[:, [1]], margin))
    slope = hinge.gradient(y[:, [1]], margin)
    np.testing.assert_array_equal(multiclass_hinge.gradient(y, f), np.hstack([-slope, slope]))


@pytest.mark.parametrize("u", [(0.1, -0.1, 0), (-0.5, 0.5, 0.5), (-1.5, 1.5, 0)])
def test_conjugate_off_the_simplex(u):
    assert multiclass_hinge.conjugate(np.array([[1.0, -1, -1]]), np.array([u])).item() == np.inf
