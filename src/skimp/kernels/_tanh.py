"""The hyperbolic tangent kernel."""

from typing import ClassVar, final

import numpy as np

from skimp.kernels import GAMMA, Array, Gamma, InnerProducts, PairKernel, number


@final
class Tanh(PairKernel):
    r"""Hyperbolic tangent kernel, also called sigmoid.

    .. math:: k(x, y) = \tanh(\gamma \langle x, y \rangle + c)

    It is **not** positive definite, whatever its parameters: methods that need a kernel to be so
    refuse it.

    Parameters
    ----------
    gamma : float, array of shape (d,), "scale", "median" or "dim", default="scale"
        Factor of the inner product, for all columns or for each; a name is resolved in ``fit``
        (see :doc:`/kernels`).
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
