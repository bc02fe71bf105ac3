"""Counting of kernel values, across threads, for whoever asked for it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Tally:
    """A count that threads add to."""

    def __init__(self) -> None:
        self.count = 0
        self._lock = threading.Lock()

    def add(self, number: int) -> None:
        """Add a number."""
        with self._lock:
            self.count += number


_tally: ContextVar[Tally | None] = ContextVar("skimp_tally", default=None)


@contextmanager
def counted() -> Iterator[Tally]:
    """Count what is computed inside, by this thread and by those that it starts."""
    tally = Tally()
    token = _tally.set(tally)
    try:
        yield tally
    finally:
        _tally.reset(token)


def count(number: int) -> None:
    """Add a number to the tally, if there is one."""
    tally = _tally.get()
    if tally is not None:
        tally.add(number)
