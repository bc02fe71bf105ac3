import re

import numpy as np
import pytest

from skimp._params._errors import UnsupportedError
from skimp.kernels import (
    ArcCosine,
    Cauchy,
    Chi2,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Separable,
)
from tests.reference.naive import slow_decay


def with_a_limit(t):
    return 0.4 + 0.6 * np.exp(-2 * t)


KERNELS = [
    # a kernel, its number of columns
    (Laplacian(0.7), 1),
    (Laplacian(0.7), 4),
    (Laplacian([0.3, 0.0, 2.0]), 3),
    (Matern(0.5, 0.4), 1),
    (Matern(0.5, [0.4]), 1),
    (Separable(slow_decay, 0.8), 3),
    (Separable(slow_decay, [0.8, 0.0, 2.0]), 3),
    (Separable(with_a_limit, 0.5), 2),
    (3.0 * Laplacian(0.7), 2),
    (0.1 * Matern(0.5, 0.4), 1),
    (Laplacian(0.7) + 3.0 * Separable(slow_decay, 0.5), 2),
    (Laplacian(0.7).on([0]) + Laplacian(1.5).on([2]), 3),
    (Laplacian(0.7) + 2.0 * Matern(0.5, 0.2).on([1]), 2),
    (Laplacian(0.7).on([0]) * Matern(0.5, 0.2).on([2]), 3),
    (Laplacian([0.7, 0.0]) * Separable(slow_decay, [0.0, 1.0]), 2),
    (2.0 * (Separable(with_a_limit, 1.0).on([1]) * Laplacian(0.5).on([2, 0])), 4),
    ((Laplacian(1.0).on([0]) + Laplacian(2.0).on([1])) * Laplacian(0.5).on([2]), 3),
    (Separable(slow_decay, 1.0).on([3, 1]), 4),
    ((Laplacian(1.0) + Matern(0.5, 1.0)).on([1]), 2),
]
STEEP = [
    (Matern(0.3, 0.4), 1),
    (2.0 * Matern(0.3, 0.4).on([1]), 2),
    (Separable(lambda t: np.exp(-np.sqrt(t)), 1.0), 2),
]


def slopes(kernel, d, t):
    origin = np.zeros((1, d))
    return (1 - kernel(t * np.eye(d), origin)[:, 0] / kernel(origin).item()) / t


@pytest.mark.parametrize(("kernel", "d"), STEEP)
def test_rates_are_infinite_where_slopes_are(kernel, d):
    rates, growth = kernel.pitch_rates(d), slopes(kernel, d, 1e-6) / slopes(kernel, d, 1e-4).max()
    assert np.array_equal(rates == np.inf, growth > 2)
    assert (rates[rates < np.inf] == 0).all()
    assert (rates == np.inf).any()


def test_laplacian_pitches_have_a_gamma_distribution():
    n = 100_000
    h = Laplacian(0.5).sample_pitches(1, n, np.random.default_rng(0))[0]
    # of shape 2 and scale 2: mean 4, variance 8
    assert abs(h.mean() - 4) <= 5 * np.sqrt(8 / n)
    below = 1 - (1 + 0.5 * 3) * np.exp(-0.5 * 3)
    assert abs((h < 3).mean() - below) <= 5 * np.sqrt(below * (1 - below) / n)


@pytest.mark.parametrize(
    ("kernel", "seen"),
    [
        (Laplacian(1.0).on([2, 0]), [0, 2]),
        (Laplacian([1.0, 0.0, 0.0, 2.0]), [0, 3]),
        (Separable(slow_decay, [0.0, 0.0, 3.0, 0.0]), [2]),
        (Matern(0.5, 1.0).on([3]), [3]),
        (2.0 * (Laplacian(1.0).on([1]) * Laplacian(1.0).on([3])), [1, 3]),
    ],
)
def test_pitches_are_infinite_on_other_columns(kernel, seen):
    h = kernel.sample_pitches(4, 500, np.random.default_rng(0))
    assert np.flatnonzero(np.isfinite(h).all(axis=1)).tolist() == seen
    assert np.flatnonzero(np.isinf(h).all(axis=1)).tolist() == [
        j for j in range(4) if j not in seen
    ]
    assert np.flatnonzero(kernel.pitch_rates(4)).tolist() == seen


def test_a_grid_of_a_sum_is_for_one_term_in_proportion():
    n, kernel = 40_000, Laplacian(1.0).on([0]) + 3.0 * Laplacian(1.0).on([1])
    looks = np.isfinite(kernel.sample_pitches(2, n, np.random.default_rng(0)))
    assert (looks.sum(axis=0) == 1).all()
    assert abs(looks[0].mean() - 1 / 4) <= 5 * np.sqrt(3 / 16 / n)


