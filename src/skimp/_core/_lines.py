"""Records that print as aligned lines of names and values."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from textwrap import wrap

from skimp._core._html import table
from skimp._core._types import Array

Lines = list[tuple[str, str]]
_MOST = 10
"""The largest number of list entries to print."""
_COLUMNS = 100
"""Longest printed line, in characters."""


class Lined(ABC):
    """A record that prints as aligned lines, and as a table in a notebook."""

    @abstractmethod
    def _lines(self) -> Lines:
        """Return the name and the text of each line."""

    def __repr__(self) -> str:
        """Return the lines with aligned texts, long ones wrapped."""
        lines = self._lines()
        start = 2 + max(len(name) for name, _ in lines)
        margin = "\n" + " " * start
        return "\n".join(
            f"{name:<{start}}{margin.join(wrap(text, _COLUMNS - start))}" for name, text in lines
        )

    def _repr_html_(self) -> str:
        return table((type(self).__name__, ""), self._lines())


def brief(text: str) -> str:
    """Return a text on one line, its decimals rounded to four significant digits."""
    rounded = re.sub(r"\d+\.\d{4,}(e[+-]?\d+)?", lambda found: f"{float(found[0]):.4g}", text)
    return " ".join(rounded.split())


def cut(lines: Lines, where: str) -> Lines:
    """Shorten a long list of lines, and say which attribute holds the rest."""
    if len(lines) <= _MOST:
        return lines
    return [*lines[:_MOST], ("...", f"{len(lines) - _MOST} more, see {where}")]


def span(values: Sequence[float] | Array, form: str = ".3g") -> str:
    """Describe values by their number and range, or a single value by itself."""
    low, high = min(values), max(values)
    several = f"{len(values)}, from {low:{form}} to {high:{form}}"
    return several if len(values) > 1 else f"{low:{form}}"
