"""Coordinates in which the penalty of a problem is the squared norm."""

from dataclasses import dataclass

import numpy as np

from skimp._core._linalg import inverse_root
from skimp._core._threads import single_threaded_blas
from skimp._core._types import Array, DType, Matrix
from skimp._core._work import DOUBLE
from skimp._params._memory import require_memory
from skimp.data import Rows
from skimp.solvers._base import Problem
from skimp.solvers._features import as_features

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Coordinates:
    r"""Coefficients v = R c in which the penalty :math:`c^T P c` is :math:`\|v\|^2`.

    Steps of the same length in all directions, as those of stochastic gradients, suit these
    coordinates. The features change with the coefficients: :math:`c^T z = v^T x`.

    Attributes
    ----------
    W : array of shape (width, r), or None
        The inverse of R, c = W v. None if the penalty is the identity.
    penalty : array of shape (width, width), or None
        The matrix P.
    dropped : int
        Number of directions that are left out because their penalty is nearly zero.
    centre : array of shape (r,), or None
        Subtracted from the features x. An intercept that is not penalized makes up for it.
    """

    W: Array | None
    penalty: Array | None
    dropped: int
    centre: Array | None = None

    @classmethod
    def of(cls, problem: Problem) -> "Coordinates":
        """Return the coordinates of a problem."""
        if problem.penalty is None:
            return cls(None, None, 0)
        width = problem.rows.n_features
        what, remedy = f"the penalty of {width} features", "use a smaller budget or fewer features"
        require_memory(40 * width**2, problem.memory_limit, what, remedy)
        # float64 eps even for float32 features: their rounding errors stay small, and a larger
        # cut-off would change the objective by several percent
        W, _ = inverse_root(problem.penalty, rank=None, eps=_EPS)
        return cls(W, problem.penalty, width - W.shape[1])

    def features(self, rows: Rows) -> Rows:
        """Return rows of features x for rows of features z."""
        if self.W is None and self.centre is None:
            return rows
        return rows.mapped(_Affine(self.W, self.centre, rows.n_features, rows.dtype))

    def from_coef(self, coef: Array) -> Array:
        """Return the coordinates v of coefficients c."""
        coef = np.asarray(coef, np.float64)
        if self.W is None:
            return coef
        with single_threaded_blas():
            return np.asarray(self.W.T @ (np.asarray(self.penalty) @ coef))

    def to_coef(self, v: Array) -> Array:
        """Return the coefficients c of coordinates v."""
        if self.W is None:
            return v
        with single_threaded_blas():
            return self.W @ v

    def offset(self, v: Array) -> Array | float:
        """Return what the centre takes from the predictions of each output."""
        return 0.0 if self.centre is None else self.centre @ v

    @property
    def note(self) -> str:
        """Directions that are left out, for the message of a solution."""
        return f", dropped {self.dropped} directions of nearly zero penalty" if self.dropped else ""


@dataclass(frozen=True)
class _Affine:
    """Map of features z to ``z W - centre``, computed in float64."""

    W: Array | None
    centre: Array | None
    n_features: int
    dtype: DType

    @property
    def width(self) -> int:
        return self.n_features if self.W is None else int(self.W.shape[1])

    def map_block(self, X: Matrix, out: Array) -> None:
        product = X if self.W is None else as_features(X, DOUBLE) @ self.W
        np.subtract(product, 0.0 if self.centre is None else self.centre, out=out, casting="unsafe")
