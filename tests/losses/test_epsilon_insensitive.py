from functools import partial

import numpy as np
import pytest

from skimp.losses import EpsilonInsensitive, Quantile
from tests.reference import naive


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(2, 50))


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.7, 5.0])
def test_value(points, epsilon):
    twin = partial(naive.epsilon_insensitive_loss, epsilon=epsilon)
    found = EpsilonInsensitive(epsilon).value(*points)
    np.testing.assert_allclose(found, naive.losses(twin, *points), atol=1e-15)


def test_no_width_is_the_absolute_error(points):
    y, f = points
    absolute = EpsilonInsensitive(0.0)
    np.testing.assert_array_equal(absolute.value(y, f), np.abs(y - f))
    np.testing.assert_array_equal(absolute.gradient(y, f), np.sign(f - y))
    np.testing.assert_allclose(absolute.value(y, f), 2 * Quantile(0.5).value(y, f))
