"""Solves with A + s I for many shifts s, from one tridiagonal factorization of A."""

from contextlib import nullcontext
from functools import cached_property
from typing import final

import numpy as np
from scipy import linalg

from skimp._core._blocks import fold
from skimp._core._lapack import Tick, tridiagonal_reduction, tridiagonal_rotation
from skimp._core._threads import single_threaded_blas, thread_count
from skimp._core._types import Array

_STRIP = 128
_REDUCTION = 0.8
"""Share of the time to compute T; computing Q takes the rest."""


@final
class Tridiagonal:
    r"""Factorization :math:`A = Q T Q^T` with Q orthogonal and T tridiagonal.

    For each shift s, solving with :math:`A + s I` takes :math:`O(n^2)` operations and the diagonal
    of its inverse :math:`3 n^2`. The factorization takes :math:`8 n^3 / 3` operations, less than
    half of an eigendecomposition, and no second n x n array. LAPACK uses all cores, so the last
    digits depend on the number of cores.

    Parameters
    ----------
    A : array of shape (n, n)
        Positive semidefinite matrix; overwritten by Q.
    n_jobs : int or None, default=None
        Number of threads; None uses all available cores.
    tick : callable, optional
        Called repeatedly with the completed share of the work.
    """

    def __init__(self, A: Array, n_jobs: int | None = None, tick: Tick = lambda share: None):
        self._threads = thread_count(n_jobs)
        self.Q = np.ones((1, 1))
        with single_threaded_blas() if self._threads == 1 else nullcontext():
            # A is symmetric, so its transpose is A in column-major order without a copy
            reduced, self._diagonal, self._beside, tau = tridiagonal_reduction(
                A.T, lambda share: tick(_REDUCTION * share)
            )
            if len(A) > 1:
                self.Q = tridiagonal_rotation(
                    reduced, tau, lambda share: tick(_REDUCTION + (1 - _REDUCTION) * share)
                )

    @cached_property
    def values(self) -> Array:
        """The eigenvalues, in O(n^2) operations."""
        return np.asarray(linalg.eigvalsh_tridiagonal(self._diagonal, self._beside))

    def solve_rotated(self, shift: float, B: Array) -> Array:
        r"""Return :math:`(T + s I)^{-1} B`."""
        n = len(self._diagonal)
        bands = np.stack([self._diagonal + shift, np.append(self._beside, 0.0)])[:n]
        return np.asarray(linalg.solveh_banded(bands, B, lower=True, check_finite=False))

    def solve(self, shift: float, B: Array) -> Array:
        r"""Return :math:`(A + s I)^{-1} B`."""
        return np.asarray(self.Q @ self.solve_rotated(shift, self.Q.T @ B))

    def inverse_diagonals(self, shifts: Array) -> Array:
        """Return the diagonal of the inverse of A + s I for each shift, shape (n_shifts, n)."""
        from skimp._core.loops._tridiagonal import add_inverse_diagonals, factor

        n = len(self._diagonal)
        pivots, ratios = np.empty((n, len(shifts))), np.zeros((n, len(shifts)))
        factor(self._diagonal, self._beside, np.asarray(shifts, float), pivots, ratios)
        diagonals = np.zeros((len(shifts), n))

        def fill(start: int, _: object) -> None:
            part = slice(start, start + _STRIP)
            sums = np.zeros((len(shifts), len(self.Q[part])))
            add_inverse_diagonals(np.ascontiguousarray(self.Q[part].T), pivots, ratios, sums)
            diagonals[:, part] = sums

        fold(range(0, n, _STRIP), fill, lambda total, _: total, None, self._threads)
        return diagonals
