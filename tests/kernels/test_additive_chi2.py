import numpy as np
from sklearn.kernel_approximation import AdditiveChi2Sampler

from skimp.kernels import AdditiveChi2


def pair():
    rng = np.random.default_rng(0)
    X, Y = rng.random((40, 5)), rng.random((30, 5))
    X[X < 0.3], Y[Y < 0.3] = 0, 0
    return X, Y


def test_is_what_the_sampler_of_scikit_learn_approximates():
    X, Y = pair()
    # steps of 0.1 up to 6: the spectrum, sech(pi w), has fallen to 1e-8 there
    sampler = AdditiveChi2Sampler(sample_steps=60, sample_interval=0.1).fit(X)
    Z = sampler.transform(np.vstack([X, Y]))
    np.testing.assert_allclose(Z[: len(X)] @ Z[len(X) :].T, AdditiveChi2()(X, Y), atol=1e-6)


def test_derivatives_where_entries_are_zero():
    # d/dx of 2 x y / (x + y) is 2 y^2 / (x + y)^2; 0 stands for 0 / 0
    G = AdditiveChi2().gradient(np.array([[0.0, 0.0, 1.0, 1.0]]), np.array([[3.0, 0.0, 0.0, 1.0]]))
    np.testing.assert_allclose(G[0, 0], [2.0, 0.0, 0.0, 0.5], rtol=1e-12)
