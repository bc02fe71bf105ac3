"""What a computation takes: operations of each kind, and the bytes that it holds.

Letters: n rows of d columns, D features (m points), k outputs. Maps, selectors and solvers count
their own work beside the code that causes it; `skimp.choice` divides it by the speeds of a machine.
"""

from dataclasses import dataclass, field, fields

import numpy as np

from skimp._core._blocks import block_rows_for
from skimp._core._types import DType

DOUBLE = np.dtype(np.float64)
_SINGLE_VALUES = 3.0
"""How much faster functions are in float32 than in float64 (seen: 3 to 5)."""
_SPARSE = 0.03
"""Share of the speed of matrix products that those of sparse rows reach (seen: 0.03)."""
_CALLS_A_PASS, _CALLS_A_STRIP, _STRIP = 500, 15, 512


@dataclass(frozen=True)
class Work:
    """Numbers of operations, by kind; works add up, and are multiplied by numbers.

    Attributes
    ----------
    gemm32, gemm64 : float
        Multiplications and additions of matrix products, by precision.
    factor64 : float
        Those of factorizations in float64; half as many in float32.
    values : float
        Values of exp in float64; a third as many in float32.
    bytes : float
        Bytes that are read from or written to memory.
    gathers : float
        Coefficients that codes look up, by one thread.
    sweeps : float
        Entries of rows that dual coordinate descent passes over, by one thread.
    calls : float
        Calls of functions from Python.
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
        """Return the work of both."""
        return Work(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def __mul__(self, times: float) -> "Work":
        """Return the work of doing this several times."""
        return Work(*(times * getattr(self, f.name) for f in fields(self)))

    __rmul__ = __mul__


@dataclass(frozen=True)
class Size:
    """Sizes of the data and of what may be used, and what a sample of the rows says about them.

    Attributes
    ----------
    n_rows, n_features : int
        Rows and columns.
    dtype : dtype
        What the rows are computed in.
    n_outputs : int
        Outputs k.
    density : float
        Share of the entries that are stored.
    classes : bool
        Whether y are classes.
    threads : int
        Threads.
    memory : int
        Bytes that may be used.
    conditioned : bool
        Whether the kernel matrix of a budget is well conditioned: kernel columns are the features
        then, otherwise whitened ones in float64.
    n_bins : float or None
        Bins of a grid of `RandomBinning`; None for a guess.
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
        """The size of the data; a stored entry of sparse rows has a column number, too."""
        entry = self.dtype.itemsize + (4 if self.density < 1 else 0)
        return self.n_rows * self.n_features * self.density * entry

    @property
    def block_rows(self) -> int:
        """Rows in a block."""
        return min(self.n_rows, block_rows_for(self.n_features, self.dtype))

    def rows_times(self, n: float, m: float, dtype: DType) -> Work:
        """Return the work of a product of n rows with m columns."""
        share = self.density / _SPARSE if self.density < 1 else 1.0
        return gemm(2 * n * m * self.n_features * share, dtype)


@dataclass(frozen=True)
class Stage:
    """A part of a fit: its name, its work, and the most bytes that it holds besides the data."""

    name: str
    work: Work
    bytes: float


@dataclass(frozen=True)
class MapCost:
    """What fitting a map takes, and what the fitted map is like.

    Attributes
    ----------
    stages : tuple of Stage
        The stages of fitting it.
    width : int
        Number of features.
    dtype : dtype
        What they are computed in.
    mapping : Work
        One pass over all rows.
    held : float
        Bytes of the map itself.
    scratch : float
        Bytes of each thread that maps a block, besides the block's features.
    landmarks : bool
        Whether features are kernel columns, with a penalty matrix.
    groups : int
        Columns of codes, 0 if features are numbers.
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
    """Return the work of matrix products."""
    return Work(gemm32=operations) if dtype.itemsize == 4 else Work(gemm64=operations)


def factor(operations: float, dtype: DType = DOUBLE) -> Work:
    """Return the work of a factorization."""
    return Work(factor64=operations * dtype.itemsize / 8)


def values(count: float, dtype: DType) -> Work:
    """Return the work of function values."""
    return Work(values=count / (_SINGLE_VALUES if dtype.itemsize == 4 else 1.0))


def stream(size: float) -> Work:
    """Return the work of reading or writing bytes."""
    return Work(bytes=size)


def gathers(count: float, threads: int) -> Work:
    """Return the work of looking up coefficients of codes, shared by some threads."""
    return Work(gathers=count / threads)


def calls(n: float) -> Work:
    """Return the work of a pass over n rows even if there is little to compute.

    Threads are started, and each strip of rows takes some calls.
    """
    return Work(calls=_CALLS_A_PASS + _CALLS_A_STRIP * n / _STRIP)
