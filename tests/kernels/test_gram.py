"""Matrices of a user's functions and values are looked at before they are trusted."""

import numpy as np
import pytest

from skimp.kernels import FunctionKernel, Gaussian, Precomputed, check_gram
from tests.reference import naive


def test_an_indefinite_matrix_is_refused():
    kernel = Precomputed(np.array([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(
        ValueError, match="must be positive definite, found a matrix of Precomputed"
    ):
        check_gram(kernel([0, 1]), kernel)
    with pytest.raises(ValueError, match="must be positive definite"):
        check_gram(-np.eye(3), kernel)


def test_an_asymmetric_function_is_refused():
    kernel = FunctionKernel(naive.one_plus_product) + FunctionKernel(lambda x, y: x[0])
    K = kernel(np.arange(4.0)[:, None])
    with pytest.raises(ValueError, match="kernel must be symmetric"):
        check_gram(K, kernel)


@pytest.mark.parametrize("n", [2, 200])
def test_rounding_is_no_sign_of_an_indefinite_matrix(n):
    X = np.random.default_rng(0).random((n, 1))
    K = Gaussian(0.5)(X)
    rounded = K.astype(np.float32).astype(np.float64)
    if n == 200:
        assert np.linalg.eigvalsh(rounded)[0] < 0
    check_gram(rounded, Precomputed(rounded))
    rng = np.random.default_rng(1)
    check_gram(K * (1 + 1e-7 * rng.uniform(-1, 1, K.shape)), Precomputed(K))
    check_gram(np.ones((n, n)), Precomputed(K))


def test_matrices_of_the_librarys_own_kernels_are_trusted():
    check_gram(np.array([[1.0, 2.0], [2.0, 1.0]]), Gaussian(1.0))
