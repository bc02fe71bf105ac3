"""What kernels of the form exp(-distance) share."""

from abc import ABC
from typing import Any, ClassVar

import numpy as np

from skimp._core._types import Array, Matrix
from skimp._params._rules import Rule
from skimp.kernels._gamma import GAMMA
from skimp.kernels._pair_kernel import PairKernel


class Exponential(PairKernel, ABC):
    r"""A kernel :math:`\exp(-s(x, y))` of a distance s, which is zero where x = y."""

    _rules: ClassVar[dict[str, Rule]] = {"gamma": GAMMA}

    gamma: Any

    def _diag(self, X: Matrix) -> Array:
        """Return ones."""
        return np.ones(X.shape[0])

    def _profile(self, S: Array) -> None:
        from skimp._core.loops._profiles import negative_exp

        negative_exp(S)

    def _slope(self, S: Array) -> None:
        self._profile(S)
        np.negative(S, out=S)
