"""The polynomial kernel."""

from typing import ClassVar, final

from skimp.kernels import GAMMA, Array, Gamma, InnerProducts, PairKernel, integer, number


@final
class Polynomial(PairKernel):
    r"""Polynomial kernel.

    .. math:: k(x, y) = (\gamma \langle x, y \rangle + c)^g

    An n x m kernel matrix takes (2 d + g) n m operations.

    Parameters
    ----------
    degree : int, default=3
        The degree g.
    gamma : float, array of shape (d,), "scale", "median", "dim" or "auto", default="scale"
        Factor of the inner product, for all columns or one per column. Estimators replace a
        string by a number in ``fit`` (see :doc:`/kernels`).
    coef0 : float, default=1.0
        The constant c >= 0; 0 gives the homogeneous kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.kernels import Polynomial
    >>> Polynomial(degree=2, gamma=1.0)(np.array([[1.0, 2.0]])).item()
    36.0
    """

    rules: ClassVar = {
        "degree": integer(at_least=1),
        "gamma": GAMMA,
        "coef0": number(at_least=0),
    }
    statistic = InnerProducts

    def __init__(self, degree: int = 3, gamma: Gamma = "scale", coef0: float = 1.0):
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    def profile(self, s: Array) -> None:
        self._power(s, self.degree)

    def slope(self, s: Array) -> None:
        if self.degree == 1:
            s[...] = 1
        else:
            self._power(s, self.degree - 1)
            s *= self.degree

    def _power(self, s: Array, degree: int) -> None:
        from skimp._core.loops._profiles import shifted_power

        shifted_power(s, s.dtype.type(self.coef0), degree)
