"""`Problem`, `Solver` and `Solution`."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, Self

import numpy as np

from skimp._core._types import Array, DType
from skimp._core._work import MapCost, Size, Stage
from skimp._params._memory import parse_bytes
from skimp._params._names import as_object
from skimp._params._parametrized import Parametrized
from skimp._params._rules import Rule
from skimp.data import LOCAL, Context, Rows, kept_layout
from skimp.losses import Loss


@dataclass(frozen=True)
class Problem:
    r"""A regularized loss over rows of features.

    .. math::
        \min_{c, b} \; \frac{1}{\sum_i w_i} \sum_i w_i \, \ell(y_i, c^T z_i + b)
        + \alpha \, c^T P c

    Attributes
    ----------
    rows : Rows
        Features z, dense, CSR or `~skimp.data.Codes`, with targets y of shape (n, k) and weights.
    loss : Loss
        The loss.
    alpha : float
        Penalty strength. It is not multiplied by n.
    penalty : array of shape (width, width), or None
        Matrix P in float64; None for the identity.
    fit_intercept : bool
        Whether to fit the intercept b, which is not penalized.
    memory_limit : int, str or None
        Maximum memory of the solver in addition to the rows; None allows half of the machine's.
    start : tuple of arrays, or None
        Initial coefficients and intercept; None starts from zeros.
    monitor : callable or None
        Called with coefficients and intercept after each iteration. The solver stops if it returns
        true.
    factor : array of shape (width, width), or None
        Upper factor R of P = R^T R in float64, if it is available.
    alphas : array or None
        Penalties from which `Direct` chooses by generalized cross-validation. Other solvers use
        ``alpha``.
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
        """Return the size of the problem and how it may be solved."""
        rows = self.rows
        n_numbers, stored = kept_layout(rows)
        return Outline(
            n_rows=rows.n_rows,
            width=rows.n_features,
            dtype=rows.dtype,
            row_bytes=n_numbers * stored.itemsize,
            block_rows=rows.block_rows,
            penalized=self.penalty is not None,
            coded=rows.coded is not None,
            sparse=rows.entries is not None,
            memory=parse_bytes(self.memory_limit),
            threads=context.threads,
            several=self.alphas is not None,
        )


SAMPLE = 16
"""Sampled rows per feature; with landmarks, at most a quarter of all rows."""
STATE = 40
"""Bytes per row and output of targets, and of predictions and curvatures of two points."""
_WIDE = 2000
"""Number of coded or sparse features above which a diagonal preconditioner is more efficient."""


