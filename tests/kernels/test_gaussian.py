import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.metrics.pairwise import rbf_kernel

from skimp.kernels import Gaussian
from tests.reference import naive
from tests.strategies import FLOATS, pairs_of_matrices


@pytest.mark.parametrize("gamma", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("dtype", FLOATS)
def test_equals_that_of_scikit_learn(gamma, dtype):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 5)).astype(dtype), rng.normal(size=(30, 5)).astype(dtype)
    expected = rbf_kernel(X.astype(np.float64), Y.astype(np.float64), gamma=gamma)
    eps = np.finfo(dtype).eps
    assert np.abs(Gaussian(gamma)(X, Y) - expected).max() <= 50 * eps


@settings(max_examples=40, deadline=None)
@given(pairs_of_matrices(dtypes=FLOATS, scales=(1e-3, 1.0, 3.0)))
def test_equals_its_naive_twin(pair):
    X, Y = pair
    K = Gaussian(0.5)(X, Y)
    assert ((K >= 0) & (K <= 1)).all()
    np.testing.assert_allclose(K, naive.gaussian(X, Y, 0.5), atol=200 * np.finfo(X.dtype).eps)


@pytest.mark.parametrize("gamma", [1e40, [1.0, 1e40]])
def test_gamma_that_the_rows_cannot_hold(gamma):
    with pytest.raises(ValueError, match="Gaussian: gamma must be at most"):
        Gaussian(gamma)(np.ones((3, 2), np.float32))


@pytest.mark.parametrize(("dtype", "far"), [(np.float32, 3e37), (np.float64, 1e308)])
def test_rows_far_apart_have_neither_values_nor_slopes(dtype, far):
    X, Y = np.array([[far]], dtype), np.zeros((1, 1), dtype)
    assert Gaussian(1.0)(X, Y).item() == 0
    assert Gaussian(1.0).gradient(X, Y).item() == 0
