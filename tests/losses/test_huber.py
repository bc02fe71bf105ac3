from functools import partial

import numpy as np
import pytest
from scipy.special import huber as scipy_huber

from skimp.losses import EpsilonInsensitive, Huber, squared
from tests.reference import naive


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(2, 50))


@pytest.mark.parametrize("delta", [0.1, 1.0, 1.35, 4.0])
def test_value(points, delta):
    y, f = points
    found = Huber(delta).value(y, f)
    twin = partial(naive.huber_loss, delta=delta)
    np.testing.assert_allclose(found, naive.losses(twin, y, f), atol=1e-15)
    np.testing.assert_allclose(found, 2 * scipy_huber(delta, y - f), atol=1e-15)


@pytest.mark.parametrize("method", ["value", "gradient", "curvature", "conjugate"])
def test_parabola_that_does_not_end(points, method):
    np.testing.assert_array_equal(
        getattr(Huber(100.0), method)(*points), getattr(squared, method)(*points)
    )


def test_short_parabola_is_the_absolute_error(points):
    found = Huber(1e-9).value(*points) / 2e-9
    np.testing.assert_allclose(found, EpsilonInsensitive(0.0).value(*points), atol=1e-9)


def test_conjugate_ends_at_the_steepest_slope():
    found = Huber(0.5).conjugate(np.full(4, 3.0), np.array([1.0, -1.0, 1.001, -1.001]))
    assert found.tolist() == [3.25, -2.75, np.inf, np.inf]
