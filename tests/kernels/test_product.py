import numpy as np

from skimp.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial


def pair(dtype=np.float64):
    rng = np.random.default_rng(0)
    return rng.random((12, 3)).astype(dtype), rng.random((9, 3)).astype(dtype)


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
