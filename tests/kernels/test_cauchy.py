import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.gaussian_process.kernels import RationalQuadratic

from skimp.kernels import Cauchy
from tests.reference import naive
from tests.strategies import FLOATS, pairs_of_matrices


def pair():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 3)), rng.normal(size=(30, 3))


def test_equals_the_rational_quadratic_of_scikit_learn():
    X, Y = pair()
    expected = RationalQuadratic(length_scale=0.7, alpha=1.0)(X, Y)
    np.testing.assert_allclose(Cauchy(1 / (2 * 0.7**2))(X, Y), expected, rtol=1e-12)


@settings(max_examples=40, deadline=None)
@given(pairs_of_matrices(dtypes=FLOATS, scales=(1e-3, 1.0, 1e3)))
def test_equals_its_naive_twin(pair):
    X, Y = pair
    K, eps = Cauchy(0.5)(X, Y), np.finfo(X.dtype).eps
    assert ((K > 0) & (K <= 1)).all()
    # a distance is right to 1e-5 (1e-10 in float64) of itself, and so is the kernel
    rtol = 1e-4 if eps > 1e-10 else 1e-9
    np.testing.assert_allclose(K, naive.cauchy(X, Y, 0.5), rtol=rtol)


def test_tails_are_long():
    K = Cauchy(1.0)(np.array([[0.0]]), np.array([[1e3], [1e6]]))
    np.testing.assert_allclose(K[0] * [1e6, 1e12], [1, 1], rtol=2e-6)


def test_a_product_over_columns_is_the_kernel_of_rahimi_and_recht():
    X, Y = pair()
    gammas = [0.3, 2.0, 0.7]
    kernel = Cauchy(0.3).on(0) * Cauchy(2.0).on(1) * Cauchy(0.7).on(2)
    terms = [1 / (1 + g * (X[:, None, j] - Y[None, :, j]) ** 2) for j, g in enumerate(gammas)]
    np.testing.assert_allclose(kernel(X, Y), np.prod(terms, axis=0), rtol=1e-12)
    n = 100_000
    W = kernel.sample_frequencies(3, n, np.random.default_rng(0))
    # independent Laplace variables of scale sqrt(gamma): |w| is exponential, mean = deviation
    error = np.abs(W).mean(axis=1) - np.sqrt(gammas)
    assert (np.abs(error) <= 5 * np.sqrt(gammas) / np.sqrt(n)).all()
    # Hoeffding for numbers in [-1, 1]: larger with a probability of at most 1e-6
    bound = np.sqrt(2 * np.log(2 / 1e-6) / n)
    for x, y in zip(X[:5], Y[:5], strict=True):
        assert abs(np.cos((x - y) @ W).mean() - kernel([x], [y]).item()) <= bound


def test_entries_of_a_frequency_share_their_stretch():
    n = 100_000
    W = Cauchy(0.5).sample_frequencies(2, n, np.random.default_rng(0))
    # w = sqrt(t) z with exponential t: E w1^2 w2^2 = E t^2 = 2, and 1 if they were independent
    products = (W[0] * W[1]) ** 2
    assert products.mean() == pytest.approx(2, abs=5 * products.std() / np.sqrt(n))
    assert products.mean() > 1.5
