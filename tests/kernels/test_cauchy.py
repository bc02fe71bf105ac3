import numpy as np
import pytest

from skimp.kernels import Cauchy


def pair():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 3)), rng.normal(size=(30, 3))


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
