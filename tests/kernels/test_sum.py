import numpy as np
import pytest

from skimp.data import open_rows
from skimp.kernels import Gaussian, Laplacian, Linear


def pair():
    rng = np.random.default_rng(0)
    return rng.random((12, 3)), rng.random((9, 3))


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
