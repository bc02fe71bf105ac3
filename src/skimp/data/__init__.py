"""Where rows come from: arrays, sparse matrices and frames, as row blocks."""

from skimp.data._array import ArrayRows
from skimp.data._block import Block
from skimp.data._codes import Codes
from skimp.data._frame import FrameRows
from skimp.data._open import as_rows, open_rows
from skimp.data._rows import BlockMap, MappedRows, Rows

__all__ = [
    "ArrayRows",
    "Block",
    "BlockMap",
    "Codes",
    "FrameRows",
    "MappedRows",
    "Rows",
    "as_rows",
    "open_rows",
]
