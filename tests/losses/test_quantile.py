from functools import partial

import numpy as np
import pytest
from sklearn.metrics import mean_pinball_loss

from skimp.losses import Quantile, quantile
from tests.reference import naive


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(2, 50))


@pytest.mark.parametrize("tau", [0.05, 0.5, 0.9])
def test_value(points, tau):
    y, f = points
    found = Quantile(tau).value(y, f)
    np.testing.assert_allclose(
        found, naive.losses(partial(naive.quantile_loss, quantile=tau), y, f)
    )
    assert np.isclose(found.mean(), mean_pinball_loss(y, f, alpha=tau))


def test_median_is_half_the_absolute_error(points):
    y, f = points
    np.testing.assert_allclose(quantile.value(y, f), np.abs(y - f) / 2)


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.77])
def test_quantile_minimises_the_mean(tau):
    y = np.random.default_rng(0).normal(size=101)
    cost = [Quantile(tau).value(y, np.full_like(y, f)).mean() for f in np.sort(y)]
    assert np.sort(y)[np.argmin(cost)] == np.quantile(y, tau, method="inverted_cdf")


def test_other_side_of_the_other_quantile(points):
    y, f = points
    np.testing.assert_allclose(Quantile(0.2).value(y, f), Quantile(0.8).value(-y, -f))
