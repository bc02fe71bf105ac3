"""Where the features of rows are held that a solver reads many times."""

from typing import NamedTuple

from skimp.data._context import Context
from skimp.data._kept import keep_rows, kept_bytes
from skimp.data._rows import Rows
from skimp.data._spilled import SpilledRows

_RECOMPUTED = ", features recomputed in every pass to save memory"
_SPILLED = ", codes kept in a temporary file to save memory"


class Held(NamedTuple):
    """Rows, whether their features are in memory, and where they are if not, for messages."""

    rows: Rows
    in_memory: bool
    note: str


def hold_rows(rows: Rows, room: int, context: Context) -> Held:
    """Keep features that take at most ``room`` bytes in memory, and codes otherwise in a file.

    Codes are small and take long to compute, so that reading them from a file pays off. Other
    features are computed again each time that the rows are read.
    """
    in_memory = kept_bytes(rows) <= room
    if not in_memory and (rows.coded is None or rows.stored):
        return Held(rows, False, "" if rows.stored else _RECOMPUTED)
    with context.phase("features", unit="rows", total=rows.n_rows):
        if in_memory:
            return Held(keep_rows(rows, context), True, "")
        return Held(SpilledRows(rows, context), False, _SPILLED)
