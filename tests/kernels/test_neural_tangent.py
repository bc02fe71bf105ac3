import numpy as np
import pytest

from skimp.kernels import ArcCosine, Linear, NeuralTangent


def pair():
    rng = np.random.default_rng(0)
    return rng.normal(size=(5, 3)), rng.normal(size=(4, 3))


def test_is_the_mean_of_products_of_gradients_of_a_random_network():
    X, Y = pair()
    rng = np.random.default_rng(1)
    W, a = rng.normal(size=(3, 200_000)), rng.normal(size=200_000)
    # a unit sqrt(2) a (w x)_+ has the derivatives sqrt(2) (w x)_+ in a, sqrt(2) a 1(w x > 0) x in w
    outer = [np.sqrt(2) * np.maximum(A @ W, 0) for A in (X, Y)]
    inner = [np.sqrt(2) * a * (A @ W > 0) for A in (X, Y)]
    K = NeuralTangent()(X, Y)
    for i in range(5):
        for j in range(4):
            samples = outer[0][i] * outer[1][j] + inner[0][i] * inner[1][j] * (X[i] @ Y[j])
            # six standard errors
            bound = 6 * samples.std() / np.sqrt(len(samples))
            assert abs(samples.mean() - K[i, j]) <= bound
            assert bound < 0.1 * np.abs(K).max()


def test_is_a_sum_of_arc_cosine_kernels():
    X, Y = pair()
    parts = Linear() * ArcCosine(0) + ArcCosine(1)
    np.testing.assert_allclose(NeuralTangent()(X, Y), parts(X, Y), rtol=0, atol=1e-12)
    G = parts.gradient(X, Y)
    np.testing.assert_allclose(NeuralTangent().gradient(X, Y), G, rtol=0, atol=1e-12)
    np.testing.assert_allclose(NeuralTangent().diag(X), parts.diag(X), rtol=1e-12)


def test_values_at_angles_that_are_known():
    x = [[2.0, 0.0]]
    K = NeuralTangent()(x, [[2.0, 0.0], [0.0, 3.0], [-1.0, 0.0]])[0]
    # 2 |x|^2 in parallel, |x| |y| / pi at a right angle, nothing where rows are opposite
    np.testing.assert_allclose(K[:2], [8, 6 / np.pi], rtol=1e-12)
    assert abs(K[2]) <= 1e-7
    assert NeuralTangent().diag(x).tolist() == pytest.approx([8])
