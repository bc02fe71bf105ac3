"""What the sum and the product of two kernels share."""

from abc import ABC
from typing import Any, ClassVar

import numpy as np

from skimp._core._types import Array, Matrix
from skimp._params._rules import Rule, instance
from skimp.kernels._base import Kernel
from skimp.kernels._columns import Columns
from skimp.kernels._composite import Composite


class Binary(Composite, ABC):
    """A kernel made of two."""

    _rules: ClassVar[dict[str, Rule]] = {
        "k1": instance(Kernel, "a kernel object"),
        "k2": instance(Kernel, "a kernel object"),
    }

    def __init__(self, k1: Kernel, k2: Kernel):
        self.k1 = k1
        self.k2 = k2


class BinaryColumns(Columns, ABC):
    """Columns of two kernels, combined entry by entry."""

    _combine: ClassVar[Any]
    """The ufunc that combines them."""

    def __init__(self, first: Columns, second: Columns):
        self._first = first
        self._second = second

    def fill_strip(self, X: Matrix, out: Array) -> None:
        """Compute both and combine them."""
        self._first.fill_strip(X, out)
        other = np.empty_like(out)
        self._second.fill_strip(X, other)
        self._combine(out, other, out=out)
