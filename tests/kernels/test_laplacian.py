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
