"""Seconds of the phases of a computation."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter


class Clock:
    """Adds up the seconds that each phase took."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count what is done inside as this phase."""
        start = perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + perf_counter() - start
