"""Passes over rows in random order."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from skimp._core._blocks import Scratch, fold
from skimp._core._types import Array
from skimp.data import Block, Context, Rows, join, keep_rows, kept_bytes, kept_layout
from skimp.solvers._compiled import as_layout

ORDERS = ("reshuffled", "fixed", "iid")
_LEAST = 64
"""Least number of rows to shuffle at a time."""
_ROUNDING = 1e-9

Visit: TypeAlias = Callable[[Any, Array, Array, Array], None]
"""Receives rows in the layout of compiled loops, their targets and factors, and the order."""


class Passes:
    """Passes over rows of features, each in random order.

    Weights are numbers of visits, as far as possible: a row is visited as often as the quotient of
    its weight and the mean weight says, rounded up, and a row of weight 0 never. Its gradients are
    multiplied by a factor that makes up for the rounding.

    Features that fit into ``room`` bytes are kept, and rows are drawn freely. Otherwise the
    features of as many rows as fit are computed at a time. If the source has its rows in memory,
    these are drawn freely too; if it can only be read in order, rows are shuffled within the
    buffer.

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
    weights : MeanWeight, optional
        Weights of earlier rows of a stream.

    Attributes
    ----------
    rows : Rows
        The rows, with features kept if they fit.
    note : str
        How rows are drawn if features do not fit, for the message of a solution.
    """

    def __init__(
        self,
        rows: Rows,
        order: str,
        seed: int,
        room: int,
        context: Context,
        weights: "MeanWeight | None" = None,
    ):
        self._order, self._seed, self._context = order, seed, context
        self._weights = MeanWeight() if weights is None else weights
        self.note = ""
        self._whole: tuple[Any, Array, Array] | None = None
        if kept_bytes(rows) <= room:
            with context.phase("features", unit="rows", total=rows.n_rows):
                self.rows = keep_rows(rows, context)
            block = next(self.rows.reblocked(max(1, rows.n_rows)).blocks())
            self._whole = self._prepare(block)
            return
        self.rows = rows
        numbers, dtype = kept_layout(rows)
        self._size = max(_LEAST, room // (numbers * dtype.itemsize))
        drawn = "rows drawn freely" if rows.in_memory else "rows shuffled"
        self.note = f", features recomputed in every pass, {drawn} in buffers of {self._size:,}"

    def _prepare(self, block: Block) -> tuple[Any, Array, Array]:
        targets = np.ascontiguousarray(block.y, np.float64)
        return as_layout(block.X, self.rows.dtype), targets, block.weights()

    def run(self, number: int, visit: Visit) -> None:
        """Visit all rows once; ``number`` counts the passes."""
        seed = [self._seed] if self._order == "fixed" else [self._seed, number]
        if self._whole is not None:
            X, Y, weight = self._whole
            visit(X, Y, *self._draw(weight, seed))
        elif self.rows.in_memory:
            order = np.random.default_rng(seed).permutation(self.rows.n_rows)
            for start in range(0, len(order), self._size):
                block = self._take(order[start : start + self._size])
                self._visit(block, [*seed, start], visit)
        else:
            self._run_in_order(seed, visit)

    def _visit(self, block: Block, seed: list[int], visit: Visit) -> None:
        X, Y, weight = self._prepare(block)
        visit(X, Y, *self._draw(weight, seed))

    def _draw(self, weight: Array, seed: list[int]) -> tuple[Array, Array]:
        """Return the factor of each row, and the order of visits."""
        rng, share = np.random.default_rng(seed), self._weights.share(weight)
        if self._order == "iid":
            drawn = rng.choice(len(share), round(share.sum()), p=share / share.sum())
            return np.ones(len(share)), drawn
        visits, factor = count_visits(share)
        return factor, rng.permutation(np.repeat(np.arange(len(share)), visits))

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

        def empty() -> None:
            block = join(waiting)
            waiting.clear()
            self._visit(block, [*seed, block.start], visit)

        def add(count: int, block: Block) -> int:
            if count + block.size > self._size and waiting:
                empty()
                count = 0
            # a copy: the features may be in a buffer that the next block overwrites
            waiting.append(block[np.arange(block.size)])
            return count + block.size

        self._context.map_reduce(self.rows, lambda block, _: block, add, 0)
        if waiting:
            empty()


class MeanWeight:
    """Mean of the positive weights so far."""

    def __init__(self) -> None:
        self._total, self._count = 0.0, 0

    def share(self, weight: Array) -> Array:
        """Add weights, and return them divided by the mean of all weights so far."""
        self._total += float(weight.sum())
        self._count += int(np.count_nonzero(weight))
        return weight * (self._count / self._total) if self._total else weight


def count_visits(share: Array) -> tuple[Array, Array]:
    """Return how often to visit rows that should be visited ``share`` times, and their factors.

    The mean of the factors over all visits is 1, and visits times factors are proportional to
    ``share``. No factor exceeds 2 if the mean share is at least 1.
    """
    # the mean of equal weights has a rounding error
    visits = np.ceil(share - _ROUNDING)
    total = share.sum()
    scale = visits.sum() / total if total else 1.0
    return visits.astype(np.int64), scale * share / np.maximum(visits, 1)
