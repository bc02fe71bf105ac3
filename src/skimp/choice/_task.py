"""What was asked for: the parameters of a machine as objects, and the rows that it is fitted to."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from skimp._core._types import Array, RandomState
from skimp.data import Context, Rows
from skimp.features import FeatureMap, Nystroem
from skimp.kernels import Kernel
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
    kernel : Kernel or None
        The kernel.
    approximation : FeatureMap or None
        The map, checked and not fitted. It may have a kernel of its own, which wins.
    exact : bool
        Whether every row is a landmark; ``approximation`` is None then.
    loss : Loss
        What a mistake costs.
    alpha : float or None
        The penalty.
    solver : Solver
        The solver, with the tolerance and the iterations that were asked for.
    classes : bool
        Whether y are classes.
    fit_intercept : bool
        Whether there is an intercept.
    held_out : float or None
        Share of the rows that early stopping holds out; None if it is off.
    memory_limit, time_limit, random_state
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
    held_out: float | None = None
    memory_limit: int | str | None = None
    time_limit: float | None = None
    random_state: RandomState = None

    @property
    def solves_exactly(self) -> bool:
        """Whether the kernel matrix of all rows is factorized, which no map then stands for."""
        chooses = isinstance(self.loss, Squared) and isinstance(self.solver, Auto)
        return self.exact and chooses and self.held_out is None

    def map_of(self, n_rows: int) -> FeatureMap | None:
        """Return the map that was asked for, one landmark a row for the exact model."""
        return Nystroem(budget=n_rows) if self.exact else self.approximation


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
        """The map that was asked for."""
        return self.spec.map_of(self.rows.n_rows)

    def on(self, rows: Rows) -> "Task":
        """Return the same task on other rows."""
        return replace(self, rows=rows)
