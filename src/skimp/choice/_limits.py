"""Limits of time and memory, and whether a fit would exceed them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import monotonic
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from skimp._core._blocks import block_rows_for
from skimp._core._work import DOUBLE, Size
from skimp._params._errors import MemoryLimitError
from skimp._params._memory import parse_bytes, require_memory
from skimp.choice._plan import NOMINAL, Plan, predict_phases
from skimp.choice._task import Task
from skimp.features import FeatureMap
from skimp.solvers import DIRECT_FEATURES

MEMORY, TIME = "memory_limit", "time_limit"
_RIDGE = 0.3
"""Ridge penalty n alpha that is assumed until one is chosen."""
_THREADS = 2
"""Threads of the nominal machine."""
_SEARCH = 0.4
"""Share of time_limit after which the search stops."""
_FIRST = 0.04
"""Share of time_limit that the first trial may take on the nominal machine."""
_CAUTION = 0.8
"""Share of the remaining time that a predicted fit may take."""
_LEAST_SIZE, _LEAST_ROWS = 8, 64
"""Size and rows of the smallest trial or model that a limit may lead to."""
_COPIES, _LEAST_BLOCK = 16, 16
"""A block takes at most 1/16 of the memory per thread, and has at least 16 rows."""
_SLOWEST, _FASTEST = 20.0, 0.5
"""Bounds on the ratio of measured to predicted seconds, because short trials are noisy."""


@dataclass
class Limits:
    """Predicted costs of fits, compared with the limits of a task.

    Predictions use the speed of a nominal machine, so that choices are reproducible. With a
    ``time_limit`` they are corrected by the measured seconds of trials. A fit should end before
    ``deadline``, in seconds of `time.monotonic`.
    """

    task: Task
    deadline: float | None = None
    slowness: float = field(default=1.0, init=False)

    @cached_property
    def size(self) -> Size:
        """The size of the data, and the threads and memory of a fit."""
        rows = self.task.rows
        first = next(rows.blocks()).X
        density = first.nnz / max(1, np.prod(first.shape)) if sparse.issparse(first) else 1.0
        return Size(
            rows.n_rows,
            rows.n_features,
            rows.dtype,
            self.task.n_outputs,
            float(density),
            classes=self.task.spec.classes,
            threads=_THREADS,
            memory=parse_bytes(self.task.spec.memory_limit),
        )

    def plan(
        self,
        feature_map: FeatureMap,
        ridge: float = _RIDGE,
        *,
        conditioned: bool = True,
        n_rows: int | None = None,
    ) -> Plan:
        """Predict the cost of a fit on the nominal machine, for a ridge penalty n alpha."""
        n, spec = self.size.n_rows if n_rows is None else n_rows, self.task.spec
        size = replace(self.size, n_rows=n, conditioned=conditioned)
        parts: dict[str, Any] = {"loss": spec.loss, "solver": spec.solver, "rates": NOMINAL}
        return Plan(predict_phases(feature_map, size, alpha=ridge / max(1, n), **parts))

    @property
    def are_near(self) -> bool:
        """Whether the search has used its share of the time."""
        if self.deadline is None:
            return False
        return monotonic() > self.deadline - (1 - _SEARCH) * (self.task.spec.time_limit or 0.0)

    def have_room_for(self, width: int) -> bool:
        """Return whether a few normal equations of this width fit in memory."""
        threads = self.task.context.threads
        needed = (56 + 32 * threads) * width**2 + 16 * threads * self.task.rows.block_rows * width
        return width <= DIRECT_FEATURES and needed <= self.size.memory

    def exceeded_by(
        self, feature_map: FeatureMap, *, trials: float = 0.0, n_rows: int | None = None
    ) -> str:
        """Return the limit that a fit would exceed, after some seconds of trials; '' for none."""
        plan = self.plan(feature_map, n_rows=n_rows)
        if plan.bytes > self.size.memory:
            return MEMORY
        if self.deadline is None:
            return ""
        left = self.deadline - monotonic() - trials
        return TIME if self.slowness * plan.seconds > _CAUTION * left else ""

    def shrink(self, feature_map: FeatureMap) -> tuple[FeatureMap, int, str]:
        """Return a map and a number of rows within the limits, and the reason.

        First draw landmarks at random, then halve the size, then halve the rows.
        """
        total = n = self.size.n_rows
        limit = why = self.exceeded_by(feature_map)
        if not why:
            return feature_map, n, ""
        if feature_map.selector is not None:
            feature_map = clone(feature_map).set_params(selector="uniform")
            why = self.exceeded_by(feature_map)
        for least in (4 * _LEAST_SIZE, _LEAST_SIZE):
            while why and feature_map.size is not None and feature_map.size > least:
                feature_map = feature_map.resized(feature_map.size // 2)
                why = self.exceeded_by(feature_map, n_rows=n)
            while why and n > _LEAST_ROWS:
                n //= 2
                why = self.exceeded_by(feature_map, n_rows=n)
        rows = "" if n == total else f" or more than {n:,} of {total:,} rows"
        return feature_map, n, f"a larger model{rows} would exceed {limit}"

    @property
    def block_rows(self) -> int:
        """Rows per block, so that each thread can hold several copies of a block."""
        rows, threads = self.task.rows, self.task.context.threads
        fitting = self.size.memory // (_COPIES * 8 * threads * max(1, rows.n_features))
        return min(rows.block_rows, max(_LEAST_BLOCK, fitting))

    def affordable_rows(self, most: int) -> int:
        """Return the number of rows, up to ``most``, that fit in a small part of the memory."""
        row = self._drawn_bytes(1) // 2
        return max(_LEAST_ROWS, min(most, self.size.memory // (_COPIES * max(1, row))))

    def first_trial(self, size: int, n_rows: int, *, left_out: bool) -> tuple[int, int]:
        """Return the size and the rows of the first trials, reduced to the limits."""
        limit = self.task.spec.time_limit
        while n_rows > _LEAST_ROWS or size > _LEAST_SIZE:
            late = limit is not None and self._trial_seconds(size, n_rows) > _FIRST * limit
            if not late and self._equation_bytes(size, n_rows, left_out) <= self.size.memory:
                break
            if n_rows > max(16 * size, _LEAST_ROWS) or size <= _LEAST_SIZE:
                n_rows = max(_LEAST_ROWS, n_rows // 2)
            else:
                size = max(_LEAST_SIZE, size // 2)
        return size, n_rows

    def most_left_out(self, width: int, n_rows: int) -> int:
        """Return the number of rows for which leave-one-out errors fit in memory."""
        memory = self.size.memory
        while n_rows > _LEAST_ROWS and self._equation_bytes(width, n_rows, True) > memory:
            n_rows //= 2
        return n_rows

    def trial_bytes(self, feature_map: FeatureMap, n_rows: int, *, left_out: bool) -> int:
        """Return the memory of a trial, in bytes."""
        width = feature_map.planned_width(self.task.rows)
        if width <= DIRECT_FEATURES or feature_map.size == width:
            return self._equation_bytes(width, n_rows, left_out)
        # codes have no normal equations
        return self._drawn_bytes(n_rows) + self.plan(feature_map, n_rows=n_rows).bytes

    def _drawn_bytes(self, n_rows: int) -> int:
        """Return the memory of drawn rows and a copy of them, in bytes."""
        size = self.size
        return int(2 * n_rows * size.n_features * size.density * size.dtype.itemsize)

    def _equation_bytes(self, width: int, n_rows: int, left_out: bool) -> int:
        threads = self.task.context.threads
        width = min(width, n_rows)
        # normal equations, whitened ones and a factor per thread; or eigenvectors
        squares = 9 if left_out else 4 + 3 * threads
        # held-out rows add half as many
        drawn = self._drawn_bytes(n_rows if left_out else n_rows + n_rows // 2)
        held = drawn + 8 * squares * width**2
        block = min(n_rows, self.task.rows.block_rows, block_rows_for(width, DOUBLE))
        held += 8 * threads * block * (3 * width + 80 * self.task.n_outputs)
        return held + (8 * n_rows * width if left_out else 0)

    def _trial_seconds(self, size: int, n_rows: int) -> float:
        """Return the approximate seconds of a trial on the nominal machine."""
        d = self.size.n_features * self.size.density
        products = (2 * d + 4 * size + 50 * self.task.n_outputs) * n_rows * size
        return products / NOMINAL.gemm64 + 9 * size**3 / NOMINAL.factor64 + 5e-3

    def observe(self, feature_map: FeatureMap, n_rows: int, seconds: float) -> None:
        """Update the speed of this machine from the seconds of a trial."""
        if self.deadline is not None and feature_map.size is not None:
            ratio = seconds / self._trial_seconds(feature_map.size, n_rows)
            self.slowness = min(_SLOWEST, max(_FASTEST, ratio))

    @contextmanager
    def explain(self, feature_map: FeatureMap, *, given: bool = True) -> Iterator[None]:
        """Refuse a given map above memory_limit, and append the plan to memory errors."""
        rows = self.task.rows
        try:
            if given:
                require_memory(
                    feature_map.planned_bytes(rows),
                    self.task.spec.memory_limit,
                    f"a model of {feature_map.planned_width(rows)} landmarks or features",
                    "take fewer of them",
                )
                self._require_memory_of_selector(feature_map)
            yield
        except MemoryLimitError as error:
            raise MemoryLimitError(self._with_plan(error, feature_map)) from None
        except MemoryError as error:
            # errors of NumPy have other arguments
            raise MemoryError(self._with_plan(error, feature_map)) from error

    def _with_plan(self, error: MemoryError, feature_map: FeatureMap) -> str:
        return f"{error} The plan of the fit:\n{self.plan(feature_map)}"

    def _require_memory_of_selector(self, feature_map: FeatureMap) -> None:
        """Refuse a selector that needs more than memory_limit to choose the landmarks."""
        if feature_map.selector is None or feature_map.fixed:
            return
        spec, selector = self.task.spec, feature_map.chosen_selector()
        m = feature_map.planned_width(self.size)
        require_memory(
            int(selector.cost(m, feature_map.chosen_kernel(spec.kernel), self.size).bytes),
            spec.memory_limit,
            f"choosing {m} landmarks with {selector!r}",
            "draw them with selector='uniform', take fewer",
        )
