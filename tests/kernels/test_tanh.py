import numpy as np
import pytest

from skimp.kernels import Linear, Tanh


def pair():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 3)), rng.normal(size=(30, 3))


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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_small_arguments_keep_their_digits(dtype):
    x = np.logspace(-30, 1, 300).astype(dtype)[:, None]
    for sign in (1, -1):
        K = Tanh(1.0)(sign * x, np.ones((1, 1), dtype))
        np.testing.assert_allclose(K, np.tanh(sign * x.astype(float)), rtol=4 * np.finfo(dtype).eps)
