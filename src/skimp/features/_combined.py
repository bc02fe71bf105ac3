"""Linear combinations of features."""

from dataclasses import dataclass
from typing import final

import numpy as np

from skimp._core._types import Array, DType, Matrix
from skimp.data import BlockMap
from skimp.features._strips import strips


@final
@dataclass(frozen=True, eq=False)
class CombinedFeatures:
    """Linear combinations of the features of a map, computed strip by strip."""

    feature_map: BlockMap
    root: Array  # (D, r): coefficients of each combination

    @property
    def width(self) -> int:
        return int(self.root.shape[1])

    @property
    def dtype(self) -> DType:
        return self.root.dtype

    def map_block(self, X: Matrix, out: Array) -> None:
        inner = self.feature_map
        for rows, strip, Z in strips(
            X, out, self.width, 1024, columns=inner.width, dtype=inner.dtype
        ):
            inner.map_block(rows, Z)
            np.matmul(Z.astype(self.dtype, copy=False), self.root, out=strip)
