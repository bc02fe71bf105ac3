"""Rows of CSV files."""

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, final

from skimp.data._arrow import load_arrow
from skimp.data._layout import listed
from skimp.data._table import Piece, TableRows, of_columns, sliced

_BLOCK_BYTES = 2**22
"""Bytes of text that are parsed at a time. The first block decides the types of the columns."""


@final
class CSVRows(TableRows):
    r"""Rows of a CSV file with a header, plain or compressed (.gz, .bz2, .zst).

    The first 4 MB decide which columns hold numbers. Features are then read as float64, and so are
    weights. A value that is not a number further down is an error that names its row. Columns of a
    .tsv file are separated by tabs.

    Parameters
    ----------
    path : str or path
        The file.
    **options
        ``target``, ``weight``, ``columns``, ``filters``, ``categories`` and ``block_rows``, as in
        `open_rows`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from skimp.data import open_rows
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "rows.csv")
    ...     _ = path.write_text("x,kind,y\n1,a,0\n2,b,1\n")
    ...     rows = open_rows(path, target="y")
    ...     rows.feature_names, rows.collect().X.tolist()
    (['x', 'kind=a', 'kind=b'], [[1.0, 1.0, 0.0], [2.0, 0.0, 1.0]])
    """

    def __init__(self, path: str | PathLike[str], **options: Any):
        arrow = load_arrow()
        self._path, self._types = str(Path(path)), {}
        self._delimiter = "\t" if ".tsv" in Path(path).suffixes else ","
        if not Path(path).is_file():
            raise FileNotFoundError(f"source must be an existing file, found {self._path!r}.")
        with self._explained(), self._open(None) as reader:
            found = reader.schema
        if len(found.names) == 1 and any(mark in found.names[0] for mark in ";\t|"):
            raise ValueError(
                f"columns must be separated by commas, found the single column {found.names[0]!r} "
                f"in {self._path!r}: write the file with commas, or with tabs as .tsv."
            )
        self.source_path = Path(path).resolve()
        categories = options.get("categories") or {}
        texts = [*listed(options.get("target")), *categories]
        for field in found:
            number = arrow.types.is_integer(field.type) or arrow.types.is_null(field.type)
            kind = arrow.float64() if number and field.name not in texts else field.type
            # numbers of categories compare as text in every part of the file
            self._types[field.name] = arrow.string() if field.name in categories else kind
        self._schema = arrow.schema([(name, self._types[name]) for name in found.names])
        self.arrange(self._schema, **options)

    def _open(self, names: list[str] | None) -> Any:
        """Return a reader of some columns, all if None."""
        csv = load_arrow("pyarrow.csv")
        return csv.open_csv(
            self._path,
            # threads would parse beyond the block that is asked for, and hide the number of a row
            read_options=csv.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES),
            parse_options=csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                column_types=self._types, include_columns=names, strings_can_be_null=True
            ),
        )

    def pieces(self, names: list[str], batch_rows: int) -> Iterator[Piece]:
        """Read some columns; see `TableRows.pieces`."""
        first, place = 0, repr(self._path)
        with self._explained(), self._open(names) as reader:
            for batch in reader:
                columns = of_columns(batch, names, self._schema, place)
                for part in sliced(columns, batch_rows):
                    yield Piece(part, place, first)
                    first += part.num_rows

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Name the file in errors of the parser, which name the column and the row."""
        try:
            yield
        except load_arrow().ArrowInvalid as error:
            advice = ""
            if "conversion error" in str(error):
                advice = " Types are those of the first 4 MB: write the column with one type, or "
                advice += "leave it out with columns=[...]."
            raise ValueError(
                f"{self._path!r} could not be read as CSV: {error}.{advice}"
            ) from error
