"""Progress of long passes over the rows, as lines on standard error."""

import sys
import time


class LineReport:
    """Writes how far the present pass has come, once a second."""

    def __init__(self, label: str):
        self._label = label
        self._done = 0
        self._began = self._written = time.monotonic()

    def __call__(self, n_rows: int) -> None:
        """Say that this many rows of the present pass are done."""
        now = time.monotonic()
        if n_rows <= self._done:
            self._began = now
        self._done = n_rows
        if now - self._written >= 1.0:
            self._written = now
            sys.stderr.write(f"{self._label}: {n_rows:,} rows in {now - self._began:.0f} s\n")
