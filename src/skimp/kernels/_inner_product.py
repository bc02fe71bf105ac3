"""What functions of the inner product share, beyond the linear one."""

from abc import ABC
from typing import Any

import numpy as np

from skimp._core._pairs import InnerProducts
from skimp._core._types import Array, Matrix
from skimp.kernels._pair_kernel import PairKernel


class InnerProduct(PairKernel, ABC):
    r"""A kernel :math:`\phi(\gamma \langle x, y \rangle + c)`."""

    _pairs = InnerProducts

    gamma: Any
    coef0: float

    @property
    def rotation_invariant(self) -> bool:
        """True unless columns have factors of their own."""
        return np.ndim(self.gamma) == 0

    def _diag(self, X: Matrix) -> Array:
        """Return the function of the squared lengths of the rows."""
        return self._diag_of_squares(X)
