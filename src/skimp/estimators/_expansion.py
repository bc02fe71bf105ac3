"""Kernel expansions that learn by stochastic gradient steps."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Any, Self, final

import numpy as np
from scipy import linalg, sparse

from skimp._core._blocks import Scratch, fold
from skimp._core._linalg import check_representable, dense
from skimp._core._merging import merge_table
from skimp._core._threads import single_threaded_blas
from skimp._core._types import Array, DType, Matrix
from skimp.data import Context, Rows, concatenate_rows
from skimp.estimators._kernel_cache import CacheUse, KernelCache
from skimp.estimators._online_machine import RowLearner
from skimp.kernels import Columns, Kernel
from skimp.losses import Loss
from skimp.solvers import compiled_loss

KINDS = ("removal", "projection", "merging")
"""How to keep the budget, in the order of the numbers in `skimp._core.loops._budgeted`."""
_CHUNK = 128
"""Rows whose kernel values with the points are computed at once, by a matrix product."""
_BATCH, _PART = 256, 512
"""The same without a budget, and points that are bound to the kernel at once."""
_REFRESHED = 32
"""Chunks after which an updated inverse is computed anew, so that rounding errors stay small."""
_RIDGE = 1e-6
"""Least ridge of the kernel matrix of the points, relative to its diagonal."""
_STRIP = 1024


@dataclass(frozen=True)
class StepRules:
    """What determines a step on a row.

    Attributes
    ----------
    kernel : Kernel
        Kernel with numeric parameters.
    loss : Loss
        The loss.
    alpha : float
        The penalty.
    window : float
        Number of steps after which the step size stays the same.
    diagonal : float
        Typical largest value of k(x, x).
    n_features, n_outputs : int
        Columns of X and of the targets.
    dtype : dtype
        Precision of kernel values.
    seed : int
        Seed of the order of the rows.
    """

    kernel: Kernel
    loss: Loss
    alpha: float
    window: float
    diagonal: float
    n_features: int
    n_outputs: int
    dtype: DType
    seed: int

    @property
    def curvature(self) -> float:
        """Largest curvature of a smooth loss, else 0."""
        return self.loss.max_curvature if np.isfinite(self.loss.max_curvature) else 0.0

    @property
    def shift(self) -> float:
        """Added to the number of steps, so that the first step does not overshoot."""
        return self.curvature * self.diagonal / (2 * self.alpha)


class Expansion(RowLearner, ABC):
    r"""A model :math:`f(x) = \sum_s c_s k(p_s, x)` that learns by steps of size 1 / (lam t)."""

    cache_use: CacheUse | None = None
    """What the kernel cache saved; None without a cache."""

    def __init__(self, rules: StepRules):
        self.rules, self.seed, self.t = rules, rules.seed, 0
        self._rows: Any = None
        self._slots = np.zeros(0, np.int64)

    @property
    @abstractmethod
    def points(self) -> Matrix:
        """The points of the model."""

    @property
    @abstractmethod
    def sums(self) -> Array:
        """Sums of the negative gradients at each point, of shape (points, k)."""

    @property
    def coef(self) -> Array:
        """Coefficients of the points, of shape (points, k)."""
        from skimp._core.loops._budgeted import inverse_step

        rules = self.rules
        step = inverse_step(max(self.t, 1), 2 * rules.alpha, rules.shift, rules.window)
        coef: Array = self.sums / step
        return coef

    def predict(self, rows: Rows, context: Context) -> Array:
        return self.compute(self._outputs, rows, context)

    def _outputs(self, X: Matrix) -> Array:
        F = np.zeros((X.shape[0], self.n_outputs), self.rules.dtype)
        if len(self.sums):
            coef, columns = self._bound
            for start in range(0, len(F), _STRIP):
                strip = slice(start, start + _STRIP)
                F[strip] = _values(columns, X[strip], len(coef), coef.dtype) @ coef
        return F

    @cached_property
    def _bound(self) -> tuple[Array, Columns]:
        """Coefficients and kernel columns of the points, of a learner that has finished."""
        dtype = self.rules.dtype
        return self.coef.astype(dtype), self.rules.kernel.bind(self.points, dtype)

    def __getstate__(self) -> dict[str, Any]:
        """Drop what can be computed again."""
        return {name: value for name, value in vars(self).items() if name != "_bound"}

    def describe(self) -> str:
        return f"{len(self.sums):,} points after {self.t:,} steps"

    def finish(self) -> Self:
        self._open_rows(None, 0)
        return self

    def _open_rows(self, X: Any, n_rows: int) -> None:
        """Start with other rows, none of which is a point."""
        self._rows, self._slots = X, np.full(n_rows, -1, np.int64)

    def _matrix(self, X: Any, n_rows: int) -> Matrix:
        """Return rows in the layout of compiled loops as an array or a CSR matrix."""
        if X is not self._rows:
            self._open_rows(X, n_rows)
        if not isinstance(X, tuple):
            return X
        shape = (len(X[2]) - 1, self.rules.n_features)
        return sparse.csr_matrix(X, shape=shape, copy=False)


@final
class BudgetedExpansion(Expansion):
    """An expansion of at most ``budget`` points.

    A step costs a kernel value for each point. If it makes one point too many, removal takes
    O(m) operations, merging O(m d), and projection O(m^2) for a budget of m.
    """

    def __init__(self, rules: StepRules, budget: int, kind: str):
        super().__init__(rules)
        m = budget + 1
        self._kind, self._size, self._chunks = KINDS.index(kind), 0, 0
        self._P = np.zeros((m, rules.n_features), rules.dtype)
        self._A, self._G = np.zeros((m, rules.n_outputs), order="F"), np.zeros((m, m))
        self._Q = np.zeros((m, m) if kind == "projection" else (0, 0))
        self._owners = np.full(m, -1, np.int64)

    @property
    def points(self) -> Array:
        return self._P[: self._size].copy()

    @property
    def sums(self) -> Array:
        return self._A[: self._size]

    @property
    def _ridge(self) -> float:
        """Relative ridge that exceeds the rounding errors of the kernel matrix of the points."""
        return float(max(_RIDGE, len(self._A) * np.finfo(self.rules.dtype).eps))

    def _open_rows(self, X: Any, n_rows: int) -> None:
        super()._open_rows(X, n_rows)
        self._owners[:] = -1

    def visit(self, X: Any, Y: Array, factor: Array, order: Array) -> None:
        from skimp._core.loops._budgeted import budgeted_steps

        rules, kernel = self.rules, self.rules.kernel
        X = self._matrix(X, len(Y))
        loss = compiled_loss(rules.loss, rules.n_outputs, owner="BSGD")
        state = (self._P, self._A, self._G, self._Q, self._owners)
        rule = (
            self._kind,
            self._ridge,
            2 * rules.alpha,
            rules.shift,
            rules.window,
            rules.curvature,
        )
        merging = kernel.gammas(rules.n_features) if kernel.mergeable else np.zeros(0)
        with single_threaded_blas():
            for start in range(0, len(order), _CHUNK):
                rows = order[start : start + _CHUNK]
                chunk = dense(X[rows], rules.dtype)
                K = np.empty((len(rows), len(self._A)), rules.dtype)
                if self._size:
                    columns = kernel.bind(self._P[: self._size], rules.dtype)
                    K[:, : self._size] = _values(columns, chunk, self._size, rules.dtype)
                own = _values(kernel.bind(chunk, rules.dtype), chunk, len(rows), rules.dtype)
                self._refresh()
                self.t, self._size = budgeted_steps(
                    *(chunk, rows, Y[rows], factor[rows], K, own, loss, rule),
                    *(merging, merge_table(), self._slots, self.t, self._size, state),
                )
        check_representable(self._A)

    def _refresh(self) -> None:
        """Compute the inverse of the kernel matrix of the points, if its updates have aged."""
        if len(self._Q) and self._size and self._chunks % _REFRESHED == 0:
            G = self._G[: self._size, : self._size]
            self._Q[: self._size, : self._size] = linalg.inv(
                G + self._ridge * np.diag(G.diagonal())
            )
        self._chunks += 1


@final
class KernelPegasos(Expansion):
    """An expansion of all rows that once had a positive loss: kernelized Pegasos.

    A step costs a kernel value for each point that the cache does not hold. If the rows fit into
    memory, a row is a point at most once, whatever the number of passes.
    """

    def __init__(self, rules: StepRules, cache_bytes: int):
        super().__init__(rules)
        self._A, self._size = np.zeros((0, rules.n_outputs), order="F"), 0
        self._parts: list[tuple[Matrix, Columns]] = []
        self._open: list[Matrix] = []
        self._cache = KernelCache(cache_bytes)
        self._hits, self._computed, self._seconds = 0, 0, 0.0

    @property
    def points(self) -> Matrix:
        parts = [part for part, _ in self._parts] + self._open
        return concatenate_rows(parts) if parts else np.zeros((0, self.rules.n_features))

    @property
    def sums(self) -> Array:
        return self._A[: self._size]

    @property
    def cache_use(self) -> CacheUse:  # type: ignore[override]
        return self._cache.use(self._hits, self._computed, self._seconds)

    def _open_rows(self, X: Any, n_rows: int) -> None:
        super()._open_rows(X, n_rows)
        self._cache.clear()

    def copy(self) -> Self:
        other = super().copy()
        other._parts, other._open = list(self._parts), list(self._open)
        other._cache = KernelCache(self._cache.limit)
        return other

    def visit(self, X: Any, Y: Array, factor: Array, order: Array) -> None:
        from skimp._core.loops._budgeted import pegasos_steps

        rules = self.rules
        X = self._matrix(X, len(Y))
        loss = compiled_loss(rules.loss, rules.n_outputs, owner="Pegasos")
        rule = (2 * rules.alpha, rules.shift, rules.window, rules.curvature)
        for start in range(0, len(order), _BATCH):
            rows = order[start : start + _BATCH]
            chunk, size = X[rows], self._size
            K = self._kernel_rows(rows, chunk)
            own = _values(rules.kernel.bind(chunk, rules.dtype), chunk, len(rows), rules.dtype)
            self._reserve(len(rows))
            self.t, self._size = pegasos_steps(
                *(rows, Y[rows], factor[rows], K, own, loss, rule, self.t, size),
                *(self._slots, self._A),
            )
            self._append(chunk, rows, size)
        check_representable(self._A)

    def _reserve(self, n_points: int) -> None:
        """Make room for the coefficients of more points."""
        if len(self._A) < self._size + n_points:
            A = np.zeros((2 * self._size + n_points, self._A.shape[1]), order="F")
            A[: self._size] = self.sums
            self._A = A

    def _append(self, chunk: Matrix, rows: Array, size: int) -> None:
        """Add the rows of a chunk that became points, in the order of their numbers."""
        slots = self._slots[rows]
        new = np.flatnonzero(slots >= size)
        # a row may occur twice in a chunk
        first = np.unique(slots[new], return_index=True)[1]
        if not len(first):
            return
        self._open.append(chunk[new[first]])
        if sum(part.shape[0] for part in self._open) >= _PART:
            part = concatenate_rows(self._open)
            self._parts.append((part, self.rules.kernel.bind(part, self.rules.dtype)))
            self._open = []

    def _kernel_rows(self, rows: Array, chunk: Matrix) -> Array:
        """Return the kernel values of rows with all points, from the cache as far as possible."""
        began, dtype = perf_counter(), self.rules.dtype
        K = np.empty((len(rows), self._size), dtype)
        known = np.zeros(len(rows), np.int64)
        for i, row in enumerate(rows.tolist()):
            values = self._cache.get(row)
            if values is not None:
                known[i] = len(values)
                K[i, : len(values)] = values
        ends = np.cumsum([part.shape[0] for part, _ in self._parts], dtype=np.int64).tolist()
        closed, columns = ends[-1] if ends else 0, [bound for _, bound in self._parts]
        if self._open:
            columns.append(self.rules.kernel.bind(concatenate_rows(self._open), dtype))
            ends.append(self._size)
        starts = [0, *ends[:-1]]

        def fill(part: int, _: Scratch) -> int:
            first, last = starts[part], ends[part]
            needed = np.flatnonzero(known < last)
            if len(needed):
                values = _values(columns[part], chunk[needed], last - first, dtype)
                K[needed, first:last] = values
            return int(len(needed) * (last - first))

        computed: int = fold(range(len(ends)), fill, int.__add__, 0, self.threads)
        self._computed += computed
        self._hits += int(K.size) - computed
        self._seconds += perf_counter() - began
        for i in np.flatnonzero(known < closed).tolist():
            self._cache.put(int(rows[i]), K[i, :closed].copy())
        return K


def _values(columns: Columns, X: Matrix, size: int, dtype: DType) -> Array:
    """Return the kernel values of rows with bound points."""
    K = np.empty((X.shape[0], size), dtype)
    columns.fill(X, K)
    return K
