import numpy as np

from skimp._core.loops._tridiagonal import add_inverse_diagonals, factor

DIAGONAL, BESIDE = np.array([3.0, 4.0, 5.0, 6.0]), np.array([1.0, -1.0, 0.5])
SHIFTS = np.array([0.5, 2.0])


def factored():
    pivots, ratios = np.empty((4, 2)), np.zeros((4, 2))
    factor(DIAGONAL, BESIDE, SHIFTS, pivots, ratios)
    return pivots, ratios


def shifted(shift):
    return np.diag(DIAGONAL + shift) + np.diag(BESIDE, 1) + np.diag(BESIDE, -1)


def test_factors_multiply_to_the_matrix():
    pivots, ratios = factored()
    for a, shift in enumerate(SHIFTS):
        L = np.eye(4) + np.diag(ratios[1:, a], -1)
        assert np.allclose(L @ np.diag(pivots[:, a]) @ L.T, shifted(shift), rtol=1e-14)


def test_diagonals_are_those_of_the_inverse():
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    out = np.ones((2, 3))
    add_inverse_diagonals(np.ascontiguousarray(Q[:3].T), *factored(), out)
    for a, shift in enumerate(SHIFTS):
        inverse = Q @ np.linalg.inv(shifted(shift)) @ Q.T
        assert np.allclose(out[a] - 1, inverse.diagonal()[:3], rtol=1e-13)
