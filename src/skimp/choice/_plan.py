"""What a fit is predicted to cost, phase by phase."""

from dataclasses import asdict, dataclass
from typing import Any

from skimp._core._html import table
from skimp._params._memory import readable
from skimp.choice._counts import Phase


@dataclass(frozen=True)
class Plan:
    """Predicted seconds and bytes of a fit, by phase.

    Attributes
    ----------
    phases : tuple of Phase
        In their order; each has a ``name``, ``seconds`` and ``bytes``.
    """

    phases: tuple[Phase, ...]

    @property
    def seconds(self) -> float:
        """Return the seconds of all phases."""
        return sum(phase.seconds for phase in self.phases)

    @property
    def bytes(self) -> int:
        """Return the most bytes that are held at the same time, besides the data."""
        return max(phase.bytes for phase in self.phases)

    def to_dict(self) -> dict[str, Any]:
        """Return the totals and the phases."""
        phases = [asdict(phase) for phase in self.phases]
        return {"seconds": self.seconds, "bytes": self.bytes, "phases": phases}

    def to_frame(self) -> Any:
        """Return a pandas frame with a row for each phase."""
        import pandas as pd

        return pd.DataFrame([asdict(phase) for phase in self.phases])

    def __repr__(self) -> str:
        """Return a table of the phases."""
        lines = [("phase", "seconds", "memory"), *self._cells()]
        widths = [max(len(line[column]) for line in lines) for column in range(3)]
        return "\n".join(
            f"{name:<{widths[0]}}  {seconds:>{widths[1]}}  {size:>{widths[2]}}"
            for name, seconds, size in lines
        )

    def _repr_html_(self) -> str:
        """Return the table for notebooks."""
        return table(("phase", "seconds", "memory"), self._cells())

    def _cells(self) -> list[tuple[str, str, str]]:
        total = Phase("fit", self.seconds, self.bytes)
        return [
            (phase.name, f"{phase.seconds:.2f}", readable(phase.bytes))
            for phase in (*self.phases, total)
        ]
