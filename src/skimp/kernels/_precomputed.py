"""Kernels given as a matrix of values."""

from typing import Any, ClassVar, Self, final

import numpy as np
from scipy import sparse

from skimp._core._objects import as_numbers
from skimp._core._types import Array, DType, Matrix
from skimp._params._rules import BOOLEAN, Rule
from skimp.kernels._base import Kernel
from skimp.kernels._columns import Columns


def _is_matrix(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype.kind in "biuf"


@final
class Precomputed(Kernel):
    r"""Kernel given as a precomputed matrix; rows are indices into the matrix.

    .. math:: k(i, j) = K_{ij}

    Pass row numbers as X to ``fit`` and ``predict``: ``np.arange(n)``, or any part of it in any
    order. Landmarks and cross-validation splits are then chosen from the row numbers.

    The matrix is never copied or read as a whole, so it can be a memory map. It needs columns for
    the landmarks only: with ``Fixed`` landmarks of row numbers below m, a matrix of shape (n, m)
    suffices.

    Parameters
    ----------
    matrix : array of shape (n, n) or (n, m)
        The kernel matrix.
    positive_definite : bool, default=True
        Whether the matrix is positive semidefinite.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.kernels import Precomputed
    >>> kernel = Precomputed(np.array([[2.0, 1.0], [1.0, 3.0]]))
    >>> kernel([1, 0], [0]).tolist()
    [[1.0], [2.0]]
    """

    rules: ClassVar = {
        "matrix": Rule("a numeric two-dimensional NumPy array", _is_matrix),
        "positive_definite": BOOLEAN,
    }
    takes_objects = True
    differentiable = False

    def __init__(self, matrix: Array, *, positive_definite: bool = True):
        self.matrix = matrix
        self.positive_definite = positive_definite

    def __sklearn_clone__(self) -> Self:
        """Return a kernel that shares the matrix instead of copying it."""
        return type(self)(self.matrix, positive_definite=self.positive_definite)

    @property
    def has_diagonal(self) -> bool:  # type: ignore[override]
        """Whether the matrix has a column for each of its rows."""
        return bool(self.matrix.shape[0] <= self.matrix.shape[1])

    def diagonal(self, X: Matrix) -> Array:
        rows = self._numbers(X, min(self.matrix.shape))
        return self.matrix[rows, rows].astype(np.float64)

    def bind(self, B: Matrix, dtype: DType) -> Columns:
        return _PrecomputedColumns(self, self._numbers(B, self.matrix.shape[1]))

    def _numbers(self, X: Matrix, size: int) -> Array:
        """Return the rows as integer indices; raise if one is not an integer below ``size``."""
        if X.shape[1] != 1:
            raise ValueError(
                f"Precomputed: X must have one column of row numbers, found {X.shape[1]} columns."
            )
        X = as_numbers(X.toarray() if sparse.issparse(X) else X, np.dtype(np.float64))
        given = X[:, 0]
        if not ((given >= 0) & (given < size) & (given % 1 == 0)).all():
            raise ValueError(
                f"Precomputed: X must hold integers from 0 to {size - 1}, indices into the "
                f"matrix of shape {self.matrix.shape}, found {given.min():g} to {given.max():g}."
            )
        numbers: Array = given.astype(np.int64)
        return numbers

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return the constructor call with the shape of the matrix."""
        claim = "" if self.positive_definite else ", positive_definite=False"
        return f"Precomputed(<array of shape {np.shape(self.matrix)}>{claim})"


@final
class _PrecomputedColumns(Columns):
    def __init__(self, kernel: Precomputed, numbers: Array):
        self._kernel = kernel
        self._columns = numbers

    def fill_strip(self, X: Matrix, out: Array) -> None:
        rows = self._kernel._numbers(X, self._kernel.matrix.shape[0])
        out[...] = self._kernel.matrix[np.ix_(rows, self._columns)]
        if not np.isfinite(out).all():
            raise ValueError("Precomputed: matrix must be finite, found infinity or NaN.")
