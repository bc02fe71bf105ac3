from functools import partial

import numpy as np
import pytest

from skimp.losses import (
    EpsilonInsensitive,
    Huber,
    PiecewiseLoss,
    Quantile,
    SquaredEpsilonInsensitive,
    hinge,
    squared,
    squared_hinge,
)
from tests.pairs import in_turn
from tests.reference import naive

TWINS = {
    squared: naive.squared_loss,
    hinge: naive.hinge_loss,
    squared_hinge: naive.squared_hinge_loss,
    EpsilonInsensitive(0.5): partial(naive.epsilon_insensitive_loss, epsilon=0.5),
    SquaredEpsilonInsensitive(0.5): partial(naive.squared_epsilon_insensitive_loss, epsilon=0.5),
    Huber(0.7): partial(naive.huber_loss, delta=0.7),
    Quantile(0.8): partial(naive.quantile_loss, quantile=0.8),
}


@in_turn(loss=TWINS, y=[-1.0, 1.0])
def test_conjugate_by_brute_force(loss, y):
    u = np.arange(-15, 16, 2) / 8
    found = loss.conjugate(np.full_like(u, y), u)
    # all maxima are at sixteenths; beyond the limits they are at the ends, and 5 or more
    grid = np.arange(-1600, 1601) / 16
    expected = np.array([naive.conjugate(TWINS[loss], y, slope, grid) for slope in u])
    assert np.isfinite(found).sum() >= 4
    np.testing.assert_allclose(found, np.where(expected < 5, expected, np.inf), atol=1e-12)


@in_turn(loss=TWINS, y=[-1.0, 1.0])
def test_formula_by_brute_force(loss, y):
    """The value is the largest of beta (y - f) less the penalty, over slopes within limits."""
    low, high = (np.clip(limit, -20, 20) for limit in loss.limits(np.array(y)))
    beta = np.linspace(low, high, 4001)
    for f in np.linspace(-3, 3, 13):
        penalty = loss.epsilon * np.abs(beta) + loss.curve * beta**2 / 4
        found = loss.value(np.array([y]), np.array([f]))
        np.testing.assert_allclose(found, np.max(beta * (y - f) - penalty), atol=1e-4)


@pytest.mark.parametrize(
    "loss",
    [
        EpsilonInsensitive(np.float64(0.3)),
        SquaredEpsilonInsensitive(np.float64(0.3)),
        Huber(np.float64(0.3)),
        Quantile(np.float64(0.3)),
    ],
    ids=repr,
)
def test_parameters_of_numpy_keep_single_precision(loss):
    y, f = np.random.default_rng(0).normal(size=(2, 50)).astype(np.float32)
    u = loss.gradient(y, f)
    found = [u, loss.value(y, f), loss.curvature(y, f), loss.conjugate(y, u)]
    assert {array.dtype for array in found} == {np.dtype(np.float32)}
    assert np.isfinite(found).all()


def test_new_loss_is_its_limits():
    class Above(PiecewiseLoss):
        """Costs the square of what a prediction is too large by."""

        curve = True

        def limits(self, y):
            return -np.inf, 0.0

    y, f = np.zeros(3), np.array([-2.0, 0.5, 2.0])
    assert Above().value(y, f).tolist() == [0, 0.25, 4]
    assert Above().gradient(y, f).tolist() == [0, 1, 4]
    assert Above().curvature(y, f).tolist() == [0, 2, 2]
