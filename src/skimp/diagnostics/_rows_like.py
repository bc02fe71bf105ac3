"""Whether something can be rows: what is left is for checks of arrays to say."""

from collections.abc import Mapping
from typing import Any

from skimp.data import Rows


def is_rows_like(value: Any) -> bool:
    """Return whether this has a length or a shape, as arrays, frames and sequences of rows have."""
    if isinstance(value, Rows):
        return True
    sized = hasattr(value, "__len__") or hasattr(value, "shape")
    return sized and not isinstance(value, str | bytes | Mapping | type)
