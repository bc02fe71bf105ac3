"""`Rows`, the base class of data sources, and views of rows with other targets or features."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from operator import add
from pathlib import Path
from typing import Protocol, Self, cast, final

import numpy as np

from skimp._core._blocks import Scratch, block_rows_for
from skimp._core._types import Array, DType, Matrix
from skimp.data._block import Block, join
from skimp.data._codes import Codes
from skimp.data._context import LOCAL, Context
from skimp.data._sample import (
    Sample,
    column_of,
    draw_samples,
    entry_moments,
    no_rows,
    sample_rows,
    take_rows,
)

Targets = Callable[[Array | None, Array | None], tuple[Array, Array | None]]


class Rows(ABC):
    """A data source that is read in blocks of rows, any number of times, in a fixed order.

    A subclass sets ``n_features``, ``dtype`` and ``block_rows``, and implements `read`. A `Context`
    runs computations over the blocks.

    Attributes
    ----------
    n_features : int
        Number of columns.
    dtype : dtype
        Precision of computations with the rows, float32 or float64.
    block_rows : int
        Number of rows in each block but the last.
    feature_names : list of str, or None
        Names of the columns.
    labelled : bool or None
        Whether y holds class labels; None if unknown.
    coded : Codes or None
        Empty `Codes` that describe the layout if all blocks are coded, else None.
    entries : float or None
        Mean number of stored entries per row if all blocks are CSR matrices, else None.
    checked : bool
        Whether the source has validated its numbers; if not, each block is checked when read.
    source_path : Path or None
        The file or folder that is read, which results must not replace.
    """

    n_features: int
    dtype: DType
    block_rows: int
    feature_names: list[str] | None = None
    labelled: bool | None = None
    coded: Codes | None = None
    entries: float | None = None
    checked: bool = False
    source_path: Path | None = None
    _n_rows: int | None = None
    _order: list[int] | None = None

    def __repr__(self) -> str:
        """Return the kind of source, and its size as far as it is known."""
        n = self.known_n_rows
        rows = "an unknown number of" if n is None else f"{n:,}"
        size = f"{rows} rows of {self.n_features:,} columns"
        return f"<{type(self).__name__}: {size}, {self.dtype.name}>"

    @abstractmethod
    def read(self, block_rows: int) -> Iterator[Block]:
        """Read the rows once, in order, in blocks of this many rows; the last may be shorter.

        If the source yields chunks of other sizes, pass them through `~skimp.data.rechunk`.
        """

    def describe(self, source: "Rows") -> None:
        """Copy the attributes of another source, for a view of its rows."""
        self.n_features, self.dtype, self.block_rows = (
            source.n_features,
            source.dtype,
            source.block_rows,
        )
        self.feature_names, self.labelled = source.feature_names, source.labelled
        self.coded, self.entries, self.checked = source.coded, source.entries, source.checked
        self.source_path = source.source_path

    def finish(self, block: Block, scratch: Scratch) -> Block:
        """Complete a block on the worker that processes it, possibly in its scratch buffers."""
        if not self.checked:
            block.check()
        return block

    def blocks(self) -> Iterator[Block]:
        """Yield the completed blocks once, in order."""
        for block in self.read(self.block_rows):
            yield self.finish(block, Scratch())

    @property
    def n_rows(self) -> int:
        """The number of rows; counted by reading them once if the source does not know it."""
        if self._n_rows is None:
            self._n_rows = sum(block.size for block in self.read(self.block_rows))
        return self._n_rows

    @property
    def known_n_rows(self) -> int | None:
        """The number of rows if it is known without reading them, else None."""
        return self._n_rows

    @property
    def in_memory(self) -> bool:
        """Whether `take` reads only the rows it returns."""
        return False

    @property
    def stored(self) -> bool:
        """Whether blocks are parts of one array or CSR matrix in memory."""
        return False

    @property
    def seekable(self) -> bool:
        """Whether blocks can be read in any order; see `shuffled`."""
        return False

    def remember_n_rows(self, count: int) -> None:
        """Store the number of rows that a pass has counted."""
        self._n_rows = count

    def sample(self, size: int, seed: int, context: Context = LOCAL) -> Sample:
        """Draw rows uniformly without replacement; the sample does not depend on block sizes."""
        return sample_rows(self, size, seed, context)

    def samples(self, wanted: Sequence[tuple[int, int]], context: Context = LOCAL) -> list[Sample]:
        """Draw several samples, given their sizes and seeds, in one pass."""
        return draw_samples(self, wanted, context)

    def take(self, numbers: Array, context: Context = LOCAL) -> Block:
        """Return rows by number, in the given order, as one block."""
        return take_rows(self, numbers, context)

    def targets(self, context: Context = LOCAL) -> Array | None:
        """Return y of all rows, or None if the source has none."""
        return column_of(self, "y", context)

    def weights(self, context: Context = LOCAL) -> Array | None:
        """Return the weights of all rows, or None if the source has none."""
        return column_of(self, "weight", context)

    def count_weighted(self, context: Context = LOCAL) -> int:
        """Return the number of rows with positive weight."""
        first = next(self.blocks(), None)
        if first is None or first.weight is None:
            return self.n_rows
        return context.map_reduce(self, lambda b, _: int(np.count_nonzero(b.weights())), add, 0)

    def variance(self, columns: Array | None = None, context: Context = LOCAL) -> float:
        """Return the weighted variance of all entries, or of the entries in some columns."""
        return entry_moments(self, columns, context).variance

    def collect(self) -> Block:
        """Return all rows with positive weight as one block."""
        blocks = [b if b.weight is None else b[b.weight > 0] for b in self.blocks()]
        if not blocks:
            raise no_rows()
        return join(blocks)

    def reblocked(self, block_rows: int) -> Self:
        """Return the same rows in blocks of another size."""
        other = copy.copy(self)
        other.block_rows = block_rows
        return other

    def shuffled(self, seed: list[int]) -> Self:
        """Return the same rows in blocks in random order, if the source is `seekable`."""
        return self

    def starts(self, block_rows: int) -> Iterator[int]:
        """Yield where blocks of this size start, in the order in which to read them."""
        if self._order is None:
            return iter(range(0, self.n_rows, block_rows))
        order = np.random.default_rng(self._order).permutation(-(-self.n_rows // block_rows))
        return (int(number) * block_rows for number in order)

    def labelled_as(self, labelled: bool) -> Self:
        """Return the same rows, with ``labelled`` set."""
        other = copy.copy(self)
        other.labelled = labelled
        return other

    def mapped(self, feature_map: "BlockMap | SparseMap") -> "MappedRows":
        """Return a view of the rows whose columns are features, computed block by block."""
        return MappedRows(self, feature_map)

    def converted(self) -> "ConvertedRows":
        """Return a view that `keep_rows` copies, converting it to ``dtype``."""
        return ConvertedRows(self)

    def with_targets(self, targets: Targets) -> "TargetRows":
        """Return a view of the rows with ``(y, weight) = targets(y, weight)``, block by block."""
        return TargetRows(self, targets)


@final
class NoRows(Rows):
    """The columns of another source without its rows; takes no memory, and can be pickled."""

    def __init__(self, source: Rows):
        self.describe(source)
        self._n_rows = 0

    def read(self, block_rows: int) -> Iterator[Block]:
        return iter(())


class BlockMap(Protocol):
    """The interface of a feature map that `Rows.mapped` requires."""

    @property
    def width(self) -> int:
        """Number of features."""

    def map_block(self, X: Matrix, out: Array) -> None:
        """Write the features of the rows X into ``out``."""

    @property
    def dtype(self) -> DType:
        """Precision of the features."""


class SparseMap(Protocol):
    """A feature map whose features `Rows.mapped` represents as CSR matrices."""

    @property
    def width(self) -> int:
        """Number of features."""

    @property
    def dtype(self) -> DType:
        """Precision of the features."""

    @property
    def entries(self) -> float:
        """Mean number of nonzero features of a training row."""

    def map_sparse(self, X: Matrix) -> Matrix:
        """Return the features of the rows X."""


class CodeMap(BlockMap, Protocol):
    """A feature map whose features `Rows.mapped` represents as `Codes` instead of arrays."""

    @property
    def coded(self) -> Codes:
        """Empty codes that describe the columns of the features."""

    def map_codes(self, X: Matrix, out: Array) -> None:
        """Write the codes of the rows X into ``out``."""


class _View(Rows, ABC):
    """A view of another source that changes each block."""

    _source: Rows

    @abstractmethod
    def replace(self, block: Block, scratch: Scratch) -> Block:
        """Return the changed block."""

    def finish(self, block: Block, scratch: Scratch) -> Block:
        return self.replace(self._source.finish(block, scratch), scratch)

    def read(self, block_rows: int) -> Iterator[Block]:
        return self._source.read(block_rows)

    @property
    def n_rows(self) -> int:
        """The number of rows of the source."""
        return self._source.n_rows

    @property
    def known_n_rows(self) -> int | None:
        return self._source.known_n_rows

    @property
    def in_memory(self) -> bool:
        return self._source.in_memory

    @property
    def seekable(self) -> bool:
        return self._source.seekable

    def take(self, numbers: Array, context: Context = LOCAL) -> Block:
        """Return rows by number, and change only these."""
        return self.replace(self._source.take(numbers, context), Scratch())

    def shuffled(self, seed: list[int]) -> Self:
        other = copy.copy(self)
        other._source = self._source.shuffled(seed)
        return other

    def remember_n_rows(self, count: int) -> None:
        self._source.remember_n_rows(count)


@final
class ConvertedRows(_View):
    """A view of another source that does not count as stored, so that it is copied if kept."""

    def __init__(self, source: Rows):
        self.describe(source)
        self._source = source

    def replace(self, block: Block, scratch: Scratch) -> Block:
        return block


@final
class TargetRows(_View):
    """A view of another source with computed targets and weights."""

    def __init__(self, source: Rows, targets: Targets):
        self.describe(source)
        self._source = source
        self._targets = targets

    def replace(self, block: Block, scratch: Scratch) -> Block:
        y, weight = self._targets(block.y, block.weight)
        return replace(block, y=y, weight=weight)

    @property
    def stored(self) -> bool:
        return self._source.stored


@final
class AttachedRows(_View):
    """A view of another source with targets and weights from arrays, those that are not None."""

    def __init__(self, source: Rows, y: Array | None, weight: Array | None):
        self.describe(source)
        self._source = source
        self._y, self._weight = y, weight

    def read(self, block_rows: int) -> Iterator[Block]:
        # here, because a view of some rows renumbers them before it completes a block
        for block in self._source.read(block_rows):
            part = slice(block.start, block.start + block.size)
            y = block.y if self._y is None else self._y[part]
            weight = block.weight if self._weight is None else self._weight[part]
            yield replace(block, y=y, weight=weight)

    def replace(self, block: Block, scratch: Scratch) -> Block:
        return block

    def take(self, numbers: Array, context: Context = LOCAL) -> Block:
        """Return rows by number."""
        return take_rows(self, numbers, context)


@final
class MappedRows(_View):
    """A view of another source with features instead of columns, computed block by block."""

    def __init__(self, source: Rows, feature_map: "BlockMap | CodeMap | SparseMap"):
        self.describe(source)
        self._source = source
        self._map = feature_map
        self.n_features, self.dtype = feature_map.width, feature_map.dtype
        self.feature_names = None
        self.coded = getattr(feature_map, "coded", None)
        self.entries = getattr(feature_map, "entries", None)
        if self.coded is None:
            numbers = self.n_features if self.entries is None else int(self.entries)
            self.block_rows = min(self.block_rows, block_rows_for(numbers, self.dtype))

    def sample(self, size: int, seed: int, context: Context = LOCAL) -> Sample:
        """Draw rows of the source, and map only these."""
        return self._mapped(self._source.sample(size, seed, context))

    def samples(self, wanted: Sequence[tuple[int, int]], context: Context = LOCAL) -> list[Sample]:
        """Draw rows of the source, and map only these."""
        return [self._mapped(drawn) for drawn in self._source.samples(wanted, context)]

    def _mapped(self, drawn: Sample) -> Sample:
        block = self.replace(Block(drawn.X, drawn.y, drawn.weight, 0), Scratch())
        return replace(drawn, X=block.X)

    def replace(self, block: Block, scratch: Scratch) -> Block:
        """Map a block into a buffer of this view; its rows may be in the buffer of another view."""
        if self.coded is not None:
            groups = self.coded.codes.shape[1]
            codes = scratch.array(f"codes {id(self)}", (block.size, groups), self.coded.codes.dtype)
            cast(CodeMap, self._map).map_codes(block.X, codes)
            return replace(block, X=self.coded.trusted(codes))
        if self.entries is not None:
            return replace(block, X=cast(SparseMap, self._map).map_sparse(block.X))
        Z = scratch.array(f"Z {id(self)}", (block.size, self.n_features), self.dtype)
        cast(BlockMap, self._map).map_block(block.X, Z)
        return replace(block, X=Z)
