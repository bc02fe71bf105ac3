"""Row blocks: the one way in which anything touches data."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Protocol, Self, TypeVar, cast, final

from skimp._core._blocks import Scratch, block_rows_for
from skimp._core._types import Array, DType, Matrix, Report
from skimp.data._block import Block, join
from skimp.data._codes import Codes
from skimp.data._context import Context
from skimp.data._rechunk import rechunk
from skimp.data._sample import Sample, column_of, entry_moments, no_rows, sample_rows, take_rows

P = TypeVar("P")
T = TypeVar("T")


class Rows(ABC):
    """Rows that can be read again and again, in blocks, in a fixed order.

    A source says how wide its rows are (``n_features``), what they are computed in (``dtype``) and
    how to read them once, in chunks of any size (`chunks`). Everything else is here.

    Attributes
    ----------
    block_rows : int
        Rows in each block but the last.
    n_jobs : int or None
        Threads that `map_reduce` uses; None for all cores.
    feature_names : list of str, or None
        Names of the columns.
    report : callable or None
        Called with the number of rows done after each block of `map_reduce`.
    labelled : bool or None
        Whether y are classes; None where nobody has said.
    coded : Codes or None
        None of the rows, with their columns, where all blocks are `Codes`; None where they are not.
    """

    n_features: int
    dtype: DType
    block_rows: int
    n_jobs: int | None = None
    feature_names: list[str] | None = None
    report: Report | None = None
    labelled: bool | None = None
    coded: Codes | None = None
    _n_rows: int | None = None
    checked: bool = False
    """True for a source that has checked its rows; others are checked block by block."""

    @abstractmethod
    def chunks(self) -> Iterator[Block]:
        """Read the rows once, in order, in chunks of any size, empty ones included."""

    def read(self) -> Iterator[Block]:
        """Read the rows once, in order, in blocks of ``block_rows``; `finish` does the rest."""
        return rechunk(self.chunks(), self.block_rows, join)

    def finish(self, block: Block, scratch: Scratch) -> Block:
        """Return what is computed of a block, by the worker that handles it."""
        if not self.checked:
            block.check()
        return block

    def blocks(self) -> Iterator[Block]:
        """Read and compute the rows once, in order, in blocks of ``block_rows``."""
        for block in self.read():
            yield self.finish(block, Scratch())

    @property
    def context(self) -> Context:
        """How to run over these rows, unless a context is passed beside them."""
        return Context(self.n_jobs, self.report)

    @property
    def n_rows(self) -> int:
        """Return the number of rows, by reading them once where the source does not know."""
        if self._n_rows is None:
            self._n_rows = self.map_reduce(lambda block, _: block.size, lambda a, b: a + b, 0)
        return self._n_rows

    def map_reduce(
        self, fn: Callable[[Block, Scratch], P], combine: Callable[[T, P], T], initial: T
    ) -> T:
        """Fold ``combine(total, fn(block, scratch))`` over the blocks, in order.

        Blocks are handled concurrently, combined in order: the result has the same bits for any
        number of threads. What ``fn`` returns may live in the buffers of ``scratch``.
        """
        return self.context.map_reduce(self, fn, combine, initial)

    def computed(
        self, fn: Callable[[Block, Scratch], Array], shape: tuple[int, ...], dtype: Any
    ) -> Array:
        """Return what ``fn`` computes of each row, an array of this shape, for all rows."""
        return self.context.compute(self, fn, shape, dtype)

    def sample(self, size: int, seed: int, context: Context | None = None) -> Sample:
        """Draw rows uniformly, without replacement, the same ones in any chunking."""
        return sample_rows(self, size, seed, context or self.context)

    def take(self, numbers: Array, context: Context | None = None) -> Block:
        """Return rows by number, in the order of the numbers, as one block."""
        return take_rows(self, numbers, context or self.context)

    def targets(self, context: Context | None = None) -> Array | None:
        """Return y of all rows, None if the source has none."""
        return column_of(self, "y", context or self.context)

    def weights(self, context: Context | None = None) -> Array | None:
        """Return the weights of all rows, None if the source has none."""
        return column_of(self, "weight", context or self.context)

    def variance(self, columns: Array | None = None, context: Context | None = None) -> float:
        """Return the weighted variance of all entries, or of those in some columns."""
        return entry_moments(self, columns, context or self.context).variance

    def collect(self) -> Block:
        """Return all rows as one block, without those of weight zero."""
        blocks = [b if b.weight is None else b[b.weight > 0] for b in self.blocks()]
        if not blocks:
            raise no_rows()
        return join(blocks)

    def reblocked(self, block_rows: int) -> Self:
        """Return the same rows in blocks of another size."""
        return self.copy_with(block_rows=block_rows)

    def copy_with(self, **attributes: Any) -> Self:
        """Return the same rows with another ``block_rows``, ``n_jobs`` or ``report``."""
        other = copy.copy(self)
        for name, value in attributes.items():
            setattr(other, name, value)
        return other

    def mapped(self, feature_map: "BlockMap") -> "MappedRows":
        """Return the rows with features in the place of columns, computed block by block."""
        return MappedRows(self, feature_map=feature_map)

    def with_targets(
        self, targets: Callable[[Array | None, Array | None], tuple[Array, Array | None]]
    ) -> "MappedRows":
        """Return the rows with ``(y, weight) = targets(y, weight)``, computed block by block."""
        return MappedRows(self, targets=targets)


class BlockMap(Protocol):
    """What `Rows.mapped` needs of a feature map."""

    @property
    def width(self) -> int:
        """Number of features."""

    def map_block(self, X: Matrix, out: Array) -> None:
        """Write the features of the rows X into ``out``."""

    @property
    def dtype(self) -> DType:
        """What the features are computed in."""


class CodeMap(BlockMap, Protocol):
    """A map whose features are `Codes`, which `Rows.mapped` then holds instead of arrays."""

    @property
    def coded(self) -> Codes:
        """No rows, with the columns of the features."""

    def map_codes(self, X: Matrix, out: Array) -> None:
        """Write the codes of the rows X into ``out``."""


@final
class MappedRows(Rows):
    """Rows of another source with features, targets or both computed block by block."""

    def __init__(
        self,
        source: Rows,
        *,
        feature_map: "BlockMap | CodeMap | None" = None,
        targets: Callable[[Array | None, Array | None], tuple[Array, Array | None]] | None = None,
    ):
        self._source = source
        self._map = feature_map
        self._targets = targets
        self.n_features = source.n_features if feature_map is None else feature_map.width
        self.dtype = source.dtype if feature_map is None else feature_map.dtype
        self.n_jobs = source.n_jobs
        self.report = source.report
        self.feature_names = source.feature_names if feature_map is None else None
        self.labelled = source.labelled
        self.coded = source.coded if feature_map is None else getattr(feature_map, "coded", None)
        self.block_rows = source.block_rows
        if self.coded is None:
            self.block_rows = min(self.block_rows, block_rows_for(self.n_features, self.dtype))

    def chunks(self) -> Iterator[Block]:
        """Map the rows at the block boundaries, into new arrays."""
        return self.blocks()

    def read(self) -> Iterator[Block]:
        """Read the blocks of the source, at the boundaries of these rows."""
        return self._source.reblocked(self.block_rows).read()

    def finish(self, block: Block, scratch: Scratch) -> Block:
        """Map a block; features live in a buffer that is reused."""
        return self._mapped(self._source.finish(block, scratch), scratch)

    @property
    def n_rows(self) -> int:
        """Return the number of rows of the source."""
        return self._source.n_rows

    def sample(self, size: int, seed: int, context: Context | None = None) -> Sample:
        """Draw rows of the source, and map these alone."""
        if self._targets is not None:
            return super().sample(size, seed, context)
        drawn = self._source.sample(size, seed, context)
        block = self._mapped(Block(drawn.X, drawn.y, drawn.weight, 0), Scratch())
        return replace(drawn, X=block.X)

    def _mapped(self, block: Block, scratch: Scratch) -> Block:
        if self._targets is not None:
            y, weight = self._targets(block.y, block.weight)
            block = replace(block, y=y, weight=weight)
        if self._map is None:
            return block
        if self.coded is not None:
            groups = self.coded.codes.shape[1]
            codes = scratch.array(f"codes {id(self)}", (block.size, groups), self.coded.codes.dtype)
            cast(CodeMap, self._map).map_codes(block.X, codes)
            block = replace(block, X=self.coded.trusted(codes))
        else:
            # a name of its own: the rows may live in a buffer of another map
            Z = scratch.array(f"Z {id(self)}", (block.size, self.n_features), self.dtype)
            self._map.map_block(block.X, Z)
            block = replace(block, X=Z)
        return block
