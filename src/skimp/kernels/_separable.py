"""Products over columns of a user-defined convex function."""

from collections.abc import Callable
from typing import Any, ClassVar, Self, final

import numpy as np

from skimp._core._objects import as_numbers
from skimp._core._pairs import ManhattanDistances, private
from skimp._core._types import Array, DType, Matrix
from skimp._params._rules import Rule, broken
from skimp.kernels._base import Kernel
from skimp.kernels._columns import Columns
from skimp.kernels._function import function_name
from skimp.kernels._gamma import GAMMA, Gamma
from skimp.kernels._pitches import Pitches, TentMixture, column_pitches


@final
class Separable(Kernel):
    r"""Product over columns of a user-defined convex function.

    .. math:: k(x, y) = \prod_j \phi(\gamma_j |x_j - y_j|)

    The function :math:`\phi` must be convex, decreasing and nonnegative, with :math:`\phi(0) = 1`.
    It is then a mixture of tents :math:`\max(0, 1 - t / h)`, and therefore positive definite
    (Polya's criterion). `~skimp.features.RandomBinning` approximates this kernel. Convexity is
    checked at 8,192 distances.

    An n x m kernel matrix takes n m d evaluations of the function.

    Parameters
    ----------
    profile : callable
        :math:`\phi`, a function of an array of distances in float64. To use several processes, it
        must be picklable: define it at the top level of a module.
    gamma : float, array of shape (d,), "scale", "median", "dim" or "auto", default="scale"
        Inverse width, for all columns or one per column. Estimators replace a
        string by a number in ``fit`` (see :doc:`/kernels`).

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.kernels import Separable
    >>> def slow_decay(t):
    ...     return 1 / (1 + t)
    >>> Separable(slow_decay, gamma=1.0)(np.array([[0.0, 0.0], [1.0, 3.0]])).tolist()
    [[1.0, 0.125], [0.125, 1.0]]
    """

    rules: ClassVar = {"profile": Rule("a callable", callable), "gamma": GAMMA}
    statistic = ManhattanDistances
    differentiable = False

    def __init__(self, profile: Callable[[Array], Any], gamma: Gamma = "scale"):
        self.profile = profile
        self.gamma = gamma

    def __sklearn_clone__(self) -> Self:
        """Return a kernel that shares the function instead of copying it."""
        return type(self)(**self.get_params(deep=False))

    def _mixture(self) -> TentMixture:
        """Convert the function to a mixture of tents; raise if it is not convex."""
        return TentMixture(
            self.profile, lambda must: broken("Separable", "profile", must, self.profile)
        )

    def diagonal(self, X: Matrix) -> Array:
        self._mixture()
        self.gammas(X.shape[1])
        return np.ones(X.shape[0])

    def bind(self, B: Matrix, dtype: DType) -> Columns:
        self._mixture()
        return _SeparableColumns(self, B)

    def pitches(self, n_features: int) -> Pitches:
        mixture = self._mixture()
        return column_pitches(self.gammas(n_features), mixture.sample, mixture.rate)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return the constructor call with the name of the function."""
        gamma = "" if isinstance(self.gamma, str) and self.gamma == "scale" else f"{self.gamma!r}"
        return f"Separable({function_name(self.profile)}{gamma and f', gamma={gamma}'})"


@final
class _SeparableColumns(Columns):
    def __init__(self, kernel: Separable, B: Matrix):
        self._kernel = kernel
        self._gammas = kernel.gammas(B.shape[1])
        self._Bt = _doubles(B).T.copy()

    def fill_strip(self, X: Matrix, out: Array) -> None:
        K = np.ones(out.shape)
        for x, b, gamma in zip(_doubles(X).T, self._Bt, self._gammas, strict=True):
            if gamma > 0:
                K *= self._kernel.profile(gamma * np.abs(x[:, None] - b))
        out[...] = K


def _doubles(X: Matrix) -> Array:
    double = np.dtype(np.float64)
    return private(as_numbers(X, double), double)
