"""The context of a computation over rows: its threads and its progress reports."""

from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from skimp._core._blocks import Scratch, fold
from skimp._core._threads import thread_count
from skimp._core._types import Array, DType
from skimp.data._block import Block
from skimp.data._journal import Entry, Journal, Loop, Reached
from skimp.data._progress import Phase, Progress

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
    journal : Journal or None
        Stores the results of finished passes, so that a fit can be resumed.

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
    journal: Journal | None = None

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

    def map_reduce(
        self,
        rows: "Rows",
        fn: Callable[[Block, Scratch], P],
        combine: Callable[[T, P], T],
        initial: T,
        *,
        record: str | None = None,
    ) -> T:
        """Compute ``total = combine(total, fn(block, scratch))`` over the blocks, in order.

        Blocks are processed concurrently and combined in order, so the result is bit-equal for any
        number of threads. ``fn`` may return views of the buffers of ``scratch``.

        ``record`` names a pass that a checkpoint may store and resume. Its ``fn`` and ``combine``
        change nothing but the total, which consists of arrays, numbers, text, lists and tuples, or
        is a dataclass of these, like ``initial``.
        """
        entry = None if record is None else self._enter(record)
        reached = Reached.of(entry, initial)
        blocks, count = reached.blocks, reached.rows
        known, progress = rows.known_n_rows, self.progress

        def run(block: Block, scratch: Scratch) -> tuple[int, P]:
            return block.size, fn(rows.finish(block, scratch), scratch)

        def add(total: T, part: tuple[int, P]) -> T:
            nonlocal blocks, count
            count += part[0]
            total = combine(total, part[1])
            blocks += 1
            progress.see_rows(count, known)
            if entry is not None and entry.is_due:
                Reached(blocks, count, total, False).store(entry)
            return total

        total: T = reached.total
        if not reached.done:
            read = rows.read(rows.block_rows)
            try:
                total = fold(islice(read, blocks, None), run, add, total, self.threads)
            finally:
                if isinstance(read, Generator):
                    # a failed pass would otherwise leave a file open, and a thread that reads it
                    read.close()
            if entry is not None and not entry.is_brief:
                Reached(blocks, count, total, True).store(entry)
        if known is None:
            rows.remember_n_rows(count)
        return total

    def once(
        self,
        name: str,
        compute: Callable[[], dict[str, Any]],
        rng: np.random.Generator | None = None,
    ) -> dict[str, Any]:
        """Return ``compute()``, a dict of arrays, numbers and text that a checkpoint may store.

        ``rng`` is the generator that it draws from, which continues as if it had.
        """
        entry = self._enter(name)
        found = None if entry is None else entry.load()
        if found is not None:
            if rng is not None:
                rng.bit_generator.state = found["rng"]
            return dict(found["value"])
        if entry is None or self.journal is None:
            return compute()
        with self.journal.paused():
            value = compute()
        if not entry.is_brief:
            entry.store(value=value, rng=None if rng is None else rng.bit_generator.state)
        return value

    @contextmanager
    def resumable(self, name: str) -> Iterator[Loop]:
        """Open the loop of a solver, which knows the state from which it continues.

        What happens inside belongs to the loop: its passes are not stored on their own.
        """
        entry = self._enter(name)
        with nullcontext() if self.journal is None else self.journal.paused():
            yield Loop.of(entry)

    def _enter(self, name: str) -> Entry | None:
        return None if self.journal is None else self.journal.enter(name)

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
    _variances: dict[Any, float] = field(default_factory=dict)

    def variance(self, columns: Array | None = None) -> float:
        """Return the weighted variance of all entries, or of the entries in some columns."""
        key = None if columns is None else tuple(columns)
        if key not in self._variances:
            self._variances[key] = self.rows.variance(columns, self.context)
        return self._variances[key]

    def sample(self, size: int, seed: int) -> Any:
        """Draw rows uniformly, with their weights."""
        return self.rows.sample(size, seed, self.context)


LOCAL = Context()
"""All available cores, without progress reports."""
