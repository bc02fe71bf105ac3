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


def test_diagonal_is_ones():
    assert Gaussian(2.0).diag(np.zeros((3, 2))).tolist() == [1, 1, 1]


def test_frequencies_are_normal_with_variance_two_gamma():
    W = Gaussian(0.4).sample_frequencies(3, 20_000, np.random.default_rng(0))
    assert W.shape == (3, 20_000)
    n = W.size
    # five standard errors of a mean and of a variance
    assert abs(W.mean()) <= 5 * np.sqrt(0.8 / n)
    assert abs(W.var() - 0.8) <= 5 * 0.8 * np.sqrt(2 / n)


def test_frequencies_have_the_kernel_for_characteristic_function():
    gamma, n = 0.4, 200_000
    W = Gaussian(gamma).sample_frequencies(3, n, np.random.default_rng(1))
    x = np.array([0.5, -1.0, 0.3])
    # Hoeffding for numbers in [-1, 1]: larger with a probability of at most 1e-6
    bound = np.sqrt(2 * np.log(2 / 1e-6) / n)
    assert abs(np.cos(x @ W).mean() - np.exp(-gamma * x @ x)) <= bound


@pytest.mark.parametrize("gamma", [1e40, [1.0, 1e40]])
def test_gamma_that_the_rows_cannot_hold(gamma):
    with pytest.raises(ValueError, match="Gaussian: gamma must be of a size that float32 holds"):
        Gaussian(gamma)(np.ones((3, 2), np.float32))


@pytest.mark.parametrize(("dtype", "far"), [(np.float32, 3e37), (np.float64, 1e308)])
def test_rows_far_apart_have_neither_values_nor_slopes(dtype, far):
    X, Y = np.array([[far]], dtype), np.zeros((1, 1), dtype)
    assert Gaussian(1.0)(X, Y).item() == 0
    assert Gaussian(1.0).gradient(X, Y).item() == 0
