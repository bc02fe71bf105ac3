import numpy as np
import pytest

from skimp._core._tridiagonal import Tridiagonal

SHIFTS = np.array([0.01, 1.0, 50.0])


def matrix(n, rank):
    B = np.random.default_rng(n).normal(size=(n, rank))
    return B @ B.T


@pytest.mark.parametrize(("n", "rank"), [(1, 1), (2, 2), (3, 1), (40, 40), (300, 20), (260, 260)])
def test_solutions_and_diagonals_are_those_of_inverses(n, rank):
    A = matrix(n, rank)
    B = np.random.default_rng(1).normal(size=(n, 3))
    found = Tridiagonal(A.copy())
    assert np.isclose(found.values.sum(), A.trace())
    for shift, diagonal in zip(SHIFTS, found.inverse_diagonals(SHIFTS), strict=True):
        inverse = np.linalg.inv(A + shift * np.eye(n))
        bound = 1e-12 * max(1, np.linalg.norm(A, 2)) / shift**2
        assert np.abs(diagonal - inverse.diagonal()).max() < bound
        assert np.abs(found.solve(shift, B) - inverse @ B).max() < bound * np.abs(B).sum()


def test_it_works_in_the_memory_of_the_matrix():
    A = matrix(50, 50)
    assert np.shares_memory(Tridiagonal(A).Q, A)


def test_one_thread_gives_the_same():
    A = matrix(400, 400)
    one, all_threads = Tridiagonal(A.copy(), n_jobs=1), Tridiagonal(A.copy())
    B = np.eye(400)[:, :3]
    assert np.allclose(one.solve(1.0, B), all_threads.solve(1.0, B), rtol=1e-9)
    assert np.allclose(
        one.inverse_diagonals(SHIFTS), all_threads.inverse_diagonals(SHIFTS), rtol=1e-9
    )
