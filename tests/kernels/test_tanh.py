import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import sigmoid_kernel

from skimp.kernels import Linear, Tanh
from tests.reference import naive
from tests.strategies import pairs_of_matrices


def pair():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 3)), rng.normal(size=(30, 3))


@pytest.mark.parametrize("coef0", [-1.0, 0.0, 2.5])
def test_equals_that_of_scikit_learn(coef0):
    X, Y = pair()
    expected = sigmoid_kernel(X, Y, gamma=0.3, coef0=coef0)
    np.testing.assert_allclose(Tanh(0.3, coef0)(X, Y), expected, rtol=0, atol=1e-14)


@settings(max_examples=40, deadline=None)
@given(pairs_of_matrices(scales=(1e-3, 1.0, 1e3)), st.sampled_from([-0.5, 0.0, 1.0]))
def test_equals_its_naive_twin(pair, coef0):
    X, Y = pair
    K, expected = Tanh(0.1, coef0)(X, Y), naive.tanh(X, Y, 0.1, coef0)
    terms = naive.inner_products(abs(naive.as_float64(X)), abs(naive.as_float64(Y)), 0.1)
    assert (np.abs(K - expected) <= 20 * np.finfo(K.dtype).eps * (1 + terms)).all()


@pytest.mark.parametrize("coef0", [-1.0, 0.0, 1.0])
def test_is_not_positive_definite_and_says_so(coef0):
    X, _ = pair()
    for gamma in (0.1, 2.0):
        values = np.linalg.eigvalsh(Tanh(gamma, coef0)(X))
        assert values[0] < -1e-3 * values[-1]
    assert not Tanh(0.1, coef0).positive_definite
    assert not (Linear() + 2.0 * Tanh(0.1, coef0).on([0])).positive_definite


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_saturates_without_overflow(dtype):
    X, Y = np.array([[1e6], [-1e6], [0.0]], dtype), np.array([[1e6], [-1e6]], dtype)
    assert Tanh(1.0)(X, Y).tolist() == [[1, -1], [-1, 1], [0, 0]]
    assert Tanh(1.0).gradient(X[:2], Y).tolist() == [[[0], [0]], [[0], [0]]]


def test_is_odd_without_a_constant():
    X, Y = pair()
    assert np.array_equal(Tanh(0.7)(-X, Y), -Tanh(0.7)(X, Y))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_small_arguments_keep_their_digits(dtype):
    x = np.logspace(-30, 1, 300).astype(dtype)[:, None]
    for sign in (1, -1):
        K = Tanh(1.0)(sign * x, np.ones((1, 1), dtype))
        np.testing.assert_allclose(K, np.tanh(sign * x.astype(float)), rtol=4 * np.finfo(dtype).eps)
