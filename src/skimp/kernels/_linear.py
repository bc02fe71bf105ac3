"""The linear kernel."""

from typing import final

from skimp.kernels import Array, InnerProducts, PairKernel


@final
class Linear(PairKernel):
    r"""Linear kernel, with which a kernel machine is the linear model of its columns.

    .. math:: k(x, y) = \langle x, y \rangle

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.kernels import Linear
    >>> Linear()(np.array([[1.0, 2.0]])).item()
    5.0
    """

    statistic = InnerProducts

    def profile(self, s: Array) -> None:
        """Leave the inner products as they are."""

    def slope(self, s: Array) -> None:
        s[...] = 1
