"""The hyperbolic tangent kernel."""

from typing import ClassVar, final

import numpy as np

from skimp.kernels import GAMMA, Array, Gamma, InnerProducts, PairKernel, number


@final
class Tanh(PairKernel):
    r"""Hyperbolic tangent kernel, also called sigmoid kernel.

    .. math:: k(x, y) = \tanh(\gamma \langle x, y \rangle + c)

    It is **not** positive definite for any parameters. Methods that require a positive definite
    kernel reject it. An n x m kernel matrix takes 2 n m d operations.

    Parameters
    ----------
    gamma : float, array of shape (d,), "scale", "median", "dim" or "auto", default="scale"
        Factor of the inner product, for all columns or one per column. Estimators replace a
        string by a number in ``fit`` (see :doc:`/kernels`).
    coef0 : float, default=0.0
        The constant c.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.kernels import Tanh
    >>> K = Tanh(gamma=1.0)(np.array([[1.0]]), np.array([[0.5]]))
    >>> bool(np.isclose(K.item(), np.tanh(0.5)))
    True
    """

    rules: ClassVar = {"gamma": GAMMA, "coef0": number()}
    statistic = InnerProducts
    positive_definite = False

    def __init__(self, gamma: Gamma = "scale", coef0: float = 0.0):
        self.gamma = gamma
        self.coef0 = coef0

    def profile(self, s: Array) -> None:
        from skimp._core.loops._profiles import shifted_tanh

        shifted_tanh(s, s.dtype.type(self.coef0))

    def slope(self, s: Array) -> None:
        self.profile(s)
        np.multiply(s, -s, out=s)
        s += 1
