import re

import numpy as np
import pytest

from skimp._params._rules import broken
from skimp.kernels._pitches import TentMixture

STEP = 10 ** (16 / 8191)
"""Ratio of neighbouring pitches."""

SMOOTH = {
    "exponential": lambda t: np.exp(-t),
    "slow": lambda t: 1 / (1 + t),
    "root": lambda t: 1 / np.sqrt(1 + t),
    "two widths": lambda t: 0.3 * np.exp(-20 * t) + 0.7 * np.exp(-t / 5),
    "infinite slope": lambda t: np.exp(-np.sqrt(t)),
    "limit": lambda t: 0.3 + 0.7 * np.exp(-t),
}
RATES = {
    "exponential": 1,
    "slow": 1,
    "root": 1 / 2,
    "two widths": 0.3 * 20 + 0.7 / 5,
    "infinite slope": np.inf,
    "limit": 0.7,
}


def tents(profile):
    return TentMixture(profile, lambda must: broken("Owner", "kernel", must, "given"))


def mixed(mixture, t):
    """The sum of weighted tents, straight from the definition."""
    heights = np.maximum(0, 1 - t[:, None] / mixture.pitches)
    return heights @ mixture.weights


@pytest.mark.parametrize("profile", SMOOTH.values(), ids=SMOOTH)
def test_the_mixture_is_the_function(profile):
    mixture, t = tents(profile), 10 ** np.random.default_rng(0).uniform(-6, 6, 300)
    assert abs(mixture.weights.sum() - 1) <= 1e-12
    assert (mixture.weights >= 0).all()
    # a straight line over a step differs by (t (STEP - 1))^2 phi''(t) / 8, with t^2 phi'' <= 2
    bound = 2 * (STEP - 1) ** 2 / 8 + 1e-8
    assert bound < 1e-5
    assert np.abs(mixed(mixture, t) - profile(t)).max() <= bound


@pytest.mark.parametrize("name", SMOOTH)
def test_the_rate_is_the_slope_at_zero(name):
    # to half of phi''(0) times the first distance, 1e-8, and to rounding over it
    assert tents(SMOOTH[name]).rate == pytest.approx(RATES[name], rel=1e-5)


@pytest.mark.parametrize("gamma", [1e-3, 1.0, 1e3])
def test_the_rate_is_that_of_the_width(gamma):
    rate = tents(lambda t: np.exp(-gamma * t)).rate
    assert rate == pytest.approx(gamma, rel=gamma * 1e-8 + 1e-15 / (1e-8 * gamma))


@pytest.mark.parametrize("gamma", [1e-3, 1.0, 1e3])
def test_an_infinite_slope_is_known_at_any_width(gamma):
    assert tents(lambda t: np.exp(-np.sqrt(gamma * t))).rate == np.inf


@pytest.mark.parametrize("profile", SMOOTH.values(), ids=SMOOTH)
def test_pitches_that_are_drawn_have_the_function_for_mean_tent(profile):
    n = 100_000
    h = tents(profile).sample(n, np.random.default_rng(0))
    assert h.shape == (n,)
    assert (h > 0).all()
    for t in (0.01, 0.5, 3.0):
        heights = np.maximum(0, 1 - t / h)
        assert abs(heights.mean() - profile(t)) <= 5 * heights.std() / np.sqrt(n) + 1e-5


@pytest.mark.parametrize("limit", [0.0, 0.2, 0.9, 1.0])
def test_the_limit_is_the_probability_of_an_infinite_pitch(limit):
    n = 40_000
    mixture = tents(lambda t: limit + (1 - limit) * np.exp(-t))
    h = mixture.sample((4, n // 4), np.random.default_rng(0))
    assert h.shape == (4, n // 4)
    bound = 5 * np.sqrt(limit * (1 - limit) / n)
    assert abs(np.isinf(h).mean() - limit) <= bound
    # rounding of 8,192 weights, each a difference over a step
    assert abs(mixture.weights[-1] - limit) <= 8192 * np.finfo(float).eps / (STEP - 1)


@pytest.mark.parametrize("width", [1e-3, 1.0, 40.0])
def test_a_triangle_has_one_pitch(width):
    mixture = tents(lambda t: np.maximum(0, 1 - t / width))
    h = mixture.sample(1000, np.random.default_rng(0))
    assert (h >= width / STEP).all()
    assert (h <= width * STEP).all()
    assert mixture.rate == pytest.approx(1 / width, rel=1e-6)
    np.testing.assert_allclose(mixed(mixture, np.array([width / 2, 2 * width])), [0.5, 0])


def test_a_constant_has_infinite_pitches_alone():
    mixture = tents(np.ones_like)
    assert np.isinf(mixture.sample(100, np.random.default_rng(0))).all()
    assert mixture.rate == 0


FALLS = "decreasing convex function"
ONE = "1 at distance 0"


@pytest.mark.parametrize(
    ("profile", "wording"),
    [
        (lambda t: np.exp(-(t**2)), FALLS),
        (lambda t: 1 / (1 + t**2), FALLS),
        (lambda t: np.cos(t), FALLS),
        (lambda t: 2 - np.exp(-t), FALLS),
        (lambda t: 1 + t, FALLS),
        (lambda t: np.maximum(-0.5, 1 - t), "a nonnegative function"),
        (lambda t: 1.5 * np.exp(-t) - 0.5, "a nonnegative function"),
        (lambda t: np.where(t < 1, 1.0, 0.0), FALLS),
        (lambda t: 0.99 * np.exp(-t), ONE),
        (lambda t: 2 * np.exp(-t), ONE),
        (lambda t: np.where(t > 0, np.exp(-t), np.nan), ONE),
        (lambda t: np.where(t > 5, np.nan, np.exp(-t)), ONE),
        (lambda t: np.where(t > 5, np.inf, np.exp(-t)), ONE),
        (lambda t: 1.0, ONE),
        (lambda t: np.exp(-t[1:]), ONE),
        (lambda t: np.exp(-t)[:, None], ONE),
    ],
)
def test_functions_that_are_no_mixture_are_refused(profile, wording):
    with pytest.raises(ValueError, match=f"^Owner: kernel must be .*{re.escape(wording)}.*'given'"):
        tents(profile)


def test_a_refusal_says_where():
    with pytest.raises(ValueError, match=r"negative at h = 0\.47"):
        tents(lambda t: np.exp(-(t**2)))
    # h (2 - 4 h^2) exp(-h^2) (-h) is smallest where its derivative is zero
    h = np.linspace(0.1, 2, 100_001)
    assert h[np.argmin(h * (4 * h**2 - 2) * np.exp(-(h**2)) * h)] == pytest.approx(0.47, abs=5e-3)


def test_functions_that_work_in_place_are_harmless():
    def decay(t):
        t *= -1
        return np.exp(t, out=t)

    assert tents(decay).rate == pytest.approx(tents(lambda t: np.exp(-t)).rate, rel=1e-12)


@pytest.mark.parametrize("power", [0.5, 0.9, 0.97])
def test_slopes_that_grow_without_limit_are_infinite(power):
    assert tents(lambda t: np.exp(-(t**power))).rate == np.inf
