"""Data sources that are read in row blocks, and the context that runs computations over them."""

from skimp.data._array import ArrayRows
from skimp.data._block import Block, concatenate_rows, join, rechunk
from skimp.data._callbacks import Reporting, clone_without_callbacks
from skimp.data._codes import Codes
from skimp.data._context import LOCAL, Context
from skimp.data._csv import CSVRows
from skimp.data._digest import digest_rows
from skimp.data._file_array import FileArray
from skimp.data._filter import FilteredRows, weighted_rows
from skimp.data._frame import FrameRows, is_frame
from skimp.data._holding import Held, hold_rows
from skimp.data._journal import CHECKPOINT, Checkpoint, Journal, Loop, as_checkpoint
from skimp.data._kept import keep_rows, kept_bytes, kept_layout
from skimp.data._open import as_rows, open_rows
from skimp.data._parquet import ParquetRows
from skimp.data._pieces import pieces
from skimp.data._progress import Listener, Phase, Progress, reporting
from skimp.data._refusals import missing_entries, refuse_target
from skimp.data._rows import BlockMap, MappedRows, NoRows, Rows
from skimp.data._sample import Sample, no_rows
from skimp.data._spilled import SpilledRows
from skimp.data._split import has_weight, masked_rows, split_rows
from skimp.data._streams import StreamRows
from skimp.data._svmlight import SVMLightRows
from skimp.data._table import TableRows
from skimp.data._write import write_results

__all__ = [
    "CHECKPOINT",
    "LOCAL",
    "ArrayRows",
    "Block",
    "BlockMap",
    "CSVRows",
    "Checkpoint",
    "Codes",
    "Context",
    "FileArray",
    "FilteredRows",
    "FrameRows",
    "Held",
    "Journal",
    "Listener",
    "Loop",
    "MappedRows",
    "NoRows",
    "ParquetRows",
    "Phase",
    "Progress",
    "Reporting",
    "Rows",
    "SVMLightRows",
    "Sample",
    "SpilledRows",
    "StreamRows",
    "TableRows",
    "as_checkpoint",
    "as_rows",
    "clone_without_callbacks",
    "concatenate_rows",
    "digest_rows",
    "has_weight",
    "hold_rows",
    "is_frame",
    "join",
    "keep_rows",
    "kept_bytes",
    "kept_layout",
    "masked_rows",
    "missing_entries",
    "no_rows",
    "open_rows",
    "pieces",
    "rechunk",
    "refuse_target",
    "reporting",
    "split_rows",
    "weighted_rows",
    "write_results",
]
