"""What a fit may take, and whether a map would take more."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import monotonic
from warnings import warn

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from skimp._core._blocks import block_rows_for
from skimp._core._threads import thread_count
from skimp._params._memory import parse_bytes, require_memory
from skimp.choice._cost import Phase, Shape, Traits, predicted_phases
from skimp.choice._plan import Plan
from skimp.choice._rates import NOMINAL
from skimp.data import Rows
from skimp.features import FeatureMap
from skimp.losses import Loss
from skimp.solvers import DIRECT_FEATURES, Solver

MEMORY, TIME = "memory_limit", "time_limit"
_RIDGE = 0.3
"""The penalty n alpha of a model whose penalty is not known yet."""
_THREADS = 2
"""Threads of an ordinary machine."""
_SEARCH = 0.4
"""Share of the time after which a search tries nothing new."""
_FIRST = 0.04
"""Share of the time that the first trial may take on an ordinary machine."""
_CAUTION = 0.8
"""Share of the time left that a fit may be predicted to take."""
_LEAST_SIZE, _LEAST_ROWS = 8, 64
"""The smallest trial, and the smallest model that a limit leads to."""
_COPIES, _LEAST_BLOCK = 16, 16
"""A block of each thread may take this part of the memory, and has at least so many rows."""
_SLOWEST, _FASTEST = 20.0, 0.5
"""Bounds of observed over predicted seconds: short trials are not measured well."""
_DOUBLE = np.dtype(np.float64)


@dataclass
class Limits:
    """Predicted costs of fits to some rows, and what they may be.

    Seconds are those of an ordinary machine, since choices must not depend on a clock, unless
    there is a ``time_limit``: then they are multiplied by how much longer trials took.
    """

    rows: Rows
    n_outputs: int
    loss: Loss
    solver: Solver
    labelled: bool
    memory_limit: int | str | None = None
    time_limit: float | None = None
    deadline: float | None = None
    slowness: float = field(default=1.0, init=False)

    @cached_property
    def _shape(self) -> Shape:
        rows = self.rows
        first = next(rows.blocks()).X
        stored = first.nnz / max(1, np.prod(first.shape)) if sparse.issparse(first) else 1.0
        return Shape(rows.n_rows, rows.n_features, rows.dtype, self.n_outputs, float(stored))

    @cached_property
    def _allowed(self) -> int:
        return parse_bytes(self.memory_limit)

    def _phases(
        self,
        approximation: FeatureMap,
        ridge: float = _RIDGE,
        traits: Traits | None = None,
        n_rows: int | None = None,
    ) -> tuple[Phase, ...]:
        n = self.rows.n_rows if n_rows is None else n_rows
        return predicted_phases(
            approximation,
            replace(self._shape, n_rows=n),
            loss=self.loss,
            solver=self.solver,
            labelled=self.labelled,
            rates=NOMINAL,
            memory_limit=self.memory_limit,
            n_jobs=_THREADS,
            alpha=ridge / max(1, n),
            traits=traits,
        )

    def nominal_seconds(
        self, approximation: FeatureMap, ridge: float, traits: Traits | None = None
    ) -> float:
        """Return the seconds of a fit on an ordinary machine, for a penalty n alpha."""
        return sum(phase.seconds for phase in self._phases(approximation, ridge, traits))

    @property
    def are_near(self) -> bool:
        """Tell whether a search has used up its part of the time."""
        if self.deadline is None or self.time_limit is None:
            return False
        return monotonic() > self.deadline - (1 - _SEARCH) * self.time_limit

    def have_room_for(self, width: int) -> bool:
        """Tell whether normal equations of some features, several times, fit the limits."""
        threads = thread_count(self.rows.n_jobs)
        needed = (56 + 32 * threads) * width**2 + 16 * threads * self.rows.block_rows * width
        return width <= DIRECT_FEATURES and needed <= self._allowed

    def exceeded_by(
        self, approximation: FeatureMap, *, trials: float = 0.0, n_rows: int | None = None
    ) -> str:
        """Return which limit a fit would exceed, after trials of some seconds; '' for none."""
        phases = self._phases(approximation, n_rows=n_rows)
        if max(phase.bytes for phase in phases) > self._allowed:
            return MEMORY
        if self.deadline is None:
            return ""
        left = self.deadline - monotonic() - trials
        seconds = self.slowness * sum(phase.seconds for phase in phases)
        return TIME if seconds > _CAUTION * left else ""

    def shrunk(self, approximation: FeatureMap) -> tuple[FeatureMap, int, str]:
        """Return a map and a number of rows that stay within the limits, and which limit made it.

        Landmarks are drawn at random first, the size is halved then, and the rows at last.
        """
        why, n = self.exceeded_by(approximation), self.rows.n_rows
        if not why:
            return approximation, n, ""
        limit = why
        if "selector" in approximation.get_params(deep=False):
            approximation = clone(approximation).set_params(selector="uniform")
            why = self.exceeded_by(approximation)
        while why and approximation.size is not None and approximation.size > 4 * _LEAST_SIZE:
            approximation = approximation.resized(approximation.size // 2)
            why = self.exceeded_by(approximation)
        while why and n > _LEAST_ROWS:
            n //= 2
            why = self.exceeded_by(approximation, n_rows=n)
        while why and approximation.size is not None and approximation.size > _LEAST_SIZE:
            approximation = approximation.resized(approximation.size // 2)
            why = self.exceeded_by(approximation, n_rows=n)
        rows = "" if n == self.rows.n_rows else f", and more than {n} of {self.rows.n_rows} rows"
        return approximation, n, f"a larger model{rows} would exceed {limit}"

    @property
    def block_rows(self) -> int:
        """Rows in a block of which each thread may hold several copies."""
        rows, threads = self.rows, thread_count(self.rows.n_jobs)
        fitting = self._allowed // (_COPIES * 8 * threads * max(1, rows.n_features))
        return min(rows.block_rows, max(_LEAST_BLOCK, fitting))

    def affordable_rows(self, most: int) -> int:
        """Return how many rows take no more than a small part of the memory, up to some."""
        row = self._drawn_bytes(1) // 2
        return max(_LEAST_ROWS, min(most, self._allowed // (_COPIES * max(1, row))))

    def first_trial(self, size: int, n_rows: int, *, left_out: bool) -> tuple[int, int]:
        """Return the size and the rows of the first trials, fewer if limits leave little room."""
        while n_rows > _LEAST_ROWS or size > _LEAST_SIZE:
            seconds = 0.0 if self.time_limit is None else self._trial_seconds(size, n_rows)
            late = seconds > _FIRST * (self.time_limit or 1.0)
            if not late and self._trial_bytes(size, n_rows, left_out) <= self._allowed:
                break
            if n_rows > max(16 * size, _LEAST_ROWS) or size <= _LEAST_SIZE:
                n_rows = max(_LEAST_ROWS, n_rows // 2)
            else:
                size = max(_LEAST_SIZE, size // 2)
        return size, n_rows

    def most_rows(self, width: int, n_rows: int) -> int:
        """Return how many rows can be left out one by one, for a map of some width."""
        while n_rows > _LEAST_ROWS and self._trial_bytes(width, n_rows, True) > self._allowed:
            n_rows //= 2
        return n_rows

    def trial_exceeded_by(self, approximation: FeatureMap, n_rows: int, *, left_out: bool) -> str:
        """Return which limit a trial on some rows would exceed, '' for none."""
        exceeded = self.trial_bytes(approximation, n_rows, left_out=left_out) > self._allowed
        return MEMORY if exceeded else ""

    def trial_bytes(self, approximation: FeatureMap, n_rows: int, *, left_out: bool) -> int:
        """Return what a trial on some rows holds."""
        width = approximation.planned_width(self.rows)
        if width <= DIRECT_FEATURES or approximation.size == width:
            return self._trial_bytes(width, n_rows, left_out)
        # codes of bins, which have no equations
        phases = self._phases(approximation, n_rows=n_rows)
        return self._drawn_bytes(n_rows) + max(phase.bytes for phase in phases)

    def _drawn_bytes(self, n_rows: int) -> int:
        """Return the size of rows that are drawn, and once more in parts."""
        entries = 2 * n_rows * self.rows.n_features * self._shape.density
        return int(entries * self.rows.dtype.itemsize)

    def _trial_bytes(self, width: int, n_rows: int, left_out: bool) -> int:
        threads = thread_count(self.rows.n_jobs)
        width = min(width, n_rows)
        # equations, whitened ones, and factors of them in threads; or eigenvectors
        squares = 9 if left_out else 4 + 3 * threads
        # half as many rows judge
        drawn = self._drawn_bytes(n_rows if left_out else n_rows + n_rows // 2)
        held = drawn + 8 * squares * width**2
        block = min(n_rows, self.rows.block_rows, block_rows_for(width, _DOUBLE))
        held += 8 * threads * block * (3 * width + 80 * self.n_outputs)
        return held + (8 * n_rows * width if left_out else 0)

    def _trial_seconds(self, size: int, n_rows: int) -> float:
        """Return about how long a trial takes on an ordinary machine."""
        d = self.rows.n_features * self._shape.density
        products = (2 * d + 4 * size + 50 * self.n_outputs) * n_rows * size
        return products / NOMINAL.gemm64 + 9 * size**3 / NOMINAL.factor64 + 5e-3

    def observe(self, approximation: FeatureMap, n_rows: int, seconds: float) -> None:
        """Learn from a trial how fast this machine is."""
        if self.deadline is None or approximation.size is None:
            return
        predicted = self._trial_seconds(approximation.size, n_rows)
        self.slowness = min(_SLOWEST, max(_FASTEST, seconds / predicted))

    def planned_bytes(self, approximation: FeatureMap) -> dict[str, int]:
        """Return what making the map and solving are to hold."""
        *made, solved = self._phases(approximation)
        return {"map": max(phase.bytes for phase in made), "solve": solved.bytes}

    def warn_of_time(self, approximation: FeatureMap, owner: str) -> None:
        """Warn if a fit whose size was given is predicted not to end in time."""
        if self.exceeded_by(approximation) == TIME:
            plan = Plan(self._phases(approximation))
            warn(
                f"{owner}: time_limit={self.time_limit} will probably be exceeded by "
                f"approximation={approximation!r}. The plan of the fit:\n{plan}",
                ConvergenceWarning,
                stacklevel=6,
            )

    @contextmanager
    def explained(self, approximation: FeatureMap, *, given: bool = True) -> Iterator[None]:
        """Refuse a map above memory_limit if it was given, and append the plan to the message."""
        try:
            if given:
                require_memory(
                    approximation.planned_bytes(self.rows),
                    self.memory_limit,
                    f"a model of {approximation.planned_width(self.rows)} landmarks or features",
                    "take fewer of them",
                )
            yield
        except MemoryError as error:
            plan = Plan(self._phases(approximation))
            raise MemoryError(f"{error} The plan of the fit:\n{plan}") from None
