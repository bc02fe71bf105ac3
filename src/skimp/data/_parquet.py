"""Rows of Parquet files and folders."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, final

from skimp.data._arrow import Filters, load_arrow
from skimp.data._table import Piece, TableRows, explain_filters, filtered_names, of_columns

PARQUET = {".parquet", ".pq", ".parq"}

_BUFFERS, _LEAST_BUFFER, _MOST_BUFFER = 2**23, 2**13, 2**18
"""Bytes of all columns, and of one, that are read at a time. Without buffers a row group is read as
a whole."""


@dataclass(frozen=True)
class _File:
    """A Parquet file: its row groups that may pass the filters, and its partition columns."""

    path: str
    groups: list[int]
    constants: Mapping[str, Any]


@final
class ParquetRows(TableRows):
    """Rows of a Parquet file, or of all Parquet files in a folder.

    Row groups are read one after another, a part at a time, so a large row group takes no more
    memory than a small one. Only the columns in use are read, and row groups whose statistics
    contradict ``filters`` are skipped. The files of a folder are read in the order of their paths;
    folders named ``column=value`` become columns.

    Parameters
    ----------
    path : str or path
        A file or a folder.
    **options
        ``target``, ``weight``, ``columns``, ``filters``, ``categories`` and ``block_rows``, as in
        `open_rows`.

    Examples
    --------
    >>> import pandas as pd
    >>> from tempfile import TemporaryDirectory
    >>> from skimp.data import open_rows
    >>> with TemporaryDirectory() as folder:
    ...     frame = pd.DataFrame({"x": [1.0, 2.0], "y": [0, 1]})
    ...     frame.to_parquet(f"{folder}/rows.parquet")
    ...     rows = open_rows(f"{folder}/rows.parquet", target="y")
    ...     rows.collect().X.tolist()
    [[1.0], [2.0]]
    """

    def __init__(self, path: str | PathLike[str], **options: Any):
        filters, every = options.get("filters"), options.get("columns") is None
        data, self._files, n_rows = _open_dataset(path, filters, every=every)
        self.source_path = Path(path).resolve()
        self._schema = data.schema
        self._n_rows = n_rows if filters is None else None
        self.arrange(data.schema, **options)

    def pieces(self, names: list[str], batch_rows: int) -> Iterator[Piece]:
        """Read some columns; see `TableRows.pieces`."""
        arrow, parquet = load_arrow(), load_arrow("pyarrow.parquet")
        buffer = min(_MOST_BUFFER, max(_LEAST_BUFFER, _BUFFERS // len(names)))
        for file in self._files:
            stored = [name for name in names if name not in file.constants]
            place = repr(file.path)
            try:
                with parquet.ParquetFile(file.path, pre_buffer=False, buffer_size=buffer) as opened:
                    for group in file.groups:
                        place, first = f"row group {group} of {file.path!r}", 0
                        for batch in opened.iter_batches(
                            batch_rows, row_groups=[group], columns=stored, use_threads=False
                        ):
                            for name, value in file.constants.items():
                                same = arrow.repeat(value, batch.num_rows)
                                batch = batch.append_column(name, same)
                            yield Piece(of_columns(batch, names, self._schema, place), place, first)
                            first += batch.num_rows
            except (OSError, arrow.ArrowException) as error:
                raise OSError(
                    f"{place} could not be read, it may be damaged or truncated: {error}"
                ) from error


def _open_dataset(
    path: str | PathLike[str], filters: Filters | None, *, every: bool
) -> tuple[Any, list[_File], int]:
    """Return a dataset, its files with the row groups to read, and their number of rows.

    ``every`` says that all columns are in use, so that all files must have the same ones.
    """
    arrow, parquet = load_arrow(), load_arrow("pyarrow.parquet")
    dataset = load_arrow("pyarrow.dataset")
    names = filtered_names(filters)
    passing = None if filters is None else parquet.filters_to_expression(filters)
    paths = _parquet_files(Path(path))
    files: list[_File] = []
    n_rows, place = 0, repr(str(path))
    try:
        data = dataset.dataset(
            paths,
            format="parquet",
            partitioning=dataset.partitioning(flavor="hive"),
            partition_base_dir=str(path),
        )
        # a filter on a column that does not exist is refused later, by its name
        known = set(names) <= set(data.schema.names)
        for fragment in sorted(data.get_fragments(), key=lambda part: part.path):
            place = repr(fragment.path)
            _refuse_other_columns(fragment, data.schema, every=every)
            with explain_filters(filters):
                kept = fragment.split_by_row_group(passing if known else None, schema=data.schema)
            groups = [part.row_groups[0] for part in kept]
            n_rows += sum(group.num_rows for group in groups)
            keys = dataset.get_partition_keys(fragment.partition_expression)
            constants = {
                name: arrow.scalar(value, data.schema.field(name).type)
                for name, value in keys.items()
            }
            files.append(_File(fragment.path, [group.id for group in groups], constants))
    except (OSError, arrow.ArrowException) as error:
        missing = not Path(path).exists()
        advice = "no such file or folder" if missing else "it may be damaged or truncated"
        raise (FileNotFoundError if missing else OSError)(
            f"{place} could not be opened as Parquet, {advice}: {error}"
        ) from error
    return data, files, n_rows


def _parquet_files(path: Path) -> list[str]:
    """Return the Parquet files in a folder and its folders, without hidden ones."""
    if not path.is_dir():
        return [str(path)]
    files = (file for file in path.rglob("*") if file.suffix.lower() in PARQUET)
    shown = [f for f in files if not any(p[0] in "._" for p in f.relative_to(path).parts)]
    if not shown:
        raise FileNotFoundError(f"source must have Parquet files, found none in {str(path)!r}.")
    return sorted(map(str, shown))


def _refuse_other_columns(fragment: Any, schema: Any, *, every: bool) -> None:
    """Raise if a column has another type than in the first file, or is not in it."""
    keys = load_arrow("pyarrow.dataset").get_partition_keys(fragment.partition_expression)
    found = fragment.physical_schema
    more = [name for name in found.names if schema.get_field_index(name) < 0]
    if every and more:
        raise ValueError(
            f"files must have the same columns, found {more[0]!r} in {fragment.path!r}, but not in "
            "the first file: choose columns with columns=[...]."
        )
    present = set(found.names)
    for name in schema.names:
        if name in keys or name not in present:
            continue
        if found.field(name).type != schema.field(name).type:
            raise ValueError(
                f"column {name!r} must have one type, found {found.field(name).type} in "
                f"{fragment.path!r} and {schema.field(name).type} in the first file: write the "
                "files again with one type."
            )
