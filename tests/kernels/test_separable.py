import re

import numpy as np
import pytest

from skimp.data import open_rows
from skimp.kernels import Gaussian, Laplacian, Separable
from tests.reference.naive import slow_decay


def exponential(t):
    return np.exp(-t)


def bell(t):
    return np.exp(-(t**2))


def rows(n=30, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def test_the_exponential_makes_the_laplacian_kernel():
    X, gamma = rows(), [0.3, 0.0, 1.2]
    np.testing.assert_allclose(Separable(exponential, gamma)(X), Laplacian(gamma)(X), rtol=1e-12)


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        (bell, "Separable: profile must be a decreasing convex function"),
        (lambda t: 1 + t, "decreasing convex function"),
        (lambda t: 1.5 * np.exp(-t) - 0.5, "profile must be a nonnegative function"),
        (lambda t: 0.5 * np.exp(-t), "Separable: profile must be 1 at distance 0"),
        (lambda t: 1.0, "Separable: profile must be 1 at distance 0"),
        (lambda t: np.exp(-t[:-1]), "Separable: profile must be 1 at distance 0"),
        ("exponential", "Separable: profile must be a callable, got 'exponential'."),
        (None, "Separable: profile must be a callable, got None."),
    ],
)
def test_profiles_that_make_no_kernel_are_refused(profile, message):
    kernel, rng = Separable(profile, 1.0), np.random.default_rng(0)
    for refused in (
        lambda: kernel(rows()),
        lambda: kernel.diag(rows()),
        lambda: kernel.sample_pitches(3, 2, rng),
        lambda: (2.0 * kernel + Laplacian(1.0))(rows()),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            refused()


def test_a_refused_profile_is_named():
    with pytest.raises(ValueError, match=r"negative at h = 0\.47.*got <function bell"):
        Separable(bell, 1.0)(rows())


def test_a_name_for_gamma_is_resolved_as_for_the_laplacian_kernel():
    X = 3 * rows(40)
    with pytest.raises(ValueError, match="Separable: gamma must be a number"):
        Separable(slow_decay)(X)
    for gamma in ("scale", "median", "dim"):
        resolved = Separable(slow_decay, gamma).resolve(open_rows(X), 0)
        assert resolved.gamma == Laplacian(gamma).resolve(open_rows(X), 0).gamma
        assert resolved.profile is slow_decay


class Power:
    def __call__(self, t):
        return 1 / (1 + t) ** 3

    def __repr__(self):
        return "Power()"


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        (Separable(slow_decay), "Separable(slow_decay)"),
        (Separable(slow_decay, "dim"), "Separable(slow_decay, gamma='dim')"),
        (Separable(slow_decay, 0.5), "Separable(slow_decay, gamma=0.5)"),
        (Separable(slow_decay, [0.5, 1.0]), "Separable(slow_decay, gamma=[0.5, 1.0])"),
        (Separable(Power(), gamma=1.0), "Separable(Power(), gamma=1.0)"),
        (
            2.0 * Separable(slow_decay, 1.0).on([0]) + Gaussian(1.0),
            "2.0 * Separable(slow_decay, gamma=1.0).on([0]) + Gaussian(gamma=1.0)",
        ),
    ],
)
def test_it_prints_as_it_is_written(kernel, text):
    assert repr(kernel) == text
