"""Operation counts and memory of computations.

Letters: n rows of d columns, D features (m landmarks), k outputs. Feature maps, selectors and
solvers count their own operations; `skimp.choice` divides them by the speeds of the machine.
"""

from dataclasses import dataclass, field, fields

import numpy as np

from skimp._core._blocks import block_rows_for
from skimp._core._types import DType

DOUBLE = np.dtype(np.float64)
_SINGLE_VALUES = 3.0
"""Speed of exp and the like in float32, relative to float64 (measured: 3 to 5)."""
_SPARSE = 0.03
"""Speed of sparse matrix products, relative to dense ones (measured: 0.03)."""
_CALLS_A_PASS, _CALLS_A_STRIP, _STRIP = 500, 15, 512


@dataclass(frozen=True)
class Work:
    """Operation counts by kind, which support ``+`` and multiplication by a number.

    Attributes
    ----------
    gemm32, gemm64 : float
        Floating-point operations of matrix products in float32 and float64.
    factor64 : float
        Floating-point operations of factorizations in float64; one in float32 counts half.
    values : float
        Evaluations of exp in float64; one in float32 counts a third.
    bytes : float
        Bytes read from or written to memory.
    gathers : float
        Coefficients looked up by codes, per thread.
    sweeps : float
        Matrix entries visited by dual coordinate descent, on one thread.
    calls : float
        Function calls from Python.
    """

    gemm32: float = 0.0
    gemm64: float = 0.0
    factor64: float = 0.0
    values: float = 0.0
    bytes: float = 0.0
    gathers: float = 0.0
    sweeps: float = 0.0
    calls: float = 0.0

    def __add__(self, other: "Work") -> "Work":
        return Work(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def __mul__(self, times: float) -> "Work":
        return Work(*(times * getattr(self, f.name) for f in fields(self)))

    __rmul__ = __mul__


@dataclass(frozen=True)
class Size:
    """Size of the data, the resources of a fit, and estimates from a sample of the rows.

    Attributes
    ----------
    n_rows, n_features : int
        Number of rows and columns.
    dtype : dtype
        Precision of the computation.
    n_outputs : int
        Number of outputs k.
    density : float
        Share of stored entries; 1 for dense rows.
    classes : bool
        Whether y holds class labels.
    threads : int
        Number of threads.
    memory : int
        Memory limit in bytes.
    conditioned : bool
        Whether the kernel matrix of the landmarks is well conditioned. If so, kernel columns are
        the features; otherwise features are whitened in float64.
    n_bins : float or None
        Number of bins in a grid of `RandomBinning`; None to use a rough guess.
    """

    n_rows: int
    n_features: int
    dtype: DType = field(default_factory=lambda: DOUBLE)
    n_outputs: int = 1
    density: float = 1.0
    classes: bool = False
    threads: int = 1
    memory: int = 2**62
    conditioned: bool = True
    n_bins: float | None = None

    @property
    def data_bytes(self) -> float:
        """Bytes of the data; each stored entry of sparse rows takes 4 more for its column."""
        entry = self.dtype.itemsize + (4 if self.density < 1 else 0)
        return self.n_rows * self.n_features * self.density * entry

    @property
    def block_rows(self) -> int:
        """Number of rows in a block."""
        return min(self.n_rows, block_rows_for(self.n_features, self.dtype))

    def rows_times(self, n: float, m: float, dtype: DType) -> Work:
        """Return the work of multiplying n rows by a matrix with m columns."""
        share = self.density / _SPARSE if self.density < 1 else 1.0
        return gemm(2 * n * m * self.n_features * share, dtype)


@dataclass(frozen=True)
class Stage:
    """A phase of a fit: its name, its work, and its peak memory in bytes without the data."""

    name: str
    work: Work
    bytes: float


@dataclass(frozen=True)
class MapCost:
    """Predicted cost of a feature map.

    Attributes
    ----------
    stages : tuple of Stage
        The stages of fitting the map.
    width : int
        Number of features.
    dtype : dtype
        Precision of the features.
    mapping : Work
        Work of mapping all rows once.
    held : float
        Bytes of the fitted map.
    scratch : float
        Bytes that each thread needs to map a block, without the features of the block.
    landmarks : bool
        Whether features are kernel columns, with a penalty matrix.
    groups : int
        Number of code columns; 0 if features are numbers.
    n_bins : float
        The largest code.
    """

    stages: tuple[Stage, ...]
    width: int
    dtype: DType
    mapping: Work
    held: float
    scratch: float
    landmarks: bool = False
    groups: int = 0
    n_bins: float = 0.0


def gemm(operations: float, dtype: DType) -> Work:
    """Return the work of matrix products with this many operations."""
    return Work(gemm32=operations) if dtype.itemsize == 4 else Work(gemm64=operations)


def factor(operations: float, dtype: DType = DOUBLE) -> Work:
    """Return the work of a factorization with this many operations."""
    return Work(factor64=operations * dtype.itemsize / 8)


def values(count: float, dtype: DType) -> Work:
    """Return the work of evaluating exp, or a function as costly, this many times."""
    return Work(values=count / (_SINGLE_VALUES if dtype.itemsize == 4 else 1.0))


def stream(size: float) -> Work:
    """Return the work of reading or writing bytes."""
    return Work(bytes=size)


def gathers(count: float, threads: int) -> Work:
    """Return the work of looking up coefficients by code, divided among threads."""
    return Work(gathers=count / threads)


def calls(n: float) -> Work:
    """Return the fixed cost of a pass over n rows: starting threads, and calls for each strip."""
    return Work(calls=_CALLS_A_PASS + _CALLS_A_STRIP * n / _STRIP)
