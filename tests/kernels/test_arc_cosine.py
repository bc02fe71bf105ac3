import numpy as np
import pytest

from skimp.kernels import ArcCosine


@pytest.mark.parametrize("order", [0, 1, 2])
def test_is_the_mean_over_a_layer_of_random_units(order):
    rng = np.random.default_rng(0)
    X, Y, W = rng.normal(size=(5, 3)), rng.normal(size=(4, 3)), rng.normal(size=(3, 200_000))

    def units(A):
        return np.maximum(A @ W, 0) ** order if order else (A @ W > 0).astype(float)

    K, U, V = ArcCosine(order)(X, Y), units(X), units(Y)
    for i in range(5):
        for j in range(4):
            samples = 2 * U[i] * V[j]
            # six standard errors
            bound = 6 * samples.std() / np.sqrt(len(samples))
            assert abs(samples.mean() - K[i, j]) <= bound
            # the bound tells values that are ten percent off, but for the smallest ones
            assert bound < 0.1 * K[i, j] or K[i, j] < 0.1 * K.max()


def test_values_at_angles_that_are_known():
    x, across, at_60 = [[2.0, 0.0]], [[0.0, 3.0]], [[0.5, np.sqrt(0.75)]]
    values = [[ArcCosine(n)(x, y).item() for y in (x, across, at_60)] for n in (0, 1, 2)]
    root = np.sqrt(3)
    expected = [
        [1, 1 / 2, 2 / 3],
        [4, 6 / np.pi, 2 * (root / (2 * np.pi) + 1 / 3)],
        [3 * 16, 36 / 2, 4 * (3 * root / (4 * np.pi) + 1)],
    ]
    np.testing.assert_allclose(values, expected, rtol=1e-12)


def test_the_gradient_of_steps_is_that_of_the_angle():
    angles = np.array([1e-1, 1e-2, 1e-3])
    X = np.column_stack([np.cos(angles), np.sin(angles)])
    G = ArcCosine(0).gradient(X, np.array([[1.0, 0.0]]))[:, 0]
    # k = 1 - theta / pi has the slope -1 / pi along the circle, whatever the angle
    along = (G * np.column_stack([-np.sin(angles), np.cos(angles)])).sum(axis=1)
    np.testing.assert_allclose(along, -1 / np.pi, rtol=1e-9)
    assert ArcCosine(0).gradient(X[:1]).tolist() == [[[0, 0]]]


def test_numpy_integers_are_orders():
    assert ArcCosine(np.int64(2))([[1.0]]).item() == pytest.approx(3)
