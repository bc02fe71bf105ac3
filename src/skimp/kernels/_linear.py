"""The linear kernel."""

from typing import final

from skimp._core._types import DType, Matrix
from skimp.kernels import Array, InnerProducts, PairKernel, SquaredDistances


@final
class Linear(PairKernel):
    r"""Linear kernel, with which a kernel machine is a linear model.

    .. math:: k(x, y) = \langle x, y \rangle

    An n x m kernel matrix is one matrix product of 2 n m d operations.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.kernels import Linear
    >>> Linear()(np.array([[1.0, 2.0]])).item()
    5.0
    """

    statistic = InnerProducts

    def profile(self, s: Array) -> None:
        """Do nothing: the kernel is the statistic."""

    def slope(self, s: Array) -> None:
        s[...] = 1

    def squared_distances(self, B: Matrix, dtype: DType) -> SquaredDistances:
        """Return Euclidean distances, which do not depend on the origin."""
        return SquaredDistances(B, dtype)
