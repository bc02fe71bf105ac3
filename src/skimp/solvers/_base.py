"""A problem, a solver, and the solution that it returns."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar

import numpy as np

from skimp._core._types import Array, DType
from skimp._core._work import MapCost, Size, Stage
from skimp._params._memory import parse_bytes
from skimp._params._names import as_object
from skimp._params._parametrized import Parametrized
from skimp._params._rules import Rule
from skimp.data import LOCAL, Context, Rows
from skimp.losses import Loss


@dataclass(frozen=True)
class Problem:
    r"""A regularized loss over rows that are mapped already.

    .. math::
        \min_{c, b} \; \frac{1}{\sum_i w_i} \sum_i w_i \, \ell(y_i, c^T z_i + b)
        + \alpha \, c^T P c

    Attributes
    ----------
    rows : Rows
        Blocks of features, dense or CSR, targets of shape (n, k), and weights.
    loss : Loss
        What a mistake costs.
    alpha : float
        Strength of the penalty; it does not grow with n.
    penalty : array of shape (width, width), or None
        The matrix P in float64, None for the identity.
    fit_intercept : bool
        Whether there is a b, which is not penalized.
    memory_limit : int, str or None
        Bytes that the solver may take besides the rows.
    start : tuple of arrays, or None
        Coefficients and intercept to start from; None for zeros.
    monitor : callable or None
        Called with coefficients and intercept after each iteration; true stops the solver.
    factor : array of shape (width, width), or None
        The upper factor R of P = R^T R in float64, if it is known already.
    alphas : array or None
        Penalties of which `Direct` takes the best by cross-validation; others take ``alpha``.
    """

    rows: Rows
    loss: Loss
    alpha: float
    penalty: Array | None = None
    fit_intercept: bool = True
    memory_limit: int | str | None = None
    start: tuple[Array, Array] | None = None
    monitor: Callable[[Array, Array], bool] | None = None
    factor: Array | None = None
    alphas: Array | None = None

    def outline(self, context: Context = LOCAL) -> "Outline":
        """Return the size of the problem."""
        rows = self.rows
        return Outline(
            n_rows=rows.n_rows,
            width=rows.n_features,
            dtype=rows.dtype,
            block_rows=rows.block_rows,
            penalized=self.penalty is not None,
            coded=rows.coded is not None,
            memory=parse_bytes(self.memory_limit),
            threads=context.threads,
            several=self.alphas is not None,
        )


SAMPLE = 16
"""Sampled rows for each feature; landmarks need them to start from only, a quarter at most."""
_WIDE = 2000
"""Columns of codes beyond which the diagonal is the better guide for its price."""


@dataclass(frozen=True)
class Outline:
    """The size of a problem, which decides how it is solved and what that costs.

    It is ``penalized`` if there is a penalty matrix, as for landmarks, ``coded`` if features are
    codes, and ``several`` if there are several penalties to choose from.
    """

    n_rows: int
    width: int
    dtype: DType
    block_rows: int
    penalized: bool
    coded: bool
    memory: int
    threads: int
    several: bool = False

    @property
    def wide(self) -> bool:
        """Whether features are codes of too many columns for a matrix of them."""
        return self.coded and self.width > _WIDE

    @property
    def sample_size(self) -> int:
        """How many rows to sample: no more than a third of the memory has room for."""
        if self.wide:
            return max(1, self.n_rows // 4)
        if self.penalized:
            return max(1, min(SAMPLE * self.width, self.n_rows // 4))
        room = self.memory // (3 * self.dtype.itemsize)
        return max(1, min(SAMPLE * self.width, room // self.width))


class Status(Enum):
    """How a solver ended."""

    CONVERGED = "converged"
    """Its tolerance was reached."""
    STOPPED_EARLY = "stopped early"
    """The monitor of the problem stopped it."""
    MAX_ITER = "max_iter"
    """It took as many iterations as it may."""
    STALLED = "stalled"
    """Rounding allows no further descent."""
    TIME_LIMIT = "time limit"
    """Its time was over."""


@dataclass(frozen=True)
class Solution:
    """What a solver found.

    Attributes
    ----------
    coef : array of shape (width, k)
        One column for each output, in float64.
    intercept : array of shape (k,)
        In float64, zeros if none was asked for.
    n_iter : int
        Iterations taken.
    status : Status
        Why it ended.
    message : str
        How it was solved, and what had to be worked around, for people.
    history : array
        The objective, summed over outputs, after each iteration.
    alpha : float or None
        The penalty, if the solver could choose it.
    dimension : float or None
        The effective dimension, if the solver knows it.
    solver : str
        The name of the solver that found it.
    intercept_penalized : bool
        Whether the intercept is the coefficient of a constant feature, penalized like others.
    """

    coef: Array
    intercept: Array
    n_iter: int
    status: Status
    message: str
    history: Array = field(default_factory=lambda: np.empty(0))
    alpha: float | None = None
    dimension: float | None = None
    solver: str = ""
    intercept_penalized: bool = False

    @property
    def converged(self) -> bool:
        """Whether the tolerance was reached, or a monitor found that it is not worth reaching."""
        return self.status in (Status.CONVERGED, Status.STOPPED_EARLY)


class Solver(Parametrized, ABC):
    """A way to minimise a `Problem`: parameters, and `solve`. It never sees a kernel.

    A solver of your own is a class with ``__init__`` that stores its parameters, and `solve`, which
    reads the blocks of ``problem.rows`` by ``context.map_reduce``; `as_features` and `as_targets`
    give the arrays of a block. It may define `cost`. `skimp.testing.check_solver` checks it.
    """

    rules: ClassVar[dict[str, Rule]] = {}

    @abstractmethod
    def solve(self, problem: Problem, context: Context = LOCAL) -> Solution:
        """Minimise the problem's objective; the context says how to run over its rows."""

    def cost(self, mapped: MapCost, size: Size, loss: Loss, alpha: float) -> Stage:
        """Return the work and the bytes of solving, given what the features take.

        By default those of twenty passes over the rows.
        """
        return Stage("solve", 20 * mapped.mapping, mapped.held)


_NAMES = {"auto": "Auto", "direct": "Direct", "newton": "Newton", "pcg": "PCG", "dual_cd": "DualCD"}


def as_solver(solver: Any, *, owner: str) -> Solver:
    """Return a solver for a name or an object; ``owner`` is named in the error."""
    return as_object(solver, Solver, _NAMES, "skimp.solvers", owner=owner, role="solver")  # type: ignore[type-abstract]
