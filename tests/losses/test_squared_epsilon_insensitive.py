from functools import partial

import numpy as np
import pytest

from skimp.losses import EpsilonInsensitive, SquaredEpsilonInsensitive, squared
from tests.reference import naive


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(2, 50))


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.7, 5.0])
def test_value(points, epsilon):
    twin = partial(naive.squared_epsilon_insensitive_loss, epsilon=epsilon)
    found = SquaredEpsilonInsensitive(epsilon).value(*points)
    np.testing.assert_allclose(found, naive.losses(twin, *points), atol=1e-15)
    np.testing.assert_allclose(found, EpsilonInsensitive(epsilon).value(*points) ** 2)


@pytest.mark.parametrize("method", ["value", "gradient", "curvature", "conjugate"])
def test_no_width_is_the_squared_loss(points, method):
    found = getattr(SquaredEpsilonInsensitive(0.0), method)(*points)
    np.testing.assert_allclose(found, getattr(squared, method)(*points))
