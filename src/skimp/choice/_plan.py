"""What a fit is predicted to cost, phase by phase."""

from dataclasses import asdict, dataclass
from typing import Any

from skimp._core._html import table
from skimp._core._work import Size
from skimp._params._memory import readable
from skimp.choice._rates import Rates
from skimp.features import FeatureMap
from skimp.losses import Loss
from skimp.solvers import Solver


@dataclass(frozen=True)
class Phase:
    """A part of a fit.

    Attributes
    ----------
    name : str
        What is done: "read", "select" or "draw", "factor", "solve".
    seconds : float
        How long it takes.
    bytes : int
        The most that is held at the same time besides the data, with what earlier phases left.
    """

    name: str
    seconds: float
    bytes: int


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


def predict_phases(
    feature_map: FeatureMap | None,
    size: Size,
    *,
    loss: Loss,
    solver: Solver,
    rates: Rates,
    alpha: float = 1e-6,
) -> tuple[Phase, ...]:
    """Predict what the phases of a fit cost, from sizes alone.

    Parameters
    ----------
    feature_map : FeatureMap or None
        The map, not fitted; None for the exact model of the squared loss.
    size : Size
        The size of the data, and what a fit may use.
    loss : Loss
        The loss.
    solver : Solver
        The solver.
    rates : Rates
        Speeds of the machine.
    alpha : float, default=1e-6
        The penalty.

    Returns
    -------
    tuple of Phase
    """
    from skimp.choice._cost import Shape, Traits, predicted_phases

    return predicted_phases(
        feature_map,
        Shape(size.n_rows, size.n_features, size.dtype, size.n_outputs, size.density),
        loss=loss,
        solver=solver,
        labelled=size.classes,
        rates=rates,
        memory_limit=size.memory,
        n_jobs=size.threads,
        alpha=alpha,
        traits=Traits(size.conditioned, size.n_bins),
    )
