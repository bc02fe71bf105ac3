"""The task of a fit: the checked parameters of a machine, and its rows."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeAlias

from skimp._core._types import Array, RandomState
from skimp.choice._samples import Samples
from skimp.data import Context, Rows
from skimp.features import FeatureMap, Nystroem
from skimp.kernels import Kernel, as_kernel, bandwidth_rules, free_bandwidths
from skimp.losses import Loss, Squared
from skimp.solvers import Auto, Solver

Encode: TypeAlias = Callable[[Array | None, Array | None], tuple[Array, Array | None]]
"""Maps y and the weights of a block to a matrix of shape (n, n_outputs), and weights."""

_LEAST_TRIED = 10
"""Number of rows below which errors on left-out rows are mostly noise."""


class NeededRows(NamedTuple):
    """A number of rows, what they are needed for, and how to do without them."""

    number: int
    purpose: str
    remedy: str


@dataclass(frozen=True, eq=False)
class Spec:
    """Checked parameters of a machine; None for what the search chooses.

    Attributes
    ----------
    owner : str
        The name of the estimator, for messages.
    approximation : FeatureMap or None
        The map, not fitted. If it has a kernel, that kernel takes precedence.
    exact : bool
        Whether every row is a landmark. ``approximation`` is then None.
    solver : Solver
        The solver, with the given tolerance and number of iterations.
    classes : bool
        Whether y holds classes.
    held_out : float or None
        Share of the rows that early stopping holds out. None without early stopping.
    kernel, loss, alpha, fit_intercept, warm_start, memory_limit, time_limit, random_state
        Parameters of the estimators.
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
    """Checked parameters and the rows to fit.

    Attributes
    ----------
    spec : Spec
        The parameters.
    rows : Rows
        Checked rows, with y as given.
    encode : callable
        Converts y to numbers; see `numbers`.
    n_outputs : int
        Number of outputs k.
    context : Context
        How to run over the rows.
    shift : array of shape (k,) or float
        Subtracted from y by ``encode``, and added to predictions.
    """

    spec: Spec
    rows: Rows
    encode: Encode
    n_outputs: int
    context: Context
    shift: Array | float = 0.0

    @cached_property
    def numbers(self) -> Rows:
        """The rows with numeric targets, and with class weights."""
        return self.rows.with_targets(self.encode)

    @cached_property
    def samples(self) -> Samples:
        """Samples of the rows."""
        return Samples(self.rows, self.encode, self.context)

    @cached_property
    def given(self) -> FeatureMap | None:
        """The map that the user gave; for an exact model, every row is a landmark."""
        exact = self.spec.exact
        return Nystroem(budget=self.rows.n_rows) if exact else self.spec.approximation

    @property
    def kernel(self) -> Kernel | None:
        """The kernel of the given map, or the given kernel."""
        own = None if self.given is None else self.given.kernel
        return self.spec.kernel if own is None else as_kernel(own, owner=self.spec.owner)

    @property
    def is_settled(self) -> bool:
        """Whether everything but the penalty is given."""
        if self.given is None or not self.given.kernelled:
            return self.given is not None
        return self.kernel is not None and not free_bandwidths(self.kernel)

    @property
    def has_choices(self) -> bool:
        """Whether something is left to choose by the error on rows."""
        return not self.is_settled or self.spec.alpha is None

    @property
    def needed_rows(self) -> NeededRows:
        """The number of rows that the choices, the map and the bandwidth need."""
        needs = [NeededRows(1, "", "")]
        given = self.given
        if given is not None:
            parts = [given, given.chosen_kernel(self.spec.kernel)] if given.kernelled else [given]
            rules = [repr(rule) for part in parts for rule in bandwidth_rules(part).values()]
            if rules:
                needs += [NeededRows(2, f"for gamma={rules[0]}", "give gamma as a number")]
            remedy = (
                "use a smaller map, landmarks in budgets.Fixed, or features such as RandomFourier"
            )
            needs += [NeededRows(given.needed_rows, f"for {given!r}", remedy)]
        if self.has_choices:
            remedy = "give the kernel, gamma, the approximation and alpha"
            needs += [NeededRows(_LEAST_TRIED, "to choose what is 'auto'", remedy)]
        return max(needs, key=lambda need: need.number)

    def on(self, rows: Rows) -> "Task":
        """Return the same task on other rows."""
        return replace(self, rows=rows)
