import numpy as np
import pytest
from scipy.linalg import cython_lapack

from skimp._core import _lapack
from skimp._core._lapack import tridiagonal_reduction, tridiagonal_rotation


def check_factorization(A, tick):
    """A is Q T Q^T with Q orthogonal, up to rounding."""
    n = len(A)
    reflectors, diagonal, beside, tau = tridiagonal_reduction(A.copy().T, tick)
    Q = tridiagonal_rotation(reflectors, tau, lambda share: None)
    T = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
    tol = n * np.finfo(float).eps
    assert np.linalg.norm(Q @ T @ Q.T - A, 2) <= tol * np.linalg.norm(A, 2)
    assert np.linalg.norm(Q @ Q.T - np.eye(n), 2) <= tol


@pytest.mark.parametrize("n", [2, 32, 33, 64, 131, 200])
def test_panels_factorize_the_matrix(n):
    X, shares = np.random.default_rng(0).normal(size=(n, n + 3)), []
    check_factorization(X @ X.T, shares.append)
    assert shares == sorted(shares)
    assert len(shares) == max(0, -(-n // 32) - 1)


def other_signature(monkeypatch):
    monkeypatch.setattr(_lapack, "_ROUTINES", {"dlatrd": "unknown"})


def missing_routine(monkeypatch):
    monkeypatch.setattr(_lapack, "_ROUTINES", {"missing": "i"})


def missing_table(monkeypatch):
    monkeypatch.delattr(cython_lapack, "__pyx_capi__")


@pytest.mark.parametrize("change", [other_signature, missing_routine, missing_table])
def test_other_libraries_fall_back_to_scipy(change, monkeypatch):
    change(monkeypatch)
    monkeypatch.setattr(_lapack, "_routines", _lapack._routines.__wrapped__)
    shares = []
    check_factorization(np.diag(np.arange(1.0, 141)) + 0.1, shares.append)
    assert shares == []
