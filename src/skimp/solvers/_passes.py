"""Passes over rows in random order."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from skimp._core._blocks import Scratch, fold
from skimp._core._types import Array
from skimp.data import Block, Context, Rows, hold_rows, join, kept_layout
from skimp.solvers._compiled import as_layout

ORDERS = ("reshuffled", "fixed", "iid")
LEAST = 64
"""Least number of rows to shuffle at a time."""
_ROUNDING = 1e-9
_MOST = 16
"""Most visits of a row in a pass."""

Visit: TypeAlias = Callable[[Any, Array, Array, Array], None]
"""Receives rows in the layout of compiled loops, their targets and factors, and the order."""


class Passes:
    """Passes over rows of features, each in random order.

    Weights are numbers of visits, as far as possible; see `Visits`.

    Features that fit into ``room`` bytes are kept, and rows are drawn freely. Otherwise the
    features of as many rows as fit into a quarter of ``room`` are computed at a time, which leaves
    space for a copy of them, a sample, and blocks in the making. If the source has its rows in
    memory, these are drawn freely too; if it can only be read in order, as codes in a file, rows
    are shuffled within the buffer.

    Parameters
    ----------
    rows : Rows
        Features, targets and weights.
    order : str
        "reshuffled" draws a new permutation for each pass, "fixed" uses the same permutation in
        all passes, and "iid" draws rows independently of each other.
    seed : int
        Seed of the order.
    room : int
        Bytes for features.
    context : Context
        Number of threads and progress reports.
    visits : Visits, optional
        Visits to earlier rows of a stream.
    beside : int, default=0
        Bytes of each row at hand in addition to its features.

    Attributes
    ----------
    rows : Rows
        The rows, with features kept if they fit.
    buffer_rows : int
        Number of rows whose features are computed at a time, if they are not kept.
    note : str
        How rows are drawn if features do not fit, for the message of a solution.
    visits : Visits
        The visits so far.
    """

    def __init__(
        self,
        rows: Rows,
        order: str,
        seed: int,
        room: int,
        context: Context,
        visits: "Visits | None" = None,
        beside: int = 0,
    ):
        self._order, self._seed, self._context = order, seed, context
        self.visits = Visits() if visits is None else visits
        self.note, self.buffer_rows = "", rows.n_rows
        self._whole: tuple[Any, Array, Array] | None = None
        held = hold_rows(rows, room - beside * rows.n_rows, context)
        self.rows = held.rows
        if held.in_memory:
            block = next(self.rows.reblocked(max(1, rows.n_rows)).blocks())
            self._whole = self._prepare(block)
            return
        # an order of all rows takes as many numbers
        order_bytes = 8 * rows.n_rows
        self._free = self.rows.in_memory and order_bytes <= room // 2
        room -= order_bytes if self._free else 0
        self.buffer_rows = max(LEAST, room // buffered_bytes(rows, beside))
        drawn = "rows drawn freely" if self._free else "rows shuffled"
        self.note = f"{held.note}, {drawn} in buffers of {self.buffer_rows:,}"

    def _prepare(self, block: Block) -> tuple[Any, Array, Array]:
        targets = np.ascontiguousarray(block.y, np.float64)
        return as_layout(block.X, self.rows.dtype), targets, block.weights()

    def run(self, number: int, visit: Visit) -> None:
        """Visit all rows once; ``number`` counts the passes."""
        seed = [self._seed] if self._order == "fixed" else [self._seed, number]
        if self._whole is not None:
            X, Y, weight = self._whole
            visit(X, Y, *self._draw(weight, seed))
        elif self._free:
            order = np.random.default_rng(seed).permutation(self.rows.n_rows)
            for start in range(0, len(order), self.buffer_rows):
                block = self._take(order[start : start + self.buffer_rows])
                self._visit(block, [*seed, start], visit)
        else:
            self._run_in_order(seed, visit)

    def _visit(self, block: Block, seed: list[int], visit: Visit) -> None:
        X, Y, weight = self._prepare(block)
        visit(X, Y, *self._draw(weight, seed))

    def _draw(self, weight: Array, seed: list[int]) -> tuple[Array, Array]:
        """Return the factor of each row, and the order of visits."""
        rng, n = np.random.default_rng(seed), len(weight)
        if self._order == "iid":
            share = self.visits.share(weight)
            total = float(share.sum())
            # round at random, so that light rows are drawn even if they come one at a time
            size = int(total + rng.random())
            return np.ones(n), rng.choice(n, size, p=share / total if total else None)
        visits, factor = self.visits.count(weight)
        return factor, rng.permutation(np.repeat(np.arange(n), visits))

    def _take(self, numbers: Array) -> Block:
        """Return some rows, with their features computed by all threads."""
        size = self.rows.block_rows
        parts = (numbers[start : start + size] for start in range(0, len(numbers), size))

        def take(part: Array, _: Scratch) -> Block:
            return self.rows.take(part)

        none: list[Block] = []
        return join(fold(parts, take, lambda a, b: [*a, b], none, self._context.threads))

    def _run_in_order(self, seed: list[int], visit: Visit) -> None:
        waiting: list[Block] = []

        def empty(end: int) -> None:
            block = join(waiting)
            waiting.clear()
            self._visit(block, [*seed, end], visit)

        def add(end: int, block: Block) -> int:
            used = 0
            while used < block.size:
                # fill the buffer, so that the order does not depend on the size of the blocks
                size = min(block.size - used, self.buffer_rows - end % self.buffer_rows)
                # a copy: the features may be in a buffer that the next block overwrites
                waiting.append(block[np.arange(used, used + size)])
                used, end = used + size, end + size
                if end % self.buffer_rows == 0:
                    empty(end)
            return end

        rows = self.rows.shuffled([*seed, self.rows.n_rows + 1])
        end = self._context.map_reduce(rows, lambda block, _: block, add, 0)
        if waiting:
            empty(end)


def buffered_bytes(rows: Rows, beside: int) -> int:
    """Return the memory of a row in a buffer, of which copies are made, in bytes."""
    numbers, dtype = kept_layout(rows)
    return 4 * numbers * dtype.itemsize + 2 * beside


class Visits:
    """How often to visit rows, by their weights relative to the mean weight of all rows so far.

    A row is visited as often as the quotient of its weight and the mean weight says, rounded up,
    but at most 16 times, and a row of weight 0 never. Its gradients are multiplied by a factor that
    makes up for the difference. The mean of the factors over all visits so far is 1.
    """

    def __init__(self) -> None:
        self._weight, self._rows, self._visits = 0.0, 0, 0

    def state(self) -> list[float]:
        """Return the sums over all rows so far."""
        return [self._weight, self._rows, self._visits]

    def restore(self, state: list[float]) -> None:
        """Continue from an earlier state."""
        self._weight, rows, visits = state
        self._rows, self._visits = int(rows), int(visits)

    def share(self, weight: Array) -> Array:
        """Add rows, and return their weights divided by the mean weight of all rows so far."""
        self._weight += float(weight.sum())
        self._rows += int(np.count_nonzero(weight))
        return weight * (self._rows / self._weight) if self._weight else weight

    def count(self, weight: Array) -> tuple[Array, Array]:
        """Add rows, and return how often to visit them, and their factors."""
        # the mean of equal weights has a rounding error
        visits = np.ceil(self.share(weight) - _ROUNDING).clip(0, _MOST).astype(np.int64)
        self._visits += int(visits.sum())
        # from the sums so far: within a block of one row, a weight would cancel
        scale = self._visits / (self._weight or 1.0)
        return visits, scale * weight / np.maximum(visits, 1)
