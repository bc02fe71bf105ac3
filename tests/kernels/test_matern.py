import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.gaussian_process.kernels import Matern as TheirMatern

from skimp.kernels import Gaussian, Laplacian, Matern
from tests.pairs import in_turn
from tests.reference import naive
from tests.strategies import FLOATS, pairs_of_matrices

ORDERS = [0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 3.7]


def pair():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 3)), rng.normal(size=(30, 3))


@in_turn(nu=ORDERS, length=[0.7, [0.5, 2.0, 30.0]])
def test_equals_that_of_scikit_learn(nu, length):
    X, Y = pair()
    gamma = 1 / (2 * np.square(length))
    expected = TheirMatern(length_scale=length, nu=nu)(X, Y)
    K = Matern(nu, gamma if np.ndim(gamma) else float(gamma))(X, Y)
    np.testing.assert_allclose(K, expected, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5, 0.8, 3.7])
@settings(max_examples=20, deadline=None)
@given(pair=pairs_of_matrices(dtypes=FLOATS, scales=(1e-3, 1.0, 3.0)))
def test_equals_its_naive_twin(nu, pair):
    X, Y = pair
    K, eps = Matern(nu, 0.5)(X, Y), np.finfo(X.dtype).eps
    assert K.min() >= 0
    assert K.max() <= 1 + 4 * eps
    # near zero it is 1 - c s^min(nu, 1), with a distance s that is right to 1e-5 or 1e-10 of itself
    bound = 100 * eps + (1e-4 if eps > 1e-10 else 1e-9)
    assert np.abs(K - naive.matern(X, Y, nu, 0.5)).max() <= bound


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_bessel_functions_meet_the_closed_forms(nu):
    X, Y = pair()
    # the kernel is Lipschitz in nu, with a constant below one from 1/2 on
    near = Matern(nu + 1e-8, 0.4)
    np.testing.assert_allclose(near(X, Y), Matern(nu, 0.4)(X, Y), atol=1e-8)
    np.testing.assert_allclose(near.gradient(X, Y), Matern(nu, 0.4).gradient(X, Y), atol=1e-6)


def test_tends_to_the_gaussian_kernel():
    X, Y = pair()
    expected = Gaussian(0.4)(X, Y)
    errors = [np.abs(Matern(nu, 0.4)(X, Y) - expected).max() for nu in (10.0, 20.0, 40.0)]
    # the next term of the expansion in 1 / nu
    assert 1.8 < errors[0] / errors[1] < 2.2
    assert 1.8 < errors[1] / errors[2] < 2.2
    assert errors[2] < 0.01


def test_one_half_is_the_laplacian_kernel_of_one_column():
    X, Y = (A[:, :1] for A in pair())
    rate = np.sqrt(2 * 0.4)
    np.testing.assert_allclose(Matern(0.5, 0.4)(X, Y), Laplacian(rate)(X, Y), rtol=1e-12)
    expected = Laplacian(rate).gradient(X, Y)
    np.testing.assert_allclose(Matern(0.5, 0.4).gradient(X, Y), expected, rtol=1e-9)


@in_turn(nu=ORDERS, dtype=FLOATS)
def test_rows_that_touch_and_rows_that_are_far_apart(nu, dtype):
    tiny = np.finfo(dtype).tiny
    X = np.array([[0.0], [tiny], [1e-15], [1e-7], [1e6], [1e12]], dtype)
    # logarithms of the powers that cancel are some tens
    K, rounding = Matern(nu, 1.0)(X[:1], X)[0], 100 * np.finfo(dtype).eps
    assert K[0] == 1
    np.testing.assert_allclose(K[1:3], 1, rtol=0, atol=rounding)
    assert 1 - 1e-4 <= K[3] <= 1 + rounding
    # exp stops at the smallest normal number
    assert (np.abs(K[4:]) <= 1e-30).all()
    G = Matern(nu, 1.0).gradient(X[:1], X)[0, :, 0]
    assert np.isfinite(G).all()
    assert G[0] == 0
    assert (np.abs(G[4:]) <= 1e-12).all()


@pytest.mark.parametrize("nu", [1.5, 2.0, 2.5, 3.7])
def test_the_curvature_at_a_tie(nu):
    # for nu > 1: k = 1 - nu / (nu - 1) s + ..., so that the derivative is -2 nu / (nu - 1) gamma r
    r, gamma = 1e-5, 0.3
    slope = Matern(nu, gamma).gradient([[r]], [[0.0]]).item()
    assert slope == pytest.approx(-2 * nu / (nu - 1) * gamma * r, rel=1e-3)
    assert Matern(nu, gamma).gradient([[0.0]]).item() == 0


def test_frequencies_of_three_halves_have_the_moments_of_a_student_vector():
    n, gamma = 200_000, 0.3
    W = Matern(1.5, gamma).sample_frequencies(2, n, np.random.default_rng(0))
    # with three degrees of freedom: E|w| = 2 sqrt(3) / pi times the scale, and a variance of 3
    scale = np.sqrt(2 * gamma)
    error = np.abs(W).mean(axis=1) - 2 * np.sqrt(3) / np.pi * scale
    spread = scale * np.sqrt(3 - 12 / np.pi**2)
    assert (np.abs(error) <= 5 * spread / np.sqrt(n)).all()
    # the two entries of a frequency share their stretch: large ones come together
    large = np.abs(W) > np.quantile(np.abs(W), 0.99, axis=1, keepdims=True)
    assert large.all(axis=0).mean() > 10 * 0.01**2


@pytest.mark.parametrize("nu", [1.5, 2.5, 3.7, 50, 100])
@pytest.mark.parametrize(("dtype", "far"), [(np.float32, 1e19), (np.float64, 1e150)])
def test_values_fall_to_zero_however_far_rows_are(nu, dtype, far):
    K = Matern(nu, 0.5)(np.zeros((1, 1), dtype), np.array([[1e2], [1e3], [1e10], [far]], dtype))
    assert (K <= 1e-20).all()


@pytest.mark.parametrize("nu", [20, 60, 99.5, 100])
def test_large_nu(nu):
    X = np.concatenate([[0], np.logspace(-6, 1, 200)])[:, None]
    # expanded in 1 / nu: log k = -s + (s^2 / 2 - s) / nu + O(1 / nu^2), with s = gamma r^2
    s = 0.5 * X[:, 0] ** 2
    near = s < 3
    K = Matern(nu, 0.5)(X, X[:1])[:, 0]
    expected = np.exp(-s - (s - s**2 / 2) / nu)
    assert np.abs(K - expected)[near].max() <= 3 / nu**2
    h = 1e-5
    slopes = (Matern(nu, 0.5)(X + h, X[:1]) - Matern(nu, 0.5)(X - h, X[:1]))[:, 0] / (2 * h)
    assert np.abs(Matern(nu, 0.5).gradient(X, X[:1])[:, 0, 0] - slopes).max() <= 1e-7
