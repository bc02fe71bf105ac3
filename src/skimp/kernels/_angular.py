"""Kernels of the angle between two rows."""

from abc import ABC, abstractmethod
from typing import final

import numpy as np
from scipy import sparse

from skimp._core._linalg import dense, squared_norms
from skimp._core._objects import as_numbers, as_real
from skimp._core._squared_distances import SquaredDistances
from skimp._core._types import Array, DType, Matrix
from skimp.kernels._base import Kernel
from skimp.kernels._columns import Columns

_RIGHT_ANGLE = 2.0
"""The squared chord of a right angle, used for rows of zeros."""


class Angular(Kernel, ABC):
    r"""Base class of kernels :math:`k(x, y) = \|x\|^p \|y\|^p \, \psi(s)` of the angle of two rows.

    The squared chord :math:`s = 2 - 2 \cos \theta` is the squared distance between the directions
    of x and y, where :math:`\theta` is their angle. It is accurate for small angles, unlike the
    cosine. Angles near :math:`\pi` have an absolute error of up to 2e-4 in float32 and 1e-8 in
    float64. A row of zeros counts as orthogonal to every row.

    A subclass sets `power`, the exponent p, and implements `profile`, the function :math:`\psi`,
    and `slope`, its derivative.
    """

    rotation_invariant = True

    @property
    @abstractmethod
    def power(self) -> int:
        """The exponent p of the norms."""

    @abstractmethod
    def profile(self, s: Array) -> None:
        r"""Replace squared chords s by :math:`\psi(s)`, in place."""

    @abstractmethod
    def slope(self, s: Array) -> None:
        r"""Replace squared chords s by :math:`\psi'(s)`, in place; by 0 if that is infinite."""

    def diagonal(self, X: Matrix) -> Array:
        """Return k(x, x) for each row."""
        _, lengths = _directions(X, np.dtype(np.float64))
        s = np.where(lengths > 0, 0.0, _RIGHT_ANGLE)[:, None]
        self.profile(s)
        return np.asarray(lengths ** (2 * self.power) * s[:, 0])

    def bind(self, B: Matrix, dtype: DType) -> Columns:
        """Return the functions k(., b); see `Kernel.bind`."""
        return _AngularColumns(self, B, dtype)


@final
class _AngularColumns(Columns):
    def __init__(self, kernel: Angular, B: Matrix, dtype: DType):
        self._kernel = kernel
        directions, lengths = _directions(B, dtype)
        self._chords = SquaredDistances(directions, dtype)
        self._zero = np.flatnonzero(lengths == 0)
        self._factors = (lengths**kernel.power).astype(dtype)

    def _fill_chords(self, directions: Matrix, lengths: Array, out: Array) -> None:
        self._chords.fill(directions, out)
        out[lengths == 0] = _RIGHT_ANGLE
        out[:, self._zero] = _RIGHT_ANGLE

    def fill_strip(self, X: Matrix, out: Array) -> None:
        directions, lengths = _directions(X, out.dtype)
        self._fill_chords(directions, lengths, out)
        self._kernel.profile(out)
        if self._kernel.power:
            out *= (lengths**self._kernel.power).astype(out.dtype)[:, None]
            out *= self._factors

    def add_gradient_strip(self, X: Matrix, A: Array, out: Array, by_column: bool = False) -> None:
        """Differentiate norms and directions u, with du/dx = (I - u u^T) / |x|."""
        p = self._kernel.power
        directions, lengths = _directions(X, out.dtype)
        chords = np.empty(A.shape, out.dtype)
        self._fill_chords(directions, lengths, chords)
        values, slopes = chords.copy(), chords.copy()
        self._kernel.profile(values)
        self._kernel.slope(slopes)
        # a row of zeros has no direction: its gradient is set to zero
        outer = np.where(lengths > 0, np.where(lengths > 0, lengths, 1.0) ** (p - 1), 0.0)
        A = A * self._factors * outer.astype(out.dtype)[:, None]
        slopes *= A
        along = p * A * values - slopes * chords
        if by_column:
            out += along.T @ dense(directions, out.dtype)
            self._chords.add_gradient_sums(directions, slopes, out)
        else:
            out += dense(directions, out.dtype) * along.sum(axis=1, keepdims=True)
            self._chords.add_gradient(directions, slopes, out)


def _directions(X: Matrix, dtype: DType) -> tuple[Matrix, Array]:
    """Return the rows divided by their norms, and the norms in float64; zero rows remain zero."""
    double = np.dtype(np.float64)
    X = as_real(as_numbers(X, double), double)
    # divide by the largest entry first, so that squares neither overflow nor underflow
    peaks = abs(X).max(axis=1)
    peaks = (peaks.toarray() if sparse.issparse(X) else peaks).ravel()
    X = _divided(X, peaks)
    norms: Array = np.sqrt(squared_norms(X))
    return _divided(X, norms).astype(dtype), peaks * norms


def _divided(X: Matrix, sizes: Array) -> Matrix:
    """Divide each row by its size; rows of size zero do not change."""
    sizes = np.where(sizes > 0, sizes, 1.0)
    if sparse.issparse(X):
        data = X.data / np.repeat(sizes, np.diff(X.indptr))
        return sparse.csr_matrix((data, X.indices, X.indptr), X.shape)
    quotient: Array = X / sizes[:, None]
    return quotient


def inverse_sines(S: Array) -> Array:
    """Return 1 / (2 sin theta) for squared chords, or 0 if rows are parallel up to rounding."""
    sines = np.sqrt(np.maximum(S * (4 - S), 0))
    apart = sines > 16 * np.finfo(S.dtype).eps
    inverse: Array = np.divide(1, sines, out=np.zeros_like(S), where=apart)
    return inverse
