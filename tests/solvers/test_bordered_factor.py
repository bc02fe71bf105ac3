import numpy as np
import pytest

from skimp.solvers._preconditioner import BorderedFactor

ALPHA = 0.05


def factor(S, border, corner, dtype=np.float64):
    buffer = np.full(S.shape, np.nan, dtype, order="F")

    def fill():
        buffer[np.tril_indices(len(S))] = S[np.tril_indices(len(S))]
        return border

    return BorderedFactor(buffer, fill, corner, ALPHA), buffer


def rows(n=20, m=5):
    return np.random.default_rng(0).normal(size=(n, m))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_inverts_the_bordered_matrix(dtype):
    Z = rows()
    given, buffer = factor(Z.T @ Z, Z.sum(axis=0), 20.0, dtype)
    A = np.hstack([Z, np.ones((20, 1))])
    H = A.T @ A + 2 * ALPHA * np.diag([1.0] * 5 + [0.0])
    R = np.random.default_rng(1).normal(size=(6, 3)).astype(dtype)
    np.testing.assert_allclose(
        given.solve(R), np.linalg.solve(H, R), atol=1e3 * np.finfo(dtype).eps
    )
    assert np.isnan(buffer[np.triu_indices(5, 1)]).all()


def test_without_an_intercept_its_row_is_zero():
    Z = rows()
    given, _ = factor(Z.T @ Z, Z.sum(axis=0), 0.0)
    R = np.ones((6, 1))
    expected = np.linalg.solve(Z.T @ Z + 2 * ALPHA * np.eye(5), R[:-1])
    np.testing.assert_allclose(given.solve(R)[:-1], expected, rtol=1e-10)
    assert given.solve(R)[-1] == 0


def test_the_diagonal_of_a_shared_buffer_is_put_back():
    Z = rows()
    given, buffer = factor(Z.T @ Z, Z.sum(axis=0), 20.0)
    R = np.ones((6, 1))
    expected = given.solve(R)
    np.fill_diagonal(buffer, 7.0)
    assert np.array_equal(given.solve(R), expected)


def test_what_rounding_left_indefinite_is_shifted():
    given, _ = factor(np.diag([1e3, -0.11]), np.zeros(2), 1.0)
    R = np.ones((3, 1))
    assert np.isfinite(given.solve(R)).all()
    assert np.sum(R * given.solve(R)) > 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_a_diagonal_that_overflowed_is_refused(dtype, value):
    with pytest.raises(ValueError, match="found infinity or NaN"):
        factor(np.diag([1.0, value, 1.0]), np.zeros(3), 1.0, dtype)
