import numpy as np
from hypothesis import given, settings
from sklearn.metrics.pairwise import chi2_kernel

from skimp.kernels import Chi2
from tests.reference import naive
from tests.strategies import pairs_of_matrices


def test_equals_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    X, Y = rng.random((40, 5)), rng.random((30, 5))
    X[X < 0.3], Y[Y < 0.3] = 0, 0
    np.testing.assert_allclose(Chi2(0.7)(X, Y), chi2_kernel(X, Y, gamma=0.7), rtol=1e-12)


@settings(max_examples=40, deadline=None)
@given(pairs_of_matrices(nonnegative=True, scales=(1e-3, 1.0, 3.0)))
def test_equals_its_naive_twin(pair):
    X, Y = pair
    K = Chi2(0.05)(X, Y)
    eps = np.finfo(K.dtype).eps
    np.testing.assert_allclose(K, naive.chi2(X, Y, 0.05), rtol=2000 * eps, atol=50 * eps)


def test_terms_of_two_zeros_are_zero():
    assert Chi2(1.0)(np.zeros((2, 3))).tolist() == [[1, 1], [1, 1]]
