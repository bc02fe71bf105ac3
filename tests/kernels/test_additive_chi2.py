import numpy as np
from hypothesis import given, settings
from scipy import sparse
from sklearn.kernel_approximation import AdditiveChi2Sampler
from sklearn.metrics.pairwise import additive_chi2_kernel

from skimp.kernels import AdditiveChi2
from tests.reference import naive
from tests.strategies import pairs_of_matrices


def pair():
    rng = np.random.default_rng(0)
    X, Y = rng.random((40, 5)), rng.random((30, 5))
    X[X < 0.3], Y[Y < 0.3] = 0, 0
    return X, Y


def test_differs_from_that_of_scikit_learn_by_the_sums_of_the_rows():
    X, Y = pair()
    # 2 x y / (x + y) = (x + y) / 2 - (x - y)^2 / (2 (x + y))
    sums = (X.sum(axis=1)[:, None] + Y.sum(axis=1)) / 2
    expected = sums + additive_chi2_kernel(X, Y) / 2
    np.testing.assert_allclose(AdditiveChi2()(X, Y), expected, rtol=1e-12, atol=1e-14)


def test_is_what_the_sampler_of_scikit_learn_approximates():
    X, Y = pair()
    # steps of 0.1 up to 6: the spectrum, sech(pi w), has fallen to 1e-8 there
    sampler = AdditiveChi2Sampler(sample_steps=60, sample_interval=0.1).fit(X)
    Z = sampler.transform(np.vstack([X, Y]))
    np.testing.assert_allclose(Z[: len(X)] @ Z[len(X) :].T, AdditiveChi2()(X, Y), atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(pairs_of_matrices(nonnegative=True))
def test_equals_its_naive_twin(pair):
    X, Y = pair
    K = AdditiveChi2()(X, Y)
    np.testing.assert_allclose(K, naive.additive_chi2(X, Y), rtol=20 * np.finfo(K.dtype).eps)


def test_diagonal_is_the_sums_of_the_rows_beyond_small_integers():
    X = np.array([[200, 200], [0, 0], [1, 255]], np.uint8)
    assert AdditiveChi2().diag(X).tolist() == [400, 0, 256]
    assert AdditiveChi2().diag(sparse.csr_matrix(X)).tolist() == [400, 0, 256]
    assert AdditiveChi2()(X).diagonal().tolist() == [400, 0, 256]


def test_derivatives_where_entries_are_zero():
    # d/dx of 2 x y / (x + y) is 2 y^2 / (x + y)^2; 0 stands for 0 / 0
    G = AdditiveChi2().gradient(np.array([[0.0, 0.0, 1.0, 1.0]]), np.array([[3.0, 0.0, 0.0, 1.0]]))
    np.testing.assert_allclose(G[0, 0], [2.0, 0.0, 0.0, 0.5], rtol=1e-12)
