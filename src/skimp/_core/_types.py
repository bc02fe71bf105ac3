"""Type aliases."""

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
