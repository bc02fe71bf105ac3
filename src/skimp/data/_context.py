"""How work runs over rows: on how many threads, and who hears how far it has come."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from skimp._core._blocks import Scratch, fold
from skimp._core._threads import thread_count
from skimp._core._types import Array, DType
from skimp.data._block import Block
from skimp.data._progress import Phase, Progress

if TYPE_CHECKING:
    from skimp.data._rows import Rows

P = TypeVar("P")
T = TypeVar("T")
_SILENT = Progress()


@dataclass(frozen=True)
class Context:
    """How to run over rows, passed beside them.

    Attributes
    ----------
    n_jobs : int or None
        Threads; None for all cores that the process may use.
    progress : Progress
        Hears of phases and of the rows that are done; silent by default.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.data import Context, open_rows
    >>> rows = open_rows(np.ones((1000, 3)), block_rows=300)
    >>> Context(n_jobs=2).map_reduce(rows, lambda block, _: block.X.sum(), lambda a, b: a + b, 0.0)
    np.float64(3000.0)
    """

    n_jobs: int | None = None
    progress: Progress = _SILENT

    @property
    def threads(self) -> int:
        """Number of threads."""
        return thread_count(self.n_jobs)

    @property
    def quiet(self) -> "Context":
        """The same context, silent."""
        return replace(self, progress=_SILENT)

    def phase(self, name: str, **about: Any) -> AbstractContextManager[Phase]:
        """Open a phase of the progress for the duration of a block; see `Phase`."""
        return self.progress.phase(name, **about)

    def map_reduce(
        self,
        rows: "Rows",
        fn: Callable[[Block, Scratch], P],
        combine: Callable[[T, P], T],
        initial: T,
    ) -> T:
        """Fold ``combine(total, fn(block, scratch))`` over the blocks of rows, in order.

        Blocks are handled concurrently, combined in order: the result has the same bits for any
        number of threads. What ``fn`` returns may live in the buffers of ``scratch``.
        """
        count, known, progress = 0, rows.known_n_rows, self.progress

        def run(block: Block, scratch: Scratch) -> tuple[int, P]:
            return block.start + block.size, fn(rows.finish(block, scratch), scratch)

        def add(total: T, part: tuple[int, P]) -> T:
            nonlocal count
            count = part[0]
            total = combine(total, part[1])
            progress.see_rows(count, known)
            return total

        total = fold(rows.read(rows.block_rows), run, add, initial, self.threads)
        if known is None:
            rows.remember_n_rows(count)
        return total

    def compute(
        self,
        rows: "Rows",
        fn: Callable[[Block, Scratch], Array],
        shape: tuple[int, ...],
        dtype: Any,
    ) -> Array:
        """Return what ``fn`` computes of each row, an array of this shape, for all rows."""
        values = np.empty((rows.n_rows, *shape), dtype)

        def fill(block: Block, scratch: Scratch) -> int:
            values[block.start : block.start + block.size] = fn(block, scratch)
            return block.size

        count = self.map_reduce(rows, fill, lambda a, b: a + b, 0)
        if count != len(values):
            raise ValueError(f"rows must stay as they are, found {count} after {len(values)}.")
        return values

    def bind(self, rows: "Rows") -> "BoundRows":
        """Return what ``gamma="median"`` and the like may ask of rows, run by this context."""
        return BoundRows(rows.n_features, rows.dtype, rows.feature_names, rows, self)


@dataclass(frozen=True)
class BoundRows:
    """Statistics of rows, for parts that know nothing of sources and contexts."""

    n_features: int
    dtype: DType
    feature_names: list[str] | None
    rows: "Rows"
    context: Context

    def variance(self, columns: Array | None = None) -> float:
        """Return the weighted variance of all entries, or of those in some columns."""
        return self.rows.variance(columns, self.context)

    def sample(self, size: int, seed: int) -> Any:
        """Return rows drawn uniformly, with their weights."""
        return self.rows.sample(size, seed, self.context)


LOCAL = Context()
"""All cores of this machine, silently."""
