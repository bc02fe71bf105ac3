"""`TableRows`, the base class of sources that yield Arrow record batches."""

from abc import abstractmethod
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from skimp._core._blocks import block_rows_for
from skimp._core._types import Array
from skimp.data._arrow import Filters, load_arrow, plain, plain_type
from skimp.data._block import Block, rechunk
from skimp.data._layout import MOST_LEVELS, Layout, Names, categorical, choose_columns, listed
from skimp.data._prefetch import prefetched
from skimp.data._refusals import LARGEST_WEIGHT
from skimp.data._rows import Rows

_BATCH_BYTES = 2**23
"""Bytes of the features that are converted at a time."""
_BATCH_BLOCKS = 16
_COMPARED = 256
"""Rows at the beginning of a pass that are compared with those of the first pass."""


@dataclass(frozen=True)
class Piece:
    """A record batch, and where it comes from, for messages.

    Attributes
    ----------
    batch : pyarrow.RecordBatch
        The rows.
    place : str
        Such as "row group 3 of 'a.parquet'".
    first : int
        Number of the first row within this place.
    """

    batch: Any
    place: str
    first: int


class TableRows(Rows):
    """Rows of a table with named columns, which is read in record batches.

    A subclass implements `pieces`, and calls `arrange` at the end of its constructor. Text and
    dictionary columns become one column of zeros and ones per level; a missing or unknown value
    has zeros in all of them. Numbers must not be missing. The rows are computed in float32 if no
    column of numbers needs more, as in NumPy's rules of promotion, and in float64 otherwise.

    Attributes
    ----------
    categories : dict
        The levels of each categorical column, sorted, which fit the same features to other data.
    """

    feature_names: list[str]
    categories: dict[str, list[Any]]
    _layout: Layout
    _filters: Filters | None = None
    _first_rows: list[Array]
    _read_once: bool = False
    # batches are checked by `read`, which can say where a bad value is
    checked = True

    @abstractmethod
    def pieces(self, names: list[str], batch_rows: int) -> Iterator[Piece]:
        """Read some columns of all rows, in order, in batches of at most about this size."""

    def arrange(
        self,
        schema: Any,
        *,
        target: Names | None = None,
        weight: str | None = None,
        columns: Names | None = None,
        filters: Filters | None = None,
        categories: Mapping[str, Sequence[Any]] | None = None,
        block_rows: int | None = None,
    ) -> None:
        """Choose the columns, and find the levels of categorical ones in a first pass."""
        used = choose_columns(schema, target, weight, columns)
        self._filters, self._first_rows = filters, []
        for name in filtered_names(filters):
            if name not in schema.names:
                raise ValueError(f"filters must name columns of the data, found {name!r}.")
        given = _checked_levels(categories or {}, used)
        unknown = [name for name in categorical(schema, used) if name not in given]
        self.categories = {**given, **(self._find_levels(unknown) if unknown else {})}
        self._layout = Layout.of(schema, target, weight, columns, self.categories)
        self.feature_names = self._layout.feature_names
        self.n_features = len(self.feature_names)
        self.dtype = self._layout.dtype
        self.block_rows = block_rows or block_rows_for(self.n_features, self.dtype)

    @property
    def n_rows(self) -> int:
        """The number of rows; counted by reading one column if the source does not know it."""
        if self._n_rows is None:
            pieces = self._chosen(self._layout.names[:1], 2**16)
            self._n_rows = sum(piece.batch.num_rows for piece in pieces)
        return self._n_rows

    def read(self, block_rows: int) -> Iterator[Block]:
        """Read the next batch while the blocks of the last one are processed."""
        return rechunk(prefetched(self._converted(block_rows)), block_rows)

    def _converted(self, block_rows: int) -> Generator[Block, None, None]:
        """Convert batches to blocks, and count the rows."""
        layout, start = self._layout, 0
        fitting = _BATCH_BYTES // (layout.dtype.itemsize * self.n_features)
        # a memory limit makes blocks smaller, and with them batches
        batch_rows = max(block_rows, min(fitting, _BATCH_BLOCKS * block_rows))
        for piece in self._chosen(layout.names, batch_rows):
            if not self._read_once:
                _refuse_nulls(piece, layout)
            block = Block(*layout.split(piece.batch), start)
            if not self._read_once:
                _check(block, piece, layout)
            if start == 0:
                self._compare(block)
            start += block.size
            yield block
        if self._n_rows is not None and start != self._n_rows:
            raise ValueError(
                f"the data must not change while they are read, found {start:,} rows after "
                f"{self._n_rows:,}."
            )
        self._n_rows, self._read_once = start, True

    def _compare(self, first: Block) -> None:
        """Raise if a pass begins with other rows than the first one."""
        rows = first.X[:_COMPARED].copy()
        if not self._first_rows:
            self._first_rows.append(rows)
        n = min(len(rows), len(self._first_rows[0]))
        if not np.array_equal(rows[:n], self._first_rows[0][:n], equal_nan=True):
            raise ValueError(
                "the data must not change while they are read, found other rows in another pass: "
                "fix their order, for instance with ORDER BY in SQL, and their random seeds."
            )

    def _chosen(self, names: list[str], batch_rows: int) -> Iterator[Piece]:
        """Read some columns of the rows that pass the filters."""
        if self._filters is None:
            yield from self.pieces(names, batch_rows)
            return
        arrow, parquet = load_arrow(), load_arrow("pyarrow.parquet")
        passing = parquet.filters_to_expression(self._filters)
        every = list(dict.fromkeys([*names, *filtered_names(self._filters)]))
        place, first = "", 0
        for piece in self.pieces(every, batch_rows):
            if piece.place != place:
                place, first = piece.place, 0
            with explain_filters(self._filters):
                table = arrow.Table.from_batches([piece.batch]).filter(passing).select(names)
            for batch in table.combine_chunks().to_batches():
                yield Piece(batch, f"the filtered rows of {place}", first)
                first += batch.num_rows

    def _find_levels(self, names: list[str]) -> dict[str, list[Any]]:
        """Return the distinct values of some columns, sorted."""
        compute = load_arrow("pyarrow.compute")
        found: dict[str, set[Any]] = {name: set() for name in names}
        for piece in self._chosen(names, 2**16):
            for name in names:
                values = compute.unique(plain(piece.batch.column(name)))
                found[name].update(values.drop_null().to_pylist())
                if len(found[name]) > MOST_LEVELS:
                    raise ValueError(
                        f"a column of text must have at most {MOST_LEVELS:,} levels, found more "
                        f"in column {name!r}: leave it out with columns=[...], or give the levels "
                        f"to keep with categories={{{name!r}: [...]}}."
                    )
        return {name: sorted(levels) for name, levels in found.items()}