@dataclass(frozen=True)
class Outline:
    """The size of a problem, from which solvers derive their method and cost.

    ``penalized`` means that there is a penalty matrix, as for landmarks; ``coded`` that features
    are codes; ``row_bytes`` is the memory of a row of features; ``several`` means that there are
    several penalties to choose from; ``sparse`` that features are CSR matrices.
    """

    n_rows: int
    width: int
    dtype: DType
    row_bytes: int
    block_rows: int
    penalized: bool
    coded: bool
    memory: int
    threads: int
    several: bool = False
    sparse: bool = False

    @property
    def wide(self) -> bool:
        """Whether features are codes or sparse, with too many columns for a square matrix."""
        return (self.coded or self.sparse) and self.width > _WIDE

    def sample_size(self, n_outputs: int) -> int:
        """Return the number of rows to sample.

        Unless there are landmarks, they take at most a third of the memory, with what a descent
        holds of each.
        """
        most, row = SAMPLE * self.width, self.width * self.dtype.itemsize
        if self.wide:
            most, row = self.n_rows // 4, self.row_bytes
        elif self.penalized:
            return max(1, min(most, self.n_rows // 4))
        return max(1, min(most, self.memory // (3 * (row + STATE * n_outputs))))


class Status(Enum):
    """Why a solver stopped."""

    CONVERGED = "converged"
    """The tolerance was reached."""
    STOPPED_EARLY = "stopped early"
    """A monitor or a callback stopped the solver."""
    MAX_ITER = "max_iter"
    """The maximum number of iterations was reached."""
    STALLED = "stalled"
    """Rounding errors prevent further progress."""
    TIME_LIMIT = "time limit"
    """The time limit was reached."""
    LEARNING = "learning"
    """A learner has used each row so far once; more rows may follow."""


@dataclass(frozen=True)
class Solution:
    """Result of a solver.

    Attributes
    ----------
    coef : array of shape (width, k)
        Coefficients in float64, one column per output.
    intercept : array of shape (k,)
        Intercepts in float64; zeros if none was fitted.
    n_iter : int
        Number of iterations.
    status : Status
        Why the solver stopped.
    message : str
        Description of the solution for people, including fallbacks.
    history : array
        Objective after each iteration, summed over outputs.
    alpha : float or None
        Penalty, if the solver can choose it.
    dimension : float or None
        Effective dimension, if the solver computed it.
    solver : str
        Name of the solver.
    intercept_penalized : bool
        Whether the intercept was penalized like the coefficients.
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
        """Whether the solver reached its tolerance, or a monitor or callback stopped it."""
        return self.status in (Status.CONVERGED, Status.STOPPED_EARLY)


class Learner(ABC):
    """State of a solver that learns from one block of rows after another.

    A learner can be pickled, and does not change: `learn` returns another one. If a call fails, the
    caller still has the learner from before.
    """

    @abstractmethod
    def learn(self, rows: Rows, context: Context = LOCAL) -> Self:
        """Return a learner that has also learnt from these rows of features with targets."""

    @abstractmethod
    def solution(self) -> Solution:
        """Return the solution for all rows so far."""


class Solver(Parametrized, ABC):
    """Base class of solvers, which minimize a `Problem`. Solvers never see a kernel.

    To write a solver, implement `solve`. Read the blocks of ``problem.rows`` with
    ``context.map_reduce``; `as_features` and `as_targets` return the arrays of a block. Override
    `cost` to state what it costs. Test your solver with `skimp.testing.check_solver`.
    """

    rules: ClassVar[dict[str, Rule]] = {}
    incremental: ClassVar[bool] = False
    """Whether the solver has a `learner`, and estimators with it have ``partial_fit``."""
    first_order: ClassVar[bool] = False
    """Whether columns of different scale make the solver slow, because it uses only gradients."""

    @abstractmethod
    def solve(self, problem: Problem, context: Context = LOCAL) -> Solution:
        """Minimize the objective.

        Parameters
        ----------
        problem : Problem
            The problem.
        context : Context
            Number of threads and progress reports.

        Returns
        -------
        Solution
        """

    @property
    def ridge(self) -> bool:
        """Whether alpha is a ridge penalty, which least squares can choose."""
        return True

    def learner(self, problem: Problem) -> Learner:
        """Return a learner for ``partial_fit``, if the solver is `incremental`.

        Parameters
        ----------
        problem : Problem
            The problem. Its rows only describe the features, see `~skimp.data.NoRows`.

        Returns
        -------
        Learner
        """
        raise NotImplementedError(f"{type(self).__name__} needs all rows at once.")

    def cost(self, mapped: MapCost, size: Size, loss: Loss, alpha: float) -> Stage:
        """Return the work and memory of solving a problem with these features.

        The default assumes twenty passes over the rows.
        """
        return Stage("solve", 20 * mapped.mapping, mapped.held)


_NAMES = {
    "auto": "Auto",
    "direct": "Direct",
    "newton": "Newton",
    "pcg": "PCG",
    "dual_cd": "DualCD",
    "pegasos": "Pegasos",
    "sgd": "SGD",
    "sarah": "SARAH",
    "l1_cd": "L1CD",
}


def as_solver(solver: Any, *, owner: str) -> Solver:
    """Return the solver for a name or an object; errors name ``owner``."""
    return as_object(solver, Solver, _NAMES, "skimp.solvers", owner=owner, role="solver")  # type: ignore[type-abstract]


def incremental_solvers() -> list[str]:
    """Return the names of the solvers that learn from one block of rows after another."""
    return [name for name in _NAMES if as_solver(name, owner="skimp").incremental]
