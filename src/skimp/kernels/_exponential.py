"""What kernels of the form exp(-gamma distance) share."""

from abc import ABC
from typing import Any, ClassVar

import numpy as np

from skimp._core._rules import Rule
from skimp._core._types import Array, Matrix
from skimp.kernels._base import Kernel
from skimp.kernels._gamma import GAMMA


class Exponential(Kernel, ABC):
    r"""A kernel :math:`\exp(-\gamma \, s(x, y))` of a distance s, which is zero where x = y."""

    _rules: ClassVar[dict[str, Rule]] = {"gamma": GAMMA}

    gamma: Any

    def diag(self, X: Matrix) -> Array:
        """Return ones."""
        return np.ones(X.shape[0])

    def _profile(self, S: Array) -> None:
        from skimp._core._pair_loops import scaled_exp

        scaled_exp(S, S.dtype.type(-self.gamma))
