import re

import numpy as np
import pytest

from skimp.data import open_rows
from skimp.kernels import Cauchy, Gaussian, Laplacian, Linear, Sum, Tanh


def pair():
    rng = np.random.default_rng(0)
    return rng.random((12, 3)), rng.random((9, 3))


def test_everything_is_added():
    X, Y = pair()
    one, other = Gaussian(0.4), Linear()
    both = one + other
    assert type(both) is Sum
    np.testing.assert_allclose(both(X, Y), one(X, Y) + other(X, Y), rtol=1e-14)
    np.testing.assert_allclose(both.diag(X), one.diag(X) + other.diag(X), rtol=1e-14)
    expected = one.gradient(X, Y) + other.gradient(X, Y)
    np.testing.assert_allclose(both.gradient(X, Y), expected, atol=1e-14)


def test_terms_may_be_the_same_object():
    X, Y = pair()
    k = Laplacian(0.4)
    np.testing.assert_allclose((k + k)(X, Y), 2 * k(X, Y), rtol=1e-14)
    np.testing.assert_allclose((k + k).gradient(X, Y), 2 * k.gradient(X, Y), rtol=1e-14)


def test_terms_are_resolved_each_for_itself():
    X, _ = pair()
    kernel = Gaussian() + Laplacian("dim") + Linear()
    resolved = kernel.resolve(open_rows(X), 0)
    assert resolved.k1.k1.gamma == pytest.approx(1 / (3 * X.var()))
    assert resolved.k1.k2.gamma == 1 / 6
    assert kernel.k1.k1.gamma == "scale"


@pytest.mark.parametrize("share", [0.25, 0.9])
def test_frequencies_are_a_mixture_in_proportion_to_the_origin(share):
    n = 100_000
    # on different columns, so that one sees which spectrum a frequency is of
    kernel = share * Gaussian(0.3).on(0) + (1 - share) * Laplacian(0.2).on(1)
    W = kernel.sample_frequencies(2, n, np.random.default_rng(0))
    assert W.shape == (2, n)
    first, second = W[0] != 0, W[1] != 0
    assert (first ^ second).all()
    # five standard errors of a share
    assert abs(first.mean() - share) <= 5 * np.sqrt(share * (1 - share) / n)
    drawn = W[0, first]
    assert abs(drawn.var() - 0.6) <= 5 * 0.6 * np.sqrt(2 / len(drawn))


def test_frequencies_of_three_terms_have_the_kernel_for_characteristic_function():
    n = 100_000
    kernel = 3.0 * Gaussian(2.0) + 0.5 * Laplacian(0.1) + Cauchy([0.1, 0.0, 1.0])
    W = kernel.sample_frequencies(3, n, np.random.default_rng(1))
    # Hoeffding for numbers in [-1, 1]: larger with a probability of at most 1e-6
    bound = np.sqrt(2 * np.log(2 / 1e-6) / n)
    for x in ([0.5, -1.0, 0.3], [0.1, 0.0, 0.0], [3.0, 1.0, -2.0]):
        expected = kernel([x], [[0.0, 0.0, 0.0]]).item() / 4.5
        assert abs(np.cos(np.array(x) @ W).mean() - expected) <= bound


@pytest.mark.parametrize("name", ["k1", "k2"])
@pytest.mark.parametrize("value", ["rbf", None, 2.0, Gaussian])
def test_terms_must_be_kernels(name, value):
    kernel = (Gaussian(1.0) + Tanh(1.0)).set_params(**{name: value})
    message = f"Sum: {name} must be a kernel object, got {value!r}."
    for refused in (kernel, kernel.diag, kernel.gradient):
        with pytest.raises(ValueError, match=re.escape(message)):
            refused(np.ones((2, 2)))
    with pytest.raises(ValueError, match=re.escape(message)):
        kernel.resolve(open_rows(np.ones((2, 2))), 0)
