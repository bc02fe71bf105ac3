"""The linear kernel."""

from typing import ClassVar, final

from skimp._core._pairs import InnerProducts
from skimp._core._types import Array, Matrix
from skimp._params._rules import Rule
from skimp.kernels._pair_kernel import PairKernel


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

    _pairs = InnerProducts
    _rules: ClassVar[dict[str, Rule]] = {}
    rotation_invariant = True

    def _diag(self, X: Matrix) -> Array:
        """Return the squared lengths of the rows."""
        return self._diag_of_squares(X)

    def _profile(self, S: Array) -> None:
        """Leave the inner products as they are."""

    def _slope(self, S: Array) -> None:
        S[...] = 1
