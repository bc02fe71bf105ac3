"""Targets, weights and norms of rows for dual coordinate descent."""

from abc import ABC, abstractmethod
from typing import final

import numpy as np

from skimp._core._types import Array, DType
from skimp.data import Block
from skimp.solvers._compiled import as_layout
from skimp.solvers._features import place_of


class RowFacts(ABC):
    r"""Targets Y, the factors :math:`C_i = w_i / (2 \alpha \sum_j w_j)`, and squared norms Q.

    `see` gets each block once, before `settle` gets the sums over all blocks.
    """

    @abstractmethod
    def see(self, block: Block) -> tuple[Array, Array, Array]:
        """Return the targets, weights and squared norms of a block."""

    @abstractmethod
    def settle(self, alpha: float, weight: float, square: float) -> tuple[float, float]:
        """Return the sum of the weights and the mean squared norm, given sums over blocks."""

    @abstractmethod
    def add_to_norms(self, constant: float) -> None:
        """Add the square of the constant feature to all norms."""

    @abstractmethod
    def targets(self, block: Block) -> tuple[Array, Array]:
        """Return Y and C of a block."""

    @abstractmethod
    def norms(self, block: Block) -> Array:
        """Return Q of a block."""


@final
class KeptFacts(RowFacts):
    """Facts of all rows in memory: 8 k + 16 bytes per row."""

    def __init__(self, n: int, k: int, dtype: DType):
        self._Y, self._C, self._Q = np.empty((n, k)), np.empty(n), np.empty(n)
        self._dtype = dtype

    def see(self, block: Block) -> tuple[Array, Array, Array]:
        part = place_of(block)
        self._Y[part], self._C[part] = block.y, block.weights()
        _fill_norms(block, self._dtype, self._Q[part])
        return self._Y[part], self._C[part], self._Q[part]

    def settle(self, alpha: float, weight: float, square: float) -> tuple[float, float]:
        total = float(self._C.sum())
        self._C /= 2 * alpha * total
        return total, float(np.einsum("i,i->", self._C, self._Q) / self._C.sum())

    def add_to_norms(self, constant: float) -> None:
        self._Q += constant

    def targets(self, block: Block) -> tuple[Array, Array]:
        part = place_of(block)
        return self._Y[part], self._C[part]

    def norms(self, block: Block) -> Array:
        return self._Q[place_of(block)]


@final
class BlockFacts(RowFacts):
    """Facts that are computed from each block, and take no memory."""

    def __init__(self, dtype: DType):
        self._dtype, self._scale, self._constant = dtype, 1.0, 0.0

    def see(self, block: Block) -> tuple[Array, Array, Array]:
        return *self.targets(block), self.norms(block)

    def settle(self, alpha: float, weight: float, square: float) -> tuple[float, float]:
        self._scale = 2 * alpha * weight
        return weight, square / weight

    def add_to_norms(self, constant: float) -> None:
        self._constant = constant

    def targets(self, block: Block) -> tuple[Array, Array]:
        return np.ascontiguousarray(block.y, np.float64), block.weights() / self._scale

    def norms(self, block: Block) -> Array:
        Q = np.empty(block.size)
        _fill_norms(block, self._dtype, Q)
        Q += self._constant
        return Q


def _fill_norms(block: Block, dtype: DType, Q: Array) -> None:
    from skimp._core.loops._rows import squared_norms

    squared_norms(as_layout(block.X, dtype), Q)
