import re

import numpy as np
import pytest

from skimp.data import open_rows
from skimp.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial, Product


def pair(dtype=np.float64):
    rng = np.random.default_rng(0)
    return rng.random((12, 3)).astype(dtype), rng.random((9, 3)).astype(dtype)


def test_everything_is_multiplied():
    X, Y = pair()
    one, other = Gaussian(0.4), Polynomial(2, 0.5)
    both = one * other
    assert type(both) is Product
    np.testing.assert_allclose(both(X, Y), one(X, Y) * other(X, Y), rtol=1e-14)
    np.testing.assert_allclose(both.diag(X), one.diag(X) * other.diag(X), rtol=1e-14)
    expected = one.gradient(X, Y) * other(X, Y)[:, :, None] + one(X, Y)[
        :, :, None
    ] * other.gradient(X, Y)
    np.testing.assert_allclose(both.gradient(X, Y), expected, rtol=1e-10, atol=1e-14)


def test_products_of_one_kind_are_that_kind():
    X, Y = pair()
    # exp(-a s) exp(-b s) = exp(-(a + b) s), and over columns the sum of all of them
    np.testing.assert_allclose((Gaussian(0.4) * Gaussian(0.2))(X, Y), Gaussian(0.6)(X, Y))
    columns = Laplacian(0.4).on(0) * Laplacian(0.1).on(1) * Laplacian(2.0).on(2)
    whole = Laplacian([0.4, 0.1, 2.0])
    np.testing.assert_allclose(columns(X, Y), whole(X, Y), rtol=1e-12)
    np.testing.assert_allclose(columns.gradient(X, Y), whole.gradient(X, Y), rtol=1e-10)
    polynomials = Polynomial(2, 0.3) * Polynomial(1, 0.3)
    np.testing.assert_allclose(polynomials(X, Y), Polynomial(3, 0.3)(X, Y), rtol=1e-12)


def test_products_of_many_outputs():
    X, Y = pair(np.float32)
    kernel = Gaussian(0.4) * Linear() * Matern(1.5, 0.3).on([2])
    coef = np.random.default_rng(1).normal(size=(9, 3)).astype(np.float32)
    expected = np.einsum("ijk,jo->iko", kernel.gradient(*pair()), coef)
    G = kernel.expansion_gradient(X, Y, coef)
    assert G.dtype == np.float32
    np.testing.assert_allclose(G, expected, atol=1e-4)


def test_frequencies_are_sums():
    n = 100_000
    kernel = Gaussian(0.3) * Gaussian(0.2)
    W = kernel.sample_frequencies(2, n, np.random.default_rng(0))
    # as for gamma = 0.5: five standard errors of a variance
    assert W.shape == (2, n)
    assert abs(W.var() - 1.0) <= 5 * np.sqrt(2 / W.size)


def test_frequencies_have_the_kernel_for_characteristic_function():
    n = 100_000
    kernel = 2.0 * Gaussian(0.3).on([0, 2]) * (Laplacian(0.2) + Matern(0.7, 0.4))
    W = kernel.sample_frequencies(3, n, np.random.default_rng(1))
    # Hoeffding for numbers in [-1, 1]: larger with a probability of at most 1e-6
    bound = np.sqrt(2 * np.log(2 / 1e-6) / n)
    for x in ([0.5, -1.0, 0.3], [0.1, 0.0, 0.0], [0.0, 2.0, 0.0]):
        expected = kernel([x], [[0.0, 0.0, 0.0]]).item() / 4.0
        assert abs(np.cos(np.array(x) @ W).mean() - expected) <= bound


@pytest.mark.parametrize("name", ["k1", "k2"])
@pytest.mark.parametrize("value", ["rbf", None, 2.0, Gaussian])
def test_factors_must_be_kernels(name, value):
    kernel = (Gaussian(1.0) * Linear()).set_params(**{name: value})
    message = f"Product: {name} must be a kernel object, got {value!r}."
    with pytest.raises(ValueError, match=re.escape(message)):
        kernel(np.ones((2, 2)))
    with pytest.raises(ValueError, match=re.escape(message)):
        kernel.resolve(open_rows(np.ones((2, 2))), 0)
