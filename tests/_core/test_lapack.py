import numpy as np
import pytest
from scipy import linalg

from skimp._core import _lapack
from skimp._core._lapack import tridiagonal_reduction, tridiagonal_rotation


def ignore(share):
    pass


@pytest.mark.parametrize("n", [2, 32, 33, 64, 131, 200])
def test_panels_give_the_bits_of_lapack(n):
    X = np.random.default_rng(0).normal(size=(n, n + 3))
    A, lapack = X @ X.T, linalg.lapack
    work = int(lapack.dsytrd_lwork(n, lower=1)[0])
    reduced, *expected, _ = lapack.dsytrd(A, lower=1, lwork=work)
    Q, _ = lapack.dorghr(reduced, expected[2], lo=0, hi=n - 1)
    shares = []
    reflectors, *found = tridiagonal_reduction(A.copy().T, shares.append)
    assert all(map(np.array_equal, found, expected))
    found_Q = tridiagonal_rotation(reflectors, found[2], ignore)
    assert np.allclose(found_Q, Q, rtol=0, atol=1e-14)
    assert shares == sorted(shares)
    assert len(shares) == max(0, -(-n // 32) - 1)


def test_other_signatures_fall_back_to_scipy(monkeypatch):
    monkeypatch.setattr(_lapack, "_ROUTINES", {"dlatrd": "unknown"})
    monkeypatch.setattr(_lapack, "_routines", _lapack._routines.__wrapped__)
    A = np.diag(np.arange(1.0, 41)) + 0.1
    reflectors, diagonal, beside, tau = tridiagonal_reduction(A.copy().T, ignore)
    Q = tridiagonal_rotation(reflectors, tau, ignore)
    T = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
    assert np.allclose(Q @ T @ Q.T, A)
