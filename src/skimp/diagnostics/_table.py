"""Base classes of results that are tables."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skimp._core._lines import Lined, Lines, cut, span
from skimp._params._rules import broken


class Table(Lined, ABC):
    """A result that prints as a few lines and converts to a pandas frame."""

    @abstractmethod
    def _table(self) -> Any:
        """Return a dict of columns, or a list of dicts, one per row."""

    def to_frame(self) -> Any:
        """Return all numbers as a pandas frame, one row per result."""
        import pandas as pd

        return pd.DataFrame(self._table())


@dataclass(frozen=True, repr=False)
class Comparison(Table, ABC):
    """Several parts in several sizes, fitted to the same rows; one record each."""

    records: tuple[dict[str, Any], ...]

    def _describe(self, kind: str, error: str, meaning: str, parameter: str = "sizes") -> Lines:
        """Return the sizes, and the mean error and seconds of each part at the largest size."""
        sizes = sorted({record["size"] for record in self.records})
        largest: dict[str, list[tuple[float, float]]] = {}
        for row in self._table():
            if row["size"] == sizes[-1]:
                largest.setdefault(row[kind], []).append((row[error], row["seconds"]))
        lines = [
            (" ".join(name.split()), "{:.3g}, {:.3g} s".format(*np.mean(found, axis=0)))
            for name, found in largest.items()
        ]
        return [
            (parameter, span(sizes, ",")),
            ("repeats", f"{1 + max(record['repeat'] for record in self.records)}"),
            (f"at {sizes[-1]:,}", f"{meaning}, and seconds"),
            *cut(lines, "to_frame()"),
        ]


def name_parts(owner: str, name: str, given: Any, kind: Any, wording: str) -> dict[str, Any]:
    """Return parts by name; members of a sequence are named by their repr."""
    if isinstance(given, kind):
        given = [given]
    if not isinstance(given, Mapping | Sequence) or not given:
        raise broken(owner, name, f"a nonempty mapping or sequence of {wording}", given)
    if isinstance(given, Mapping):
        return dict(given)
    named, counts = {}, dict[str, int]()
    for part in given:
        text = part if isinstance(part, str) else repr(part)
        counts[text] = counts.get(text, 0) + 1
        named[text if counts[text] == 1 else f"{text} ({counts[text]})"] = part
    return named
