"""The polynomial kernel."""

from typing import Any, ClassVar, final

import numpy as np

from skimp._core._linalg import squared_norms
from skimp._core._pairs import InnerProducts
from skimp._core._rules import Rule, integer, number
from skimp._core._types import Array, Matrix
from skimp.kernels._base import Kernel
from skimp.kernels._gamma import GAMMA


@final
class Polynomial(Kernel):
    r"""Polynomial kernel.

    .. math:: k(x, y) = (\gamma \langle x, y \rangle + c)^g

    Parameters
    ----------
    degree : int, default=3
        The degree g.
    gamma : float, "scale", "median" or "dim", default="scale"
        Factor of the inner product; a name is resolved in ``fit`` (see :doc:`/guide`).
    coef0 : float, default=1.0
        The constant c >= 0; zero for the homogeneous kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.kernels import Polynomial
    >>> Polynomial(degree=2, gamma=1.0)(np.array([[1.0, 2.0]])).item()
    36.0
    """

    _pairs = InnerProducts
    _rules: ClassVar[dict[str, Rule]] = {
        "degree": integer(at_least=1),
        "gamma": GAMMA,
        "coef0": number(at_least=0),
    }

    def __init__(self, degree: int = 3, gamma: float | str = "scale", coef0: float = 1.0):
        self.degree = degree
        self.gamma: Any = gamma
        self.coef0 = coef0

    def diag(self, X: Matrix) -> Array:
        """Return the polynomial of the squared lengths of the rows."""
        self.check_resolved()
        K = squared_norms(X, np.dtype(np.float64))[:, None]
        self._profile(K)
        return K[:, 0]

    def _profile(self, S: Array) -> None:
        from skimp._core._pair_loops import shifted_power

        real = S.dtype.type
        shifted_power(S, real(self.gamma), real(self.coef0), self.degree)
