"""What a fit may take, and whether a map would take more."""

from dataclasses import dataclass
from functools import cached_property
from time import monotonic

import numpy as np
from scipy import sparse

from skimp._core._memory import parse_bytes, readable
from skimp._core._rates import NOMINAL, Rates, measured_rates
from skimp._core._threads import thread_count
from skimp.data import Rows
from skimp.diagnostics._cost import Phase, Shape, predicted_phases
from skimp.diagnostics._plan import Plan
from skimp.features import FeatureMap
from skimp.losses import Loss
from skimp.solvers import Solver

_RIDGE = 0.3
"""The penalty n alpha of a model whose penalty is not known yet."""
_WIDE = 3000
"""Features beyond which there are no equations, but codes."""
_CAUTION = 0.8
"""Share of the time left that a fit may be predicted to take."""


@dataclass(frozen=True)
class Limits:
    """Predicted costs of fits to some rows, and what they may be."""

    rows: Rows
    n_outputs: int
    loss: Loss
    solver: Solver
    labelled: bool
    memory_limit: int | str | None = None
    deadline: float | None = None

    @cached_property
    def _shape(self) -> Shape:
        rows = self.rows
        first = next(rows.blocks()).X
        stored = first.nnz / max(1, np.prod(first.shape)) if sparse.issparse(first) else 1.0
        return Shape(rows.n_rows, rows.n_features, rows.dtype, self.n_outputs, float(stored))

    def _phases(
        self, approximation: FeatureMap, rates: Rates, ridge: float = _RIDGE
    ) -> tuple[Phase, ...]:
        return predicted_phases(
            approximation,
            self._shape,
            loss=self.loss,
            solver=self.solver,
            labelled=self.labelled,
            rates=rates,
            memory_limit=self.memory_limit,
            n_jobs=self.rows.n_jobs,
            alpha=ridge / max(1, self.rows.n_rows),
        )

    def nominal_seconds(self, approximation: FeatureMap, ridge: float) -> float:
        """Return seconds on an ordinary machine, for a penalty n alpha.

        Choices must not depend on the clock.
        """
        return sum(phase.seconds for phase in self._phases(approximation, NOMINAL, ridge))

    def exceeded_by(self, approximation: FeatureMap, n_rows: int, trials: float) -> str:
        """Return which limit a trial on some rows, and a fit after it, would exceed, '' for none.

        Trials are predicted to take some seconds.
        """
        allowed = parse_bytes(self.memory_limit)
        phases = self._phases(approximation, NOMINAL)
        if max(phase.bytes for phase in phases) > allowed:
            return "memory_limit"
        width = min(approximation.planned_width(self.rows), _WIDE)
        # rows that are drawn, and once more in parts; equations, and factors of them in threads
        drawn = 2 * n_rows * self.rows.n_features * self.rows.dtype.itemsize * self._shape.density
        if drawn + 8 * (4 + 3 * thread_count(self.rows.n_jobs)) * width**2 > allowed:
            return "memory_limit"
        if self.deadline is None:
            return ""
        phases = self._phases(approximation, measured_rates(self.rows.n_jobs))
        left = self.deadline - monotonic() - trials
        return "time_limit" if sum(p.seconds for p in phases) > _CAUTION * left else ""

    def require(self, approximation: FeatureMap) -> None:
        """Raise a `MemoryError` with the plan in it where a fit would not fit the memory."""
        plan = Plan(self._phases(approximation, NOMINAL))
        allowed = parse_bytes(self.memory_limit)
        if plan.bytes > allowed:
            raise MemoryError(
                f"a model of {approximation.planned_width(self.rows)} landmarks or features needs "
                f"{readable(plan.bytes)}, more than the memory limit of {readable(allowed)}: take "
                f"fewer of them, or raise memory_limit. The plan:\n{plan}"
            )
