import numpy as np
import pytest

from skimp._params._errors import UnsupportedError
from skimp.kernels import Cauchy, Gaussian, Laplacian, Linear, Matern
from tests.pairs import in_turn

WIDTHS = [0.3, 0.0, 1.2]
KERNELS = [
    Gaussian(0.7),
    Gaussian(WIDTHS),
    Matern(3, 0.7),
    Matern(3.5, WIDTHS),
    Matern(2.5, 0.7),
    Matern(1.5, 0.7),
    Cauchy(0.7),
    Cauchy(WIDTHS),
    5.0 * Gaussian(0.7),
    Gaussian(0.7) + Cauchy(0.2),
    Gaussian(0.7) + 3.0 * Matern(2.5, WIDTHS),
    Gaussian(0.7) * Cauchy(0.2),
    (Gaussian(0.7) + 2.0 * Cauchy(0.2)) * Matern(3, 0.1),
    Matern(3, 0.7).on([2, 0]),
    2.0 * Gaussian(0.7).on([0]) * Cauchy(0.2).on([1]) + Gaussian(0.1),
]


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_moment_is_minus_the_laplacian_at_zero(kernel):
    def quotient(t):
        drops = 1 - kernel(t * np.eye(3), np.zeros((1, 3)))[:, 0] / kernel.diag(np.zeros((1, 3)))
        return 2 * drops.sum() / t**2

    moment = kernel.spectral_moment(3)
    assert isinstance(moment, float)
    # cosines are above their parabolas; the quotient rises to the moment as t falls
    assert quotient(1e-2) < moment * (1 + 1e-6)
    rounding = 3 * 2 * np.finfo(float).eps / 1e-4**2
    # a third derivative, as that of Matern(1.5), is an error in proportion to t
    assert abs(quotient(1e-4) - moment) <= 1e-3 * moment + rounding


def fourth_moment(kernel):
    """Return E |w|^4 of a normal vector times a stretch, from the moments of both."""
    squares = 2 * np.broadcast_to(kernel.gamma, 3)
    normal = 2 * np.sum(squares**2) + np.sum(squares) ** 2
    stretch = {
        Gaussian: lambda: 1.0,
        Cauchy: lambda: 2.0,
        Matern: lambda: kernel.nu**2 / ((kernel.nu - 1) * (kernel.nu - 2)),
    }[type(kernel)]()
    return normal * stretch


@in_turn(kernel=[k for k in KERNELS[:8] if getattr(k, "nu", 3) > 2], sampling=["iid", "orthogonal"])
def test_the_moment_is_the_mean_squared_length(kernel, sampling):
    n = 9000
    W = kernel.sample_frequencies(3, n, np.random.default_rng(0), sampling)
    moment = kernel.spectral_moment(3)
    standard_error = np.sqrt((fourth_moment(kernel) - moment**2) / n)
    assert abs((W**2).sum(axis=0).mean() - moment) <= 5 * standard_error


@pytest.mark.parametrize(
    ("kernel", "moment"),
    [
        (Gaussian(0.5), 4.0),
        (Gaussian([1.0, 2.0, 0.0, 0.5]), 7.0),
        (Cauchy(0.5), 4.0),
        (Matern(3, 0.5), 6.0),
        (Matern(2, 0.5), 8.0),
        (7.0 * Gaussian(0.5), 4.0),
        (Gaussian(0.5).on([0, 3]), 2.0),
        (Gaussian(0.5) * Matern(2, 0.5), 12.0),
        (Gaussian(0.5) + 3.0 * Matern(2, 0.5), 7.0),
    ],
)
def test_moments_by_hand(kernel, moment):
    assert kernel.spectral_moment(4) == pytest.approx(moment, rel=1e-14)


@pytest.mark.parametrize(
    "kernel",
    [
        Laplacian(1.0),
        Laplacian([1.0, 0.0]),
        Matern(1, 1.0),
        Matern(1.0, [1.0, 2.0]),
        Matern(0.5, 1.0),
        Matern(0.2, 1.0),
        2.0 * Laplacian(1.0),
        Laplacian(1.0).on([1]),
        Gaussian(1.0) + Laplacian(1.0),
        Matern(1, 1.0) + Gaussian(1.0),
        Gaussian(1.0) * Laplacian(1.0).on([0]),
    ],
)
def test_heavy_tails_have_no_moment(kernel):
    assert kernel.spectral_moment(2) == np.inf


def test_kernels_without_a_spectrum_have_no_moment():
    with pytest.raises(UnsupportedError, match=r"one that has a spectrum, got Linear\(\)"):
        Linear().spectral_moment(2)


def test_widths_of_other_columns_are_refused():
    with pytest.raises(ValueError, match="one for each of the 2 columns of X"):
        Gaussian(WIDTHS).spectral_moment(2)
    with pytest.raises(ValueError, match="columns must be numbers below 2"):
        Gaussian(1.0).on([2]).spectral_moment(2)
