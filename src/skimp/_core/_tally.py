"""A count of kernel evaluations, summed over threads."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Tally:
    """A thread-safe counter."""

    def __init__(self) -> None:
        self.count = 0
        self._lock = threading.Lock()

    def add(self, number: int) -> None:
        with self._lock:
            self.count += number


_tally: ContextVar[Tally | None] = ContextVar("skimp_tally", default=None)


@contextmanager
def counted() -> Iterator[Tally]:
    """Count the kernel evaluations inside the block, by this thread and those it starts."""
    tally = Tally()
    token = _tally.set(tally)
    try:
        yield tally
    finally:
        _tally.reset(token)


def count(number: int) -> None:
    """Add to the tally of the enclosing `counted` block, if there is one."""
    tally = _tally.get()
    if tally is not None:
        tally.add(number)