SLOWLY = "a decreasing convex function"
COLUMNS = "a product over columns of convex functions"


@pytest.mark.parametrize(
    ("kernel", "d", "wording"),
    [
        (Gaussian(1.0), 1, SLOWLY),
        (Gaussian(1.0), 3, COLUMNS),
        (Gaussian([1.0, 2.0]), 2, COLUMNS),
        (Cauchy(1.0), 1, SLOWLY),
        (Matern(1.5, 1.0), 1, SLOWLY),
        (Matern(0.6, 1.0), 1, SLOWLY),
        (Matern(0.5, 1.0), 2, COLUMNS),
        (Cauchy(1.0), 2, COLUMNS),
        (Linear(), 1, COLUMNS),
        (ArcCosine(), 1, COLUMNS),
        (Chi2(1.0), 2, COLUMNS),
    ],
)
def test_other_kernels_have_no_pitches(kernel, d, wording):
    rng, message = np.random.default_rng(0), f"RandomBinning: kernel must be {wording}"
    for refused in (
        lambda: kernel.sample_pitches(d, 3, rng),
        lambda: kernel.pitch_rates(d),
        lambda: (2.0 * kernel).sample_pitches(d, 3, rng),
        lambda: (Laplacian(1.0) + kernel).sample_pitches(d, 3, rng),
        lambda: kernel.on(list(range(d))).pitch_rates(d + 1),
    ):
        with pytest.raises(UnsupportedError, match=re.escape(message)) as raised:
            refused()
        assert repr(kernel) in str(raised.value)


@pytest.mark.parametrize(
    ("kernel", "d"),
    [
        (Laplacian(1.0) * Laplacian(2.0), 1),
        (Laplacian(1.0) * Laplacian(2.0), 3),
        (Laplacian(1.0).on([0, 1]) * Separable(slow_decay, 2.0).on([1, 2]), 3),
        (Laplacian([1.0, 1.0]) * Laplacian([0.0, 1.0]), 2),
    ],
)
def test_a_column_has_one_factor_of_a_product(kernel, d):
    message = f"that do not share columns, got {kernel!r}."
    with pytest.raises(ValueError, match=re.escape(message)):
        kernel.sample_pitches(d, 3, np.random.default_rng(0))


@pytest.mark.parametrize(
    "kernel", [Laplacian(), Matern(0.5), Separable(slow_decay), 2.0 * Laplacian("dim").on([0])]
)
def test_pitches_need_a_width(kernel):
    with pytest.raises(ValueError, match="gamma must be a number"):
        kernel.sample_pitches(1, 3, np.random.default_rng(0))


def test_columns_that_are_not_there_are_refused():
    kernel = Laplacian(1.0).on([4])
    for refused in (
        lambda: kernel.sample_pitches(3, 2, np.random.default_rng(0)),
        lambda: kernel.pitch_rates(3),
    ):
        with pytest.raises(ValueError, match="columns must be numbers below 3"):
            refused()


@pytest.mark.parametrize("gamma", [1e-16, 1e-12, 1.0, 1e12])
def test_rates_hold_for_any_width(gamma):
    np.testing.assert_allclose(Matern(0.5, gamma).pitch_rates(1), np.sqrt(2 * gamma), rtol=1e-6)


def test_shared_columns_are_refused_whatever_is_drawn():
    part = Separable(mostly_constant, 1.0)
    for refused in (
        lambda: (part * part).sample_pitches(1, 1, np.random.default_rng(0)),
        lambda: (part * part).pitch_rates(1),
    ):
        with pytest.raises(ValueError, match="that do not share columns"):
            refused()


def mostly_constant(t):
    return 0.9 + 0.1 * np.exp(-t)


def test_terms_without_a_share_do_not_count():
    assert (1e20 * Laplacian(1.0) + Matern(0.3, 1.0)).pitch_rates(1) == [1.0]
    moment = (1e20 * Gaussian(1.0) + Laplacian(1.0)).spectral_moment(2)
    assert moment == pytest.approx(4.0, rel=1e-12)


@pytest.mark.parametrize("gamma", [1e-30, 1.0, 1e30])
def test_gaussians_of_any_width_are_refused(gamma):
    with pytest.raises(UnsupportedError, match="density h k''"):
        Gaussian(gamma).sample_pitches(1, 4, np.random.default_rng(0))
