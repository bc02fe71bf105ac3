import numpy as np
from scipy import sparse

from skimp.kernels import Cosine, Linear


def pair():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 6)), rng.normal(size=(30, 6))
    X[3], Y[4] = 0, 0
    return X, Y


def test_is_the_linear_kernel_of_rows_of_length_one():
    X, _ = pair()
    X = X[4:]
    U = X / np.linalg.norm(X, axis=1, keepdims=True)
    np.testing.assert_allclose(Cosine()(X), Linear()(U), atol=1e-14)
    assert (Cosine()(X) <= 1).all()


def test_the_gradient_is_the_part_of_a_direction_across_the_row():
    X, Y = (A[5:] for A in pair())
    lengths = np.linalg.norm(X, axis=1)
    U, V = X / lengths[:, None], Y / np.linalg.norm(Y, axis=1, keepdims=True)
    expected = (V[None] - (U @ V.T)[:, :, None] * U[:, None]) / lengths[:, None, None]
    np.testing.assert_allclose(Cosine().gradient(X, Y), expected, atol=1e-13)


def test_directions_do_not_depend_on_lengths_of_any_size():
    X = np.array([[3.0, 4.0], [4.0, -3.0], [1.0, 0.0]])
    sizes = np.array([[1e200], [1e-200], [1e300]])
    expected = Cosine()(X)
    for given in (sizes * X, sparse.csr_matrix(sizes * X)):
        np.testing.assert_allclose(Cosine()(given), expected, atol=1e-15)
