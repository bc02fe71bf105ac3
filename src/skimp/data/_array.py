"""Rows of an array, a CSR matrix or a memory-mapped array."""

import copy
from collections.abc import Iterator
from typing import Self, final

import numpy as np
from scipy import sparse

from skimp._core._blocks import block_rows_for
from skimp._core._linalg import as_compute_dtype
from skimp._core._types import Array, Matrix
from skimp.data._block import Block
from skimp.data._codes import Codes
from skimp.data._context import LOCAL, Context
from skimp.data._rows import Rows
from skimp.data._sample import Sample, sample_rows

_KEYED = 2**18
"""Least number of rows whose keys are computed at once."""


@final
class ArrayRows(Rows):
    """Rows of an array or CSR matrix; blocks are views, and X is never copied as a whole.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        The rows, of any numeric dtype.
    y : array of shape (n,) or (n, k), optional
        Targets.
    weight : array of shape (n,), optional
        Weights.
    block_rows : int, optional
        Number of rows in a block; by default a power of two from 256 to 2,048, for blocks of at
        most about 16 MB.
    feature_names : list of str, optional
        Names of the columns.
    """

    def __init__(
        self,
        X: Matrix,
        y: Array | None = None,
        weight: Array | None = None,
        *,
        block_rows: int | None = None,
        feature_names: list[str] | None = None,
    ):
        self._whole = Block(X, y, weight, 0)
        self.n_features = X.shape[1]
        self.dtype = as_compute_dtype(X.dtype)
        self._n_rows = X.shape[0]
        self.checked = True
        self.feature_names = feature_names
        self.coded = X[:0] if isinstance(X, Codes) else None
        self.entries = X.nnz / max(1, X.shape[0]) if sparse.issparse(X) else None
        self.block_rows = block_rows or block_rows_for(self.n_features, self.dtype)

    def sample(self, size: int, seed: int, context: Context = LOCAL) -> Sample:
        """Draw from large blocks, to join few parts."""
        large = self.reblocked(max(_KEYED, 8 * size))
        return sample_rows(large, size, seed, context)

    def take(self, numbers: Array, context: Context = LOCAL) -> Block:
        """Return rows by number, without reading the others."""
        return self._whole[numbers]

    @property
    def in_memory(self) -> bool:
        return True

    @property
    def stored(self) -> bool:
        return True

    def targets(self, context: Context = LOCAL) -> Array | None:
        return self._whole.y

    def weights(self, context: Context = LOCAL) -> Array | None:
        return self._whole.weight

    def count_weighted(self, context: Context = LOCAL) -> int:
        weight = self._whole.weight
        return self.n_rows if weight is None else int(np.count_nonzero(weight))

    @property
    def seekable(self) -> bool:
        return True

    def shuffled(self, seed: list[int]) -> Self:
        other = copy.copy(self)
        other._order = seed
        return other

    def read(self, block_rows: int) -> Iterator[Block]:
        for start in self.starts(block_rows):
            yield self._whole[start : start + block_rows]
