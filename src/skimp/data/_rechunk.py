"""Cut a stream of chunks of any size into blocks of one size."""

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

import numpy as np
from scipy import sparse

from skimp._core._types import Matrix


class _Sliceable(Protocol):
    @property
    def size(self) -> int: ...

    def __getitem__(self, part: slice) -> Any: ...


C = TypeVar("C", bound=_Sliceable)


def rechunk(chunks: Iterator[C], size: int, join: Callable[[list[C]], C]) -> Iterator[C]:
    """Yield blocks of exactly ``size`` rows, the last one shorter, none of them empty.

    A chunk that is a block already passes through as it is, without a copy.
    """
    waiting: list[C] = []
    count = 0
    for chunk in chunks:
        used = 0
        while used < chunk.size:
            take = min(size - count, chunk.size - used)
            waiting.append(chunk if take == chunk.size else chunk[used : used + take])
            used += take
            count += take
            if count == size:
                yield waiting[0] if len(waiting) == 1 else join(waiting)
                waiting, count = [], 0
    if waiting:
        yield waiting[0] if len(waiting) == 1 else join(waiting)


def concatenate_rows(parts: list[Matrix]) -> Matrix:
    """Stack rows, sparse if any of the parts is; what is neither knows how to ``stack`` itself."""
    if hasattr(parts[0], "stack"):
        return parts[0].stack(parts)
    if any(sparse.issparse(part) for part in parts):
        return sparse.vstack([sparse.csr_matrix(part) for part in parts], format="csr")
    return np.concatenate(parts)
