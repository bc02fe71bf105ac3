import numpy as np
from hypothesis import given, settings
from sklearn.metrics.pairwise import laplacian_kernel

from skimp.kernels import Laplacian
from tests.reference import naive
from tests.strategies import pairs_of_matrices


def test_equals_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 5)), rng.normal(size=(30, 5))
    np.testing.assert_allclose(Laplacian(0.3)(X, Y), laplacian_kernel(X, Y, gamma=0.3), rtol=1e-12)


@settings(max_examples=40, deadline=None)
@given(pairs_of_matrices(scales=(1e-3, 1.0, 3.0)))
def test_equals_its_naive_twin(pair):
    X, Y = pair
    K = Laplacian(0.1)(X, Y)
    assert ((K >= 0) & (K <= 1)).all()
    eps = np.finfo(K.dtype).eps
    np.testing.assert_allclose(K, naive.laplacian(X, Y, 0.1), rtol=2000 * eps, atol=50 * eps)


def test_diagonal_is_ones():
    assert Laplacian(2.0).diag(np.zeros((3, 2))).tolist() == [1, 1, 1]


def test_frequencies_have_the_kernel_for_characteristic_function():
    gamma, n = 0.4, 200_000
    W = Laplacian(gamma).sample_frequencies(3, n, np.random.default_rng(0))
    assert W.shape == (3, n)
    for x in ([0.5, -1.0, 0.3], [2.0, 0.0, 0.0]):
        # Hoeffding for numbers in [-1, 1]: larger with a probability of at most 1e-6
        bound = np.sqrt(2 * np.log(2 / 1e-6) / n)
        expected = np.exp(-gamma * np.abs(x).sum())
        assert abs(np.cos(np.array(x) @ W).mean() - expected) <= bound
