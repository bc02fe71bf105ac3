"""A progress bar in the terminal, drawn by rich."""

from typing import final

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column

from skimp.data._progress import Phase

_LEAST = 0.5
"""The bar appears after this many seconds of a phase."""


@final
class Bar:
    """Lines on standard error, with a progress bar of the current phase below them."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._progress = Progress(
            BarColumn(20, table_column=Column(min_width=20)),
            TimeElapsedColumn(),
            TextColumn(
                "{task.description}",
                markup=False,
                table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis"),
            ),
            console=self._console,
            transient=True,
            # otherwise rich would redirect standard output to standard error
            redirect_stdout=False,
            expand=True,
        )
        self._phase: Phase | None = None

    def write(self, line: str) -> None:
        """Write a line above the bar."""
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def show(self, phase: Phase, line: str, words: str, fraction: float | None) -> None:
        """Draw the bar, which pulses if the completed share is unknown."""
        if phase.seconds < _LEAST:
            return
        text = f"{phase.name}  {words}"
        if phase is not self._phase:
            self._phase = phase
            for task in self._progress.task_ids:
                self._progress.remove_task(task)
            self._task = self._progress.add_task(text)
            self._progress.start()
        # rich stops the clock of a task that is complete
        total, completed = (None, 0.0) if fraction is None else (1.0, min(fraction, 0.999))
        self._progress.update(self._task, description=text, total=total, completed=completed)

    def close(self) -> None:
        """Remove the bar."""
        self._progress.stop()
