"""Predicted seconds and memory of a fit, by phase."""

from dataclasses import asdict, dataclass, fields
from typing import Any

from skimp._core._html import table
from skimp._core._work import DOUBLE, Size, Stage, Work, calls, stream
from skimp._params._memory import readable
from skimp._params._rules import broken
from skimp.features import FeatureMap
from skimp.kernels import Gaussian
from skimp.losses import Loss, Squared
from skimp.solvers import Auto, Solver
from skimp.solvers.ridge import exact_cost


@dataclass(frozen=True)
class Rates:
    """Speeds of a machine, in units per second.

    Attributes
    ----------
    gemm32, gemm64 : float
        Floating point operations of matrix products on row blocks, on all threads together.
    factor64 : float
        Floating point operations of LAPACK in float64, such as Cholesky, on one thread.
    values : float
        Evaluations of a function such as exp in float64, on all threads together.
    bytes : float
        Bytes read sequentially from memory, on all threads together.
    gathers : float
        Random reads and writes of coefficients, on one thread.
    sweeps : float
        Multiply-adds of dense rows in random order with coefficients, on one thread.
    calls : float
        Calls of NumPy functions on tiny arrays, on one thread.
    """

    gemm32: float
    gemm64: float
    factor64: float
    values: float
    bytes: float
    gathers: float
    sweeps: float
    calls: float


NOMINAL = Rates(
    gemm32=150e9,
    gemm64=70e9,
    factor64=20e9,
    values=5e8,
    bytes=20e9,
    gathers=6e7,
    sweeps=1e9,
    calls=1e6,
)
"""Speeds of a nominal machine with two cores, for reproducible choices."""


@dataclass(frozen=True)
class Phase:
    """A part of a fit.

    Attributes
    ----------
    name : str
        "read", "select" or "draw", "factor", "solve".
    seconds : float
        Duration.
    bytes : int
        Peak memory besides the data, including results of earlier phases.
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
        The phases in order, each with ``name``, ``seconds`` and ``bytes``.
    """

    phases: tuple[Phase, ...]

    @property
    def seconds(self) -> float:
        """Total seconds."""
        return sum(phase.seconds for phase in self.phases)

    @property
    def bytes(self) -> int:
        """Peak memory in bytes, besides the data."""
        return max(phase.bytes for phase in self.phases)

    def to_dict(self) -> dict[str, Any]:
        """Return the totals and the phases."""
        phases = [asdict(phase) for phase in self.phases]
        return {"seconds": self.seconds, "bytes": self.bytes, "phases": phases}

    def to_frame(self) -> Any:
        """Return a pandas frame with one row per phase."""
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
        total = Phase("total", self.seconds, self.bytes)
        return [
            (phase.name, f"{phase.seconds:.2f}", readable(phase.bytes))
            for phase in (*self.phases, total)
        ]


def seconds(work: Work, rates: Rates) -> float:
    """Return the seconds that some work takes at given speeds."""
    return float(sum(getattr(work, f.name) / getattr(rates, f.name) for f in fields(Rates)))


def predict_phases(
    feature_map: FeatureMap | None,
    size: Size,
    *,
    loss: Loss,
    solver: Solver,
    rates: Rates,
    alpha: float = 1e-6,
) -> tuple[Phase, ...]:
    """Predict the cost of each phase of a fit from sizes only.

    ``feature_map`` need not be fitted. None stands for the exact model with the squared loss.
    """
    read = stream(2 * size.data_bytes) + 2 * calls(size.n_rows)
    stages = [Stage("read", read, 0)]
    if feature_map is None:
        if not (isinstance(loss, Squared) and isinstance(solver, Auto)):
            raise broken("predict_phases", "feature_map", "a feature map for this loss", None)
        n = size.n_rows
        held = 9 * n**2 + 16 * n * size.n_features
        stages += [Stage("factor", Gaussian().work(n, n, size, DOUBLE), held), exact_cost(size)]
    else:
        mapped = feature_map.cost(size)
        stages += [*mapped.stages, solver.cost(mapped, size, loss, alpha)]
    return tuple(Phase(s.name, seconds(s.work, rates), int(s.bytes)) for s in stages)
