"""Cholesky factors with a border, for an intercept that no penalty holds."""

from collections.abc import Callable
from typing import final

import numpy as np
from scipy import linalg

from skimp._core._linalg import check_representable, triangular_solve
from skimp._core._types import Array


@final
class BorderedFactor:
    r"""The factor of :math:`S + 2 \alpha I`, bordered by a column for the intercept.

    Parameters
    ----------
    buffer : array of shape (m, m), column-major
        Holds the factor below its diagonal; what is above is not touched.
    fill : callable
        Writes S into the lower triangle of the buffer, and returns the border, of shape (m,).
    corner : float
        The entry of the intercept itself; zero where there is none.
    alpha : float
        Strength of the penalty.
    """

    def __init__(self, buffer: Array, fill: Callable[[], Array], corner: float, alpha: float):
        (potrf,) = linalg.get_lapack_funcs(("potrf",), (buffer,))
        self._buffer = buffer
        diagonal = np.einsum("ii->i", buffer)
        shift = 0.0
        while True:
            border = fill()
            check_representable(diagonal)
            diagonal += 2 * alpha + shift * diagonal.max()
            _, info = potrf(buffer, lower=1, clean=0, overwrite_a=1)
            if info == 0:
                break
            # where rounding leaves an S that is not positive, a shifted one preconditions as well
            shift = max(10 * shift, float(np.finfo(buffer.dtype).eps))
        self._diagonal = diagonal.copy()
        self._border = self._lower(border[:, None].astype(buffer.dtype))
        rest = corner - float(np.sum(self._border**2, dtype=np.float64))
        self._corner = max(rest, _LEAST * corner)

    def solve(self, R: Array) -> Array:
        """Return the inverse times R, of shape (m + 1, k); the last row is the intercept's."""
        X = np.zeros_like(R)
        forth = self._lower(R[:-1])
        if self._corner > 0:
            X[-1] = (R[-1] - self._border[:, 0] @ forth) / self._corner
            forth -= self._border * X[-1]
        X[:-1] = self._lower(forth, transposed=True)
        return X

    def _lower(self, B: Array, *, transposed: bool = False) -> Array:
        # the diagonal of a shared buffer is that of whoever used it last
        np.einsum("ii->i", self._buffer)[:] = self._diagonal
        return triangular_solve(self._buffer, B, lower=True, transposed=transposed)


_LEAST = 1e-3
"""Least share of the corner that is left when the border is eliminated; rounding may leave none."""
