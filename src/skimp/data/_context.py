"""The context of a computation over rows: its threads and its progress reports."""

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
from skimp.data._resumable import Loop

if TYPE_CHECKING:
    from skimp.data._rows import Rows

P = TypeVar("P")
T = TypeVar("T")
_SILENT = Progress()


@dataclass(frozen=True)
class Context:
    """How to run computations over rows: the number of threads and the progress report.

    Attributes
    ----------
    n_jobs : int or None
        Number of threads; None uses all available cores.
    progress : Progress
        Receives the phases and the number of processed rows; silent by default.

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
        """The same context without progress reports."""
        return replace(self, progress=_SILENT)

    def phase(self, name: str, **about: Any) -> AbstractContextManager[Phase]:
        """Open a phase of the progress report for a ``with`` block; see `Phase`."""
        return self.progress.phase(name, **about)

    def resumable(self, name: str) -> Loop:
        """Return the loop of a solver, which may continue from an earlier state; see `Loop`."""
        return Loop()

    def map_reduce(
        self,
        rows: "Rows",
        fn: Callable[[Block, Scratch], P],
        combine: Callable[[T, P], T],
        initial: T,
    ) -> T:
        """Compute ``total = combine(total, fn(block, scratch))`` over the blocks, in order.

        Blocks are processed concurrently and combined in order, so the result is bit-equal for any
        number of threads. ``fn`` may return views of the buffers of ``scratch``.
        """
        count, known, progress = 0, rows.known_n_rows, self.progress

        def run(block: Block, scratch: Scratch) -> tuple[int, P]:
            return block.size, fn(rows.finish(block, scratch), scratch)

        def add(total: T, part: tuple[int, P]) -> T:
            nonlocal count
            count += part[0]
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
        """Apply ``fn`` to all blocks and return its results, with this shape for each row."""
        values = np.empty((rows.n_rows, *shape), dtype)

        def fill(block: Block, scratch: Scratch) -> int:
            values[block.start : block.start + block.size] = fn(block, scratch)
            return block.size

        count = self.map_reduce(rows, fill, lambda a, b: a + b, 0)
        if count != len(values):
            raise ValueError(
                f"rows must not change while they are read, found {count} rows after {len(values)}."
            )
        return values

    def bind(self, rows: "Rows") -> "BoundRows":
        """Return statistics of the rows for bandwidth heuristics, computed in this context."""
        return BoundRows(rows.n_features, rows.dtype, rows.feature_names, rows, self)


@dataclass(frozen=True)
class BoundRows:
    """Statistics of rows for bandwidth heuristics: the `RowStatistics` of kernels."""

    n_features: int
    dtype: DType
    feature_names: list[str] | None
    rows: "Rows"
    context: Context

    def variance(self, columns: Array | None = None) -> float:
        """Return the weighted variance of all entries, or of the entries in some columns."""
        return self.rows.variance(columns, self.context)

    def sample(self, size: int, seed: int) -> Any:
        """Draw rows uniformly, with their weights."""
        return self.rows.sample(size, seed, self.context)


LOCAL = Context()
"""All available cores, without progress reports."""
