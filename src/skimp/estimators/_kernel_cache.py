"""A cache for rows of a kernel matrix."""

from collections import OrderedDict
from dataclasses import dataclass

from skimp._core._types import Array
from skimp._params._memory import readable


@dataclass(frozen=True)
class CacheUse:
    """How much a kernel cache saved.

    Attributes
    ----------
    limit : int
        Its size in bytes.
    used : int
        The most bytes that it held.
    hits : int
        Kernel values that it supplied.
    computed : int
        Kernel values that had to be computed.
    seconds : float
        Time of computing them.
    """

    limit: int
    used: int
    hits: int
    computed: int
    seconds: float

    @property
    def share(self) -> float:
        """Share of the kernel values that came from the cache."""
        return self.hits / max(1, self.hits + self.computed)

    def __str__(self) -> str:
        """Describe the use in one line."""
        return (
            f"{readable(self.used)} of {readable(self.limit)} used, {100 * self.share:.0f} % of "
            f"{self.hits + self.computed:,} kernel values cached, {self.seconds:.2f} s for the rest"
        )


class KernelCache:
    """Prefixes of rows of a kernel matrix, by row number; the least recently used go first.

    Parameters
    ----------
    limit : int
        Size in bytes.
    """

    def __init__(self, limit: int):
        self.limit = limit
        self._rows: OrderedDict[int, Array] = OrderedDict()
        self._bytes = self._most = 0

    def get(self, row: int) -> Array | None:
        """Return the known values of a row, or None."""
        values = self._rows.get(row)
        if values is not None:
            self._rows.move_to_end(row)
        return values

    def put(self, row: int, values: Array) -> None:
        """Store values of a row, and drop others if there is no room."""
        if values.nbytes > self.limit:
            return
        known = self._rows.pop(row, None)
        self._bytes += values.nbytes - (0 if known is None else known.nbytes)
        self._rows[row] = values
        while self._bytes > self.limit:
            self._bytes -= self._rows.popitem(last=False)[1].nbytes
        self._most = max(self._most, self._bytes)

    def clear(self) -> None:
        """Drop all rows."""
        self._rows.clear()
        self._bytes = 0

    def use(self, hits: int, computed: int, seconds: float) -> CacheUse:
        """Return a record of the use so far."""
        return CacheUse(self.limit, self._most, hits, computed, seconds)