def filtered_names(filters: Filters | None) -> list[str]:
    """Return the columns that filters compare; raise for other things than lists of conditions."""
    if filters is None:
        return []
    groups: Any = filters
    if isinstance(filters, list) and filters and isinstance(filters[0], tuple):
        groups = [filters]
    valid = isinstance(groups, list) and all(isinstance(group, list) and group for group in groups)
    conditions = [condition for group in groups for condition in group] if valid else []
    if not conditions or not all(
        isinstance(c, tuple) and len(c) == 3 and isinstance(c[0], str) for c in conditions
    ):
        raise ValueError(
            "filters must be a list of conditions (column, operator, value), such as "
            f"[('year', '>=', 2020)], or a list of such lists, got {filters!r}."
        )
    return [condition[0] for condition in conditions]


@contextmanager
def explain_filters(filters: Filters | None) -> Iterator[None]:
    """Name the filters in an error about the types of their values."""
    try:
        yield
    except load_arrow().ArrowException as error:
        raise ValueError(
            f"filters must compare columns with values of their type, got {filters!r}: {error}."
        ) from error


def _checked_levels(
    categories: Mapping[str, Sequence[Any]], used: list[str]
) -> dict[str, list[Any]]:
    """Return the given levels of categorical columns as lists."""
    if not isinstance(categories, Mapping):
        raise ValueError(f"categories must be a dict of lists of levels, got {categories!r}.")
    for name, levels in categories.items():
        if name not in used:
            raise ValueError(f"categories must name columns of features, found {name!r}.")
        if isinstance(levels, str) or len(set(levels)) < len(levels):
            raise ValueError(
                f"categories must list different levels of column {name!r}, got {levels!r}."
            )
    return {name: list(levels) for name, levels in categories.items()}


