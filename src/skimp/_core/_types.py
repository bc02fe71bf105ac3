"""Type aliases."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
"""A dense array."""

Matrix: TypeAlias = Any
"""A dense array or a SciPy CSR matrix: rows are samples."""

DType: TypeAlias = np.dtype[Any]
"""float32 or float64: the precision of computations."""

RandomState: TypeAlias = int | np.random.Generator | np.random.RandomState | None

Report: TypeAlias = Callable[[int], None]
"""A callback that receives the number of rows processed so far."""
