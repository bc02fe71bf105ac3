"""What costs are counted in: sizes of the data, speeds of the machine, and what a map is like."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from skimp._core._blocks import block_rows_for
from skimp._core._types import DType
from skimp.choice._plan import Phase as Phase
from skimp.choice._rates import Rates
from skimp.data import Block, Codes, Rows

DOUBLE = np.dtype(np.float64)
_SINGLE_VALUES = 3.0
"""How much faster functions are in float32 than in float64 (seen: 3 to 5)."""
_SPARSE = 0.03
"""Share of the speed of matrix products that those of sparse rows reach (seen: 0.03)."""
_CALLS_A_PASS, _CALLS_A_STRIP, STRIP = 500, 15, 512
_LOOPED = 2.0
"""Terms of distances without a matrix product for each function value."""


@dataclass(frozen=True)
class Shape:
    """The size of data: rows, columns, dtype, outputs, and the share of entries that are stored."""

    n_rows: int
    n_features: int
    dtype: DType = field(default_factory=lambda: DOUBLE)
    n_outputs: int = 1
    density: float = 1.0


@dataclass(frozen=True)
class Traits:
    """What only the data tell, and a sample of them at little cost.

    Attributes
    ----------
    conditioned : bool
        Whether the kernel matrix of a budget is well conditioned: kernel columns are the features
        then, and whitened ones in float64 else.
    n_bins : float or None
        Bins of a grid of `RandomBinning`; None for a guess.
    """

    conditioned: bool = True
    n_bins: float | None = None


@dataclass(frozen=True)
class Cost:
    """The data and the machine: seconds of the operations that everything is made of."""

    shape: Shape
    rates: Rates
    threads: int
    n_jobs: int | None
    memory_limit: int | str | None
    labelled: bool
    traits: Traits

    @property
    def data_bytes(self) -> float:
        """Return the size of the data; a stored entry has a column number, too."""
        shape = self.shape
        entry = shape.dtype.itemsize + (4 if shape.density < 1 else 0)
        return shape.n_rows * shape.n_features * shape.density * entry

    @property
    def block_rows(self) -> int:
        return min(self.shape.n_rows, block_rows_for(self.shape.n_features, self.shape.dtype))

    def gemm(self, operations: float, dtype: DType) -> float:
        single = dtype.itemsize == 4
        return operations / (self.rates.gemm32 if single else self.rates.gemm64)

    def factor(self, operations: float, dtype: DType = DOUBLE) -> float:
        return operations * dtype.itemsize / 8 / self.rates.factor64

    def values(self, count: float, dtype: DType) -> float:
        return count / self.rates.values / (_SINGLE_VALUES if dtype.itemsize == 4 else 1.0)

    def stream(self, size: float) -> float:
        return size / self.rates.bytes

    def gathers(self, count: float, threads: int) -> float:
        return count / (self.rates.gathers * threads)

    def kernel(self, kernel: Any, n: float, m: float, dtype: DType) -> float:
        """Return the seconds of an n x m kernel block."""
        if _is_looped(kernel):
            return self.values(n * m * (1 + self.shape.n_features / _LOOPED), dtype)
        # distances from products, then the function
        return self.rows_times(n, m, dtype) + self.values(2 * n * m, dtype)

    def rows_times(self, n: float, m: float, dtype: DType) -> float:
        """Return the seconds of a product of n rows with m columns."""
        d, density = self.shape.n_features, self.shape.density
        share = density / _SPARSE if density < 1 else 1.0
        return self.gemm(2 * n * m * d * share, dtype)

    def calls(self, n: float) -> float:
        """Return the seconds that a pass over n rows takes even where there is little to compute.

        Threads are started, and each strip of rows takes some calls.
        """
        return (_CALLS_A_PASS + _CALLS_A_STRIP * n / STRIP) / self.rates.calls


def _is_looped(kernel: Any) -> bool:
    statistic = getattr(kernel, "statistic", None)
    return statistic is not None and bool(statistic.looped)


@dataclass(frozen=True)
class Made:
    """A fitted map: the phases of fitting it, and what it then is like.

    ``mapping`` are the seconds of one pass over all rows, ``held`` the bytes of the map itself, and
    ``scratch`` those of each thread that maps a block, besides the block's features.
    """

    phases: tuple[Phase, ...]
    width: int
    dtype: DType
    mapping: float
    held: float
    scratch: float
    landmarks: bool = False
    groups: int = 0
    n_bins: float = 0.0


@final
class _PlannedRows(Rows):
    """Rows of which nothing but the size is known, to ask solvers what they would do."""

    def read(self, block_rows: int) -> Iterator[Block]:
        """Raise: there are none."""
        raise TypeError("planned rows have no blocks")


def planned_rows(
    cost: Cost, width: int, dtype: DType, groups: int = 0, n_bins: float = 0.0
) -> _PlannedRows:
    rows = _PlannedRows()
    rows._n_rows = cost.shape.n_rows
    rows.n_features, rows.dtype, rows.n_jobs = width, dtype, cost.n_jobs
    rows.block_rows = min(cost.block_rows, block_rows_for(width, dtype))
    if groups:
        rows.block_rows = cost.block_rows
        none = np.empty((0, groups), np.min_scalar_type(int(n_bins)))
        rows.coded = Codes(none, np.zeros(groups, np.int64), dtype.type(1), width, first=1)
    return rows