def _refuse_nulls(piece: Piece, layout: Layout) -> None:
    """Raise if numbers, targets or weights are missing."""
    compute = load_arrow("pyarrow.compute")
    roles = [("X", column.name) for column in layout.columns if column.levels is None]
    roles += [("y", name) for name in layout.targets]
    roles += [("weight", name) for name in listed(layout.weight)]
    for role, name in roles:
        values = piece.batch.column(name)
        if values.null_count:
            row = int(np.flatnonzero(compute.is_null(values).to_numpy(zero_copy_only=False))[0])
            raise _bad_value(role, "a missing value", name, row, piece)


def _check(block: Block, piece: Piece, layout: Layout) -> None:
    """Raise for values that are not finite, or negative weights, and say where they are."""
    for role, values in (("X", block.X), ("y", block.y), ("weight", block.weight)):
        if values is None or values.dtype.kind != "f" or np.isfinite(values).all():
            continue
        row, *column = place = tuple(np.argwhere(~np.isfinite(values))[0].tolist())
        names = {"X": layout.feature_names, "y": layout.targets, "weight": [layout.weight]}[role]
        value = "NaN" if np.isnan(values[place]) else "infinity"
        raise _bad_value(role, value, names[column[0] if column else 0], row, piece)
    if block.weight is None or not block.size:
        return
    for row, wrong in (
        (int(block.weight.argmin()), block.weight.min() < 0),
        (int(block.weight.argmax()), block.weight.max() > LARGEST_WEIGHT),
    ):
        if wrong:
            value = f"the value {block.weight[row]:g}"
            raise _bad_value("weight", value, layout.weight, row, piece)


def _bad_value(role: str, value: str, name: str | None, row: int, piece: Piece) -> ValueError:
    remedy = {
        "X": "fill it before the data are written, or leave the column out with columns=[...]",
        "y": "drop the rows without a target, for instance with filters=[...]",
        "weight": f"give a number from 0 to {LARGEST_WEIGHT:g} for each row",
    }[role]
    where = f"in row {piece.first + row:,} of {piece.place}"
    return ValueError(f"{role} contains {value} in column {name!r}, {where}: {remedy}.")


def as_batches(given: Any) -> Iterator[Any]:
    """Yield the record batches of an Arrow array, table, stream or frame."""
    arrow = load_arrow()
    if isinstance(given, arrow.RecordBatch):
        yield given
    elif isinstance(given, arrow.Table):
        yield from given.to_batches()
    elif "__arrow_c_array__" in dir(given):
        yield arrow.record_batch(given)
    elif "__arrow_c_stream__" in dir(given):
        yield from arrow.RecordBatchReader.from_stream(given)
    else:
        raise TypeError(
            "record batches must be Arrow data, such as a pyarrow.RecordBatch or a data frame, "
            f"found {type(given).__name__}."
        )


def sliced(batch: Any, batch_rows: int) -> Iterator[Any]:
    """Cut a batch into smaller ones, without copying it."""
    for start in range(0, batch.num_rows, batch_rows):
        yield batch.slice(start, batch_rows)


def of_columns(batch: Any, names: list[str], schema: Any, place: str) -> Any:
    """Return some columns of a batch; raise if one is missing or has another type than before."""
    arrow, columns, found = load_arrow(), [], set(batch.schema.names)
    for name in names:
        if name not in found:
            raise ValueError(f"column {name!r} is missing in {place}; the first part has it.")
        values, expected = plain(batch.column(name)), plain_type(schema.field(name).type)
        if arrow.types.is_null(values.type):
            # without a value there is no type
            values = values.cast(expected)
        if values.type != expected:
            raise ValueError(
                f"column {name!r} must have one type, found {values.type} in {place} and "
                f"{expected} before: convert it when the data are written."
            )
        columns.append(values)
    return arrow.RecordBatch.from_arrays(columns, names)
