"""Text on stdout and progress on stderr, with rich if it is installed."""

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from textwrap import fill
from typing import Any

WIDTH = 96


class Screen:
    """Print paragraphs and tables on stdout, and the step that is running on stderr."""

    def __init__(self) -> None:
        self._out = self._err = None
        try:
            from rich.console import Console
        except ImportError:
            return
        options: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}
        self._out = Console(soft_wrap=True, **options)
        self._err = Console(stderr=True, **options)

    def show(self, text: str = "", style: str = "") -> None:
        """Print lines as they are."""
        if self._out is None:
            sys.stdout.write(f"{text}\n")
        else:
            self._out.print(text, style=style)
        sys.stdout.flush()

    def say(self, text: str, style: str = "") -> None:
        """Print a paragraph, wrapped."""
        self.show(fill(text, WIDTH), style)

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print a table, its first column aligned to the left; rows of skimp are bold."""
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        lines = [
            "  ".join(
                cell.rjust(width) if number else cell.ljust(width)
                for number, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in (header, *rows)
        ]
        self.show()
        self.show(f"  {lines[0]}", "dim")
        for row, line in zip(rows, lines[1:], strict=True):
            self.show(f"  {line}", "bold" if row[0].startswith("skimp") else "")
        self.show()

    def step(self, text: str) -> AbstractContextManager[Any]:
        """Name what runs: a spinner if stderr is a terminal, a line if it is not."""
        if self._err is not None and self._err.is_terminal:
            return self._err.status(text)
        sys.stderr.write(f"{text} ...\n")
        sys.stderr.flush()
        return nullcontext()
