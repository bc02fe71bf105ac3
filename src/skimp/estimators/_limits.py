"""What a fit may take, and whether a map would take more."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from time import monotonic

import numpy as np
from scipy import sparse

from skimp._core._memory import parse_bytes, require_memory
from skimp._core._rates import NOMINAL, Rates, measured_rates
from skimp._core._threads import thread_count
from skimp.data import Rows
from skimp.diagnostics._cost import Phase, Shape, Traits, predicted_phases
from skimp.diagnostics._plan import Plan
from skimp.features import FeatureMap, RandomBinning
from skimp.losses import Loss
from skimp.solvers import Solver
from skimp.solvers._auto import FEW

MEMORY = "memory_limit"
_RIDGE = 0.3
"""The penalty n alpha of a model whose penalty is not known yet."""
_THREADS = 2
"""Threads of an ordinary machine."""
_SEARCH = 0.4
"""Share of the time after which a search tries nothing new."""
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
    time_limit: float | None = None
    deadline: float | None = None

    @cached_property
    def _shape(self) -> Shape:
        rows = self.rows
        first = next(rows.blocks()).X
        stored = first.nnz / max(1, np.prod(first.shape)) if sparse.issparse(first) else 1.0
        return Shape(rows.n_rows, rows.n_features, rows.dtype, self.n_outputs, float(stored))

    def _phases(
        self,
        approximation: FeatureMap,
        rates: Rates,
        ridge: float = _RIDGE,
        traits: Traits | None = None,
    ) -> tuple[Phase, ...]:
        return predicted_phases(
            approximation,
            self._shape,
            loss=self.loss,
            solver=self.solver,
            labelled=self.labelled,
            rates=rates,
            memory_limit=self.memory_limit,
            n_jobs=_THREADS if rates is NOMINAL else self.rows.n_jobs,
            alpha=ridge / max(1, self.rows.n_rows),
            traits=traits,
        )

    def nominal_seconds(
        self, approximation: FeatureMap, ridge: float, traits: Traits | None = None
    ) -> float:
        """Return seconds on an ordinary machine, for a penalty n alpha.

        Choices must not depend on the clock.
        """
        return sum(phase.seconds for phase in self._phases(approximation, NOMINAL, ridge, traits))

    @property
    def are_near(self) -> bool:
        """Tell whether a search has used up its part of the time."""
        if self.deadline is None or self.time_limit is None:
            return False
        return monotonic() > self.deadline - (1 - _SEARCH) * self.time_limit

    def have_room_for(self, width: int) -> bool:
        """Tell whether normal equations of some features, several times, fit the memory."""
        threads = thread_count(self.rows.n_jobs)
        needed = (56 + 32 * threads) * width**2 + 16 * threads * self.rows.block_rows * width
        return width <= FEW and needed <= parse_bytes(self.memory_limit)

    def exceeded_by(self, approximation: FeatureMap, n_rows: int, trials: float) -> str:
        """Return which limit a trial on some rows, and a fit after it, would exceed, '' for none.

        Trials are predicted to take some seconds.
        """
        allowed = parse_bytes(self.memory_limit)
        phases = self._phases(approximation, NOMINAL)
        if max(phase.bytes for phase in phases) > allowed:
            return MEMORY
        if self.trial_bytes(approximation, n_rows) > allowed:
            return MEMORY
        if self.deadline is None:
            return ""
        phases = self._phases(approximation, measured_rates(self.rows.n_jobs))
        left = self.deadline - monotonic() - trials
        return "time_limit" if sum(p.seconds for p in phases) > _CAUTION * left else ""

    def trial_bytes(self, approximation: FeatureMap, n_rows: int) -> int:
        """Return what a trial on some rows holds: they are drawn, and once more in parts."""
        entries = 2 * n_rows * self.rows.n_features * self._shape.density
        drawn = int(entries * self.rows.dtype.itemsize)
        if isinstance(approximation, RandomBinning):
            phases = self._phases(approximation, NOMINAL)
            return drawn + max(phase.bytes for phase in phases) * n_rows // self.rows.n_rows
        # equations, whitened ones, and factors of them in threads
        squares = 4 + 3 * thread_count(self.rows.n_jobs)
        return drawn + 8 * squares * approximation.planned_width(self.rows) ** 2

    def planned_bytes(self, approximation: FeatureMap) -> dict[str, int]:
        """Return what making the map and solving are to hold."""
        *made, solved = self._phases(approximation, NOMINAL)
        return {"map": max(phase.bytes for phase in made), "solve": solved.bytes}

    @contextmanager
    def explained(self, approximation: FeatureMap) -> Iterator[None]:
        """Add the plan to the message where a part of the fit refuses to exceed the memory."""
        try:
            require_memory(
                approximation.planned_bytes(self.rows),
                self.memory_limit,
                f"a model of {approximation.planned_width(self.rows)} landmarks or features",
                "take fewer of them",
            )
            yield
        except MemoryError as error:
            plan = Plan(self._phases(approximation, NOMINAL))
            raise MemoryError(f"{error} The plan of the fit:\n{plan}") from None
