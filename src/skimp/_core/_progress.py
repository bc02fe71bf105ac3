"""Progress of long passes over the rows, as one line on standard error."""

import sys
import time


class LineReport:
    """Rewrites one line, at most five times a second, and ends it when a new pass begins."""

    def __init__(self, label: str):
        self._label = label
        self._done = 0
        self._began = self._written = time.monotonic()

    def __call__(self, n_rows: int) -> None:
        """Say that this many rows of the present pass are done."""
        now = time.monotonic()
        if n_rows < self._done:
            self._began = now
            sys.stderr.write("\n")
        self._done = n_rows
        if now - self._written >= 0.2:
            self._written = now
            sys.stderr.write(f"\r{self._label}: {n_rows:,} rows in {now - self._began:.1f} s")
            sys.stderr.flush()
