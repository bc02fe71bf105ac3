"""What was asked for: the parameters of a machine as objects, and the rows that it is fitted to."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from skimp._core._types import Array, RandomState
from skimp.data import Context, Rows
from skimp.features import FeatureMap, Nystroem
from skimp.kernels import Kernel, as_kernel, free_bandwidths
from skimp.losses import Loss, Squared
from skimp.solvers import Auto, Solver

Encode: TypeAlias = Callable[[Array | None, Array | None], tuple[Array, Array | None]]
"""From the y and the weights of a block to a matrix of numbers, (n, n_outputs), and weights."""


@dataclass(frozen=True, eq=False)
class Spec:
    """What a machine was asked to be; None for what is left to be chosen.

    Attributes
    ----------
    owner : str
        The name of the estimator, for messages.
    approximation : FeatureMap or None
        The map, checked and not fitted. It may have a kernel of its own, which wins.
    exact : bool
        Whether every row is a landmark; ``approximation`` is None then.
    solver : Solver
        The solver, with the tolerance and the iterations that were asked for.
    classes : bool
        Whether y are classes.
    held_out : float or None
        Share of the rows that early stopping holds out; None if it is off.
    kernel, loss, alpha, fit_intercept, warm_start, memory_limit, time_limit, random_state
        As in estimators.
    """

    owner: str
    kernel: Kernel | None
    approximation: FeatureMap | None
    exact: bool
    loss: Loss
    alpha: float | None
    solver: Solver
    classes: bool
    fit_intercept: bool = True
    warm_start: bool = False
    held_out: float | None = None
    memory_limit: int | str | None = None
    time_limit: float | None = None
    random_state: RandomState = None

    @property
    def solves_exactly(self) -> bool:
        """Whether the kernel matrix of all rows is factorized, without a map."""
        squared = isinstance(self.loss, Squared) and isinstance(self.solver, Auto)
        return self.exact and squared and self.held_out is None


@dataclass(frozen=True, eq=False)
class Task:
    """Rows to fit a machine to, and what was asked for.

    Attributes
    ----------
    spec : Spec
        What was asked for.
    rows : Rows
        Checked rows, with y as they were given.
    encode : callable
        Makes numbers of y; see `numbers`.
    n_outputs : int
        Number of functions k.
    context : Context
        How to run over the rows.
    shift : array of shape (k,) or float
        What ``encode`` subtracts from y, and predictions add again.
    """

    spec: Spec
    rows: Rows
    encode: Encode
    n_outputs: int
    context: Context
    shift: Array | float = 0.0

    @cached_property
    def numbers(self) -> Rows:
        """The rows with a matrix of numbers for y, and the weights of classes."""
        return self.rows.with_targets(self.encode)

    @cached_property
    def given(self) -> FeatureMap | None:
        """The map that was asked for, with a landmark for each row if that is exact."""
        exact = self.spec.exact
        return Nystroem(budget=self.rows.n_rows) if exact else self.spec.approximation

    @property
    def kernel(self) -> Kernel | None:
        """The kernel of that map, or the one that was asked for beside it."""
        own = None if self.given is None else self.given.kernel
        return self.spec.kernel if own is None else as_kernel(own, owner=self.spec.owner)

    @property
    def is_settled(self) -> bool:
        """Whether nothing but the penalty may be left to be chosen."""
        if self.given is None or not self.given.kernelled:
            return self.given is not None
        return self.kernel is not None and not free_bandwidths(self.kernel)

    def on(self, rows: Rows) -> "Task":
        """Return the same task on other rows."""
        return replace(self, rows=rows)
