import numpy as np
import pytest

from skimp.solvers._conjugate_gradients import conjugate_gradients


def positive(m, seed=0):
    A = np.random.default_rng(seed).normal(size=(m, 2 * m))
    return A @ A.T / m


def solve(H, B, *, M=None, tol=1e-12, max_iter=100, joint=False, product=None):
    inverse = np.eye(len(B)) if M is None else M
    return conjugate_gradients(
        product or (lambda V, columns: H @ V),
        lambda R, columns: inverse @ R,
        B,
        tol=tol,
        max_iter=max_iter,
        joint=joint,
    )


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("preconditioned", [False, True])
def test_solves_for_every_column(k, preconditioned):
    H, B = positive(12), np.random.default_rng(1).normal(size=(12, k))
    M = np.diag(1 / H.diagonal()) if preconditioned else None
    X, n_products = solve(H, B, M=M)
    np.testing.assert_allclose(X, np.linalg.solve(H, B), atol=1e-9)
    assert 1 <= n_products <= 30


def test_columns_that_are_coupled_are_one_right_side():
    H, B = positive(12), np.random.default_rng(1).normal(size=(4, 3))
    X, _ = solve(
        None, B, joint=True, tol=1e-12, product=lambda V, _: (H @ V.ravel()).reshape(V.shape)
    )
    np.testing.assert_allclose(X.ravel(), np.linalg.solve(H, B.ravel()), atol=1e-9)


def test_a_column_of_zeros_beside_others():
    H, B = positive(12), np.random.default_rng(1).normal(size=(12, 3))
    B[:, 1] = 0
    X, _ = solve(H, B)
    np.testing.assert_allclose(X, np.linalg.solve(H, B), atol=1e-9)
    assert not X[:, 1].any()


def test_it_stops_at_max_iter():
    H, B = positive(30), np.random.default_rng(1).normal(size=(30, 2))
    calls = []

    def product(V, columns):
        calls.append(V)
        return H @ V

    X, n_products = solve(H, B, max_iter=3, product=product)
    assert n_products == len(calls) == 3
    assert 0 < np.abs(H @ X - B).max() < np.abs(B).max()


def test_the_residual_comes_down_to_tol():
    H, B = positive(30), np.random.default_rng(1).normal(size=(30, 2))
    for tol in (0.5, 1e-2, 1e-6):
        X, _ = solve(H, B, tol=tol)
        residual = np.linalg.norm(B - H @ X, axis=0) / np.linalg.norm(B, axis=0)
        assert np.all(residual <= tol * (1 + 1e-9))
