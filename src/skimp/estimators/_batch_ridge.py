"""Ridge regression on the features of a batch, by the smaller of its two Gram matrices."""

from typing import final

import numpy as np

from skimp._core._blocks import Scratch, fold
from skimp._core._linalg import solve_positive
from skimp._core._types import Array

_STRIP = 1024
"""Number of rows whose products are computed at a time."""


@final
class BatchRidge:
    r"""Regressions :math:`\min_A \text{mean}_i \, w_i |r_i - A^T z_i|^2 + \rho \, \|A\|^2`.

    Takes O(b D min(b, D)) time for b rows of D features.

    Parameters
    ----------
    Z : array of shape (b, D)
        The features.
    weight : array of shape (b,)
        Weights of the rows.
    threads : int
        Number of threads; sums do not depend on it.
    """

    def __init__(self, Z: Array, weight: Array, threads: int):
        self._root, self._threads = np.sqrt(weight)[:, None], threads
        self._Z = Z = Z * self._root.astype(Z.dtype)
        self._by_rows = Z.shape[1] > Z.shape[0]
        # the matrix of the features' or of the rows' products, the smaller one
        self._A = Z @ Z.T if self._by_rows else crossed(Z, Z, threads)
        self._A = self._A.astype(np.float64) / len(Z)

    def solve(self, R: Array, ridges: Array) -> Array:
        """Return the coefficients for targets R, of shape (D, k); each output has its penalty."""
        R = self._root * R
        sides = R / len(R) if self._by_rows else crossed(self._Z, R, self._threads) / len(R)
        solved = np.empty_like(sides)
        for ridge in np.unique(ridges):
            outputs = ridges == ridge
            shifted = self._A + ridge * np.eye(len(self._A))
            solved[:, outputs] = solve_positive(shifted, sides[:, outputs])[0]
        return crossed(self._Z, solved, self._threads) if self._by_rows else solved


def crossed(Z: Array, U: Array, threads: int) -> Array:
    """Return Z^T U in float64, from products of strips of rows in the data type of Z."""

    def strip(start: int, _: Scratch) -> Array:
        rows = slice(start, start + _STRIP)
        product: Array = Z[rows].T @ U[rows].astype(Z.dtype, copy=False)
        return product

    def add(total: Array, part: Array) -> Array:
        total += part
        return total

    total = np.zeros((Z.shape[1], U.shape[1]))
    return fold(range(0, len(Z), _STRIP), strip, add, total, threads)
