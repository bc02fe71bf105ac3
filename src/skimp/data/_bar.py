"""A bar on the terminal, drawn by rich: the one module of the library that imports it."""

from typing import final

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

_LEAST = 0.5
"""Seconds before which a phase has no bar."""


@final
class Bar:
    """Lines on standard error, and below them a bar of the phase that is under way."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        columns = BarColumn(20), TextColumn("{task.description}", markup=False)
        # rich would send what others write to standard output to standard error
        self._progress = Progress(
            *columns, console=self._console, transient=True, redirect_stdout=False
        )
        self._task = self._progress.add_task("", total=None)

    def write(self, line: str) -> None:
        """Write a line above the bar."""
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def show(self, line: str, fraction: float | None, seconds: float) -> None:
        """Draw the bar, which moves to and fro if the share that is done is not known."""
        if seconds < _LEAST:
            return
        self._progress.start()
        total, completed = (None, 0.0) if fraction is None else (1.0, fraction)
        self._progress.update(self._task, description=line, total=total, completed=completed)

    def close(self) -> None:
        """Remove the bar."""
        self._progress.stop()
