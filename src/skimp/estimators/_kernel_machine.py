"""What the classifier and the regressor share: the recipe, and its sum of basis functions."""

import warnings
from abc import ABC, abstractmethod
from numbers import Integral
from pickle import PicklingError
from time import monotonic
from typing import Any, ClassVar

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from skimp._core._objects import as_real
from skimp._core._random import as_generator, draw_seed
from skimp._core._tally import counted
from skimp._core._types import Array, Matrix, RandomState
from skimp._params._memory import MEMORY_LIMIT, require_memory
from skimp._params._parametrized import Parametrized
from skimp._params._rules import (
    BOOLEAN,
    FRACTION,
    N_JOBS,
    NONE,
    RANDOM_STATE,
    Rule,
    broken,
    check_params,
    instance,
    integer,
    is_auto,
    number,
    one_of,
)
from skimp.choice._candidates import SMALL, Columns, candidates
from skimp.choice._judging import ALPHAS, Span, merge_equal
from skimp.choice._limits import Limits
from skimp.choice._search import LARGEST_LEFT_OUT, NEAR_ALPHAS, Search
from skimp.choice._task import Spec, Task
from skimp.choice._trials import Choice
from skimp.data import ArrayRows, Context, LineReport, Rows, as_rows, has_weight, split_rows
from skimp.estimators._certificate import Certificate
from skimp.estimators._certified import certified
from skimp.estimators._clock import Clock
from skimp.estimators._typicality import typicality
from skimp.features import (
    MAP_NAMES,
    TRANSFORMER,
    FeatureMap,
    Landmarks,
    Nystroem,
    RandomBinning,
    as_map,
    mean_diagonal,
)
from skimp.kernels import (
    Gaussian,
    Kernel,
    as_kernel,
    check_gram,
    free_bandwidths,
    has_flag,
    require,
)
from skimp.losses import Loss, Squared, as_loss
from skimp.solvers import (
    Auto,
    Deadline,
    Direct,
    EarlyStopping,
    Problem,
    Solution,
    Solver,
    as_features,
    as_solver,
    solve_exact,
)

_STRIP = 512
_SAMPLE = 1000
"""Rows that a certificate looks at."""


class KernelMachine(Parametrized, ABC):
    """A function fitted as a sum of basis functions of an approximated kernel, plus a constant."""

    _rules: ClassVar[dict[str, Rule]] = {
        "approximation": NONE
        | integer(at_least=1)
        | one_of("auto")
        | MAP_NAMES
        | instance(FeatureMap, "a feature map")
        | TRANSFORMER,
        "alpha": number(above=0) | one_of("auto"),
        "fit_intercept": BOOLEAN,
        "tol": NONE | number(above=0),
        "max_iter": NONE | integer(at_least=1),
        "warm_start": BOOLEAN,
        "early_stopping": BOOLEAN,
        "validation_fraction": FRACTION,
        "memory_limit": MEMORY_LIMIT,
        "time_limit": NONE | number(above=0),
        "n_jobs": N_JOBS,
        "verbose": integer(at_least=0) | BOOLEAN,
        "random_state": RANDOM_STATE,
    }

    kernel: Kernel | str
    approximation: FeatureMap | int | str | None
    loss: Loss | str
    alpha: float | str
    solver: Solver | str
    fit_intercept: bool
    tol: float | None
    max_iter: int | None
    warm_start: bool
    early_stopping: bool
    validation_fraction: float
    memory_limit: int | str | None
    time_limit: float | None
    n_jobs: int | None
    verbose: int
    random_state: RandomState
    alpha_: float
    approximation_: FeatureMap | Landmarks
    solution_: Solution
    _certificate: Certificate | None
    _n_outputs: int
    _labelled: ClassVar[bool]
    _target_checks: ClassVar[dict[str, bool]]

    @abstractmethod
    def _prepare(self, rows: Rows) -> Any:
        """Look at y, and return a function of the y and weights of a block: matrix and weights."""

    def make_spec(self) -> Spec:
        """Return what was asked for, as objects.

        Returns
        -------
        Spec
            Parameters that were checked; a `ValueError` names one that breaks its rule.
        """
        check_params(self)
        owner = type(self).__name__
        kernel = None
        if not is_auto(self.kernel):
            kernel = as_kernel(self.kernel, owner=owner, other="'auto'", size="approximation")
        loss = as_loss(self.loss, owner=owner)
        check_params(loss)
        given: Any = self.approximation
        approximation: FeatureMap | None = None
        if isinstance(given, Integral):
            approximation = Nystroem(budget=int(given))
        elif given is not None and not is_auto(given):
            approximation = as_map(given)
            approximation.check()
        return Spec(
            owner=owner,
            kernel=kernel,
            approximation=approximation,
            exact=given is None,
            loss=loss,
            alpha=None if is_auto(self.alpha) else float(self.alpha),
            solver=self._configured_solver(),
            classes=self._labelled,
            fit_intercept=self.fit_intercept,
            held_out=self.validation_fraction if self.early_stopping else None,
            memory_limit=self.memory_limit,
            time_limit=self.time_limit,
            random_state=self.random_state,
        )

    def open_task(self, X: Any, y: Any = None, sample_weight: Any = None) -> Task:
        """Return checked rows and what is asked for, without fitting anything.

        Parameters
        ----------
        X, y, sample_weight
            As in ``fit``.

        Returns
        -------
        Task
        """
        rows, encode = self._opened(X, y, sample_weight)
        context = Context(self.n_jobs, rows.report)
        shift = getattr(self, "_middle", 0.0)
        return Task(self.make_spec(), rows, encode, self._n_outputs, context, shift)

    def _open(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """Check parameters and data."""
        check_params(self)
        if not is_auto(self.kernel):
            owner = type(self).__name__
            as_kernel(self.kernel, owner=owner, other="'auto'", size="approximation")
        rows = as_rows(self, X, y, sample_weight, **self._target_checks)
        return rows.copy_with(report=LineReport(type(self).__name__)) if self.verbose else rows

    def _opened(self, X: Any, y: Any = None, sample_weight: Any = None) -> tuple[Rows, Any]:
        """Return checked rows, and the function that makes numbers of their y and weights."""
        rows = self._open(X, y, sample_weight)
        return rows, self._prepare(rows)

    def _fit_rows(self, rows: Rows, targets: Any, shift: Array | float = 0.0) -> None:
        """Fit the kernel, the approximation and the coefficients, in this order.

        ``targets`` turns the y and weights of a block into a matrix of numbers and weights, and
        ``shift`` is what it subtracts from y.
        """
        with counted() as tally:
            self._fit_parts(rows, targets, shift)
        self._evaluations = tally.count
        self._warn_unless_converged()

    def _fit_parts(self, rows: Rows, targets: Any, shift: Array | float) -> None:
        owner = type(self).__name__
        self._clock = clock = Clock()
        deadline = None if self.time_limit is None else monotonic() + self.time_limit
        rng = as_generator(self.random_state)
        loss = self._loss = as_loss(self.loss, owner=owner)
        check_params(loss)
        solver = self._configured_solver()
        held_out = None
        if self.early_stopping:
            rows, held_out = split_rows(rows, self.validation_fraction, draw_seed(rng))
            if not (has_weight(rows) and has_weight(held_out)):
                raise ValueError(
                    f"{owner}: validation_fraction={self.validation_fraction} must leave rows of "
                    "positive weight on both sides: choose another one, or give more rows."
                )
        start = self._previous_start(rows, shift)
        if self.approximation is None:
            kernel = Gaussian() if is_auto(self.kernel) else as_kernel(self.kernel, owner=owner)
            require(kernel, "positive_definite", owner=owner, advice="the exact model needs it")
        limits = self._limits(rows, loss, solver, deadline)
        if self.memory_limit is not None:
            rows = limits.rows = rows.copy_with(block_rows=limits.block_rows)
        given = self._given_map(rows)
        settled = given is not None and not self._has_free_kernel(given)
        # a fit without choices draws nothing for them
        seed = 0 if settled and not is_auto(self.alpha) else draw_seed(rng)
        search = self._search(rows.with_targets(targets), given, seed, limits)
        exact = isinstance(loss, Squared) and isinstance(solver, Auto) and held_out is None
        if start is None:
            with clock.phase("search"):
                self._choice, self._columns = self._chosen(
                    rows.with_targets(targets), given, settled, search, seed
                )
                if self._choice.n_rows is not None:
                    share = self._choice.n_rows / rows.n_rows
                    rows = split_rows(rows, share, draw_seed(rng))[1]
                    limits = self._limits(rows, loss, solver, deadline)
        if self.approximation is None and exact:
            self._fit_exact(rows.with_targets(targets), rng)
            return
        if start is None:
            with (
                clock.phase("map"),
                limits.explained(self._choice.approximation, given=given is not None),
            ):
                self.approximation_ = self._fitted_approximation(rows, rng, limits)
            self.__dict__.pop("kernel_", None)
            if self.approximation_.kernel_ is not None:
                self.kernel_ = self.approximation_.kernel_
        basis = self.approximation_.basis()
        monitor: Any = None
        if held_out is not None:
            monitor = EarlyStopping(
                held_out.with_targets(targets).mapped(basis), loss, rows.context
            )
        watch = None if deadline is None else Deadline(deadline, monitor)
        sample = rows.sample(limits.affordable_rows(_SAMPLE), 0)
        self._sampled = sample.X, sample.weight
        if start is None:
            with clock.phase("search"):
                alpha, alphas = self._penalties(sample.X, rows.n_rows, search)
        else:
            alpha, alphas = self.alpha_ if is_auto(self.alpha) else float(self.alpha), None
        search.release()
        problem = Problem(
            rows=rows.with_targets(targets).mapped(basis),
            loss=loss,
            alpha=alpha,
            penalty=basis.penalty,
            factor=basis.factor,
            fit_intercept=self.fit_intercept,
            memory_limit=self.memory_limit,
            start=start,
            monitor=monitor if watch is None else watch,
            alphas=alphas,
        )
        with (
            clock.phase("solve"),
            limits.explained(self._choice.approximation, given=given is not None),
        ):
            solution = solver.solve(problem, rows.context)
        if watch is not None:
            solution = watch.noted(solution)
        self.alpha_ = alpha if solution.alpha is None else solution.alpha
        self._keep(basis, solution if monitor is None else monitor.best(solution), rows)

    def _configured_solver(self) -> Solver:
        """Return the solver with the estimator's tolerance and iterations, where they are given."""
        owner = type(self).__name__
        solver: Solver = clone(as_solver(self.solver, owner=owner))
        for name in ("tol", "max_iter"):
            value = getattr(self, name)
            if value is None:
                continue
            if name not in solver.get_params():
                raise broken(owner, name, f"None for {type(solver).__name__}", value)
            solver.set_params(**{name: value})
        check_params(solver)
        return solver

    def _limits(self, rows: Rows, loss: Loss, solver: Solver, deadline: float | None) -> Limits:
        return Limits(
            rows=rows,
            n_outputs=self._n_outputs,
            loss=loss,
            solver=solver,
            labelled=self._labelled,
            memory_limit=self.memory_limit,
            time_limit=self.time_limit,
            deadline=deadline,
        )

    def _given_map(self, rows: Rows) -> FeatureMap | None:
        """Return the map that was given, as an object; None for "auto"."""
        if is_auto(self.approximation):
            return None
        given = rows.n_rows if self.approximation is None else self.approximation
        approximation: FeatureMap = (
            Nystroem(budget=int(given)) if isinstance(given, Integral) else as_map(given)
        )
        approximation.check()
        return approximation

    def _has_free_kernel(self, given: FeatureMap | None) -> bool:
        """Tell whether the kernel, or a bandwidth of it, is "auto"."""
        if given is not None and "kernel" not in given.get_params(deep=False):
            return False
        own = getattr(given, "kernel", None)
        kernel = self.kernel if own is None else own
        return is_auto(kernel) or bool(
            free_bandwidths(as_kernel(kernel, owner=type(self).__name__))
        )

    def _search(self, rows: Rows, given: FeatureMap | None, seed: int, limits: Limits) -> Search:
        """Return what tries models on these rows, whose targets are numbers."""
        return Search(
            rows,
            alpha=None if is_auto(self.alpha) else float(self.alpha),
            fit_intercept=self.fit_intercept,
            limits=limits,
            seed=seed,
            small=rows.n_rows <= SMALL and not isinstance(given, RandomBinning),
        )

    def _chosen(
        self, rows: Rows, given: FeatureMap | None, settled: bool, search: Search, seed: int
    ) -> tuple[Choice, str]:
        """Return the map and the penalty, looked for where they are "auto", and what X is like."""
        owner, limits = type(self).__name__, search.limits
        own = getattr(given, "kernel", None)
        kernel = self.kernel if own is None else own
        columns = Columns.of_sample(rows, kernel, limits.memory_limit)
        kernelled = given is None or "kernel" in given.get_params(deep=False)
        if kernelled and not self._has_free_kernel(given):
            columns.warn(kernel, owner)
        if given is not None:
            limits.warn_of_time(given, owner)
        if given is not None and settled:
            width = given.planned_width(rows)
            by_equations = isinstance(limits.loss, Squared) and self.approximation is not None
            by_equations &= isinstance(limits.solver, Auto | Direct)
            # equations of all rows take long for each penalty, a trial does not
            by_equations &= limits.have_room_for(width) and limits.deadline is None
            left_out = search.small and width <= LARGEST_LEFT_OUT
            known = left_out or by_equations or self.approximation is None
            if known or not is_auto(self.alpha):
                alpha = None if is_auto(self.alpha) else float(self.alpha)
                return Choice(given, alpha, (), ""), columns.describe("")
        found = candidates(self.kernel, given, rows, columns, seed, small=search.small, owner=owner)
        if given is None or self.approximation is None:
            choice = search.choose(found, grow=given is None)
        else:
            with limits.explained(given):
                choice = search.choose(found, grow=False)
        return choice, columns.describe(choice.scaling)

    def _penalties(self, X: Matrix, n_rows: int, search: Search) -> tuple[float, Array | None]:
        """Return the penalty, and those from which cross-validation may choose instead."""
        if not is_auto(self.alpha):
            return float(self.alpha), None
        width = self.approximation_.basis().width
        found = self._choice.alpha
        if search.small and width <= LARGEST_LEFT_OUT and not (found and self._labelled):
            return search.penalty(self.approximation_, n_rows), None
        if found is not None:
            near = not search.small and search.limits.deadline is None
            return found, found * NEAR_ALPHAS if near else None
        scale = 10.0 ** np.round(np.log10(mean_diagonal(self.approximation_, ArrayRows(X))))
        return 1e-6 * float(scale), scale * ALPHAS

    def _fitted_approximation(
        self, rows: Rows, rng: np.random.Generator, limits: Limits
    ) -> FeatureMap:
        approximation = self._choice.approximation
        self._bytes = {"search": self._choice.bytes, **limits.planned_bytes(approximation)}
        kernel = None if is_auto(self.kernel) else as_kernel(self.kernel, owner=type(self).__name__)
        if approximation.random_state is not None:
            rng = as_generator(approximation.random_state)
        fitted: FeatureMap = clone(approximation)
        labelled = rows.copy_with(labelled=self._labelled)
        return fitted.fit_rows(labelled, rng, kernel, rows.context)

    def _previous_start(self, rows: Rows, shift: Array | float) -> tuple[Array, Array] | None:
        """Return the coefficients of the last fit where a warm start can use them."""
        before = self.__dict__.pop("_recipe", None)
        if not self.warm_start or self.approximation is None:
            return None
        # a penalty that was chosen belongs to its loss
        chosen = self.loss if is_auto(self.alpha) else None
        kept = (self.fit_intercept, self.approximation, self.random_state)
        parts = (*kept, is_auto(self.alpha), chosen)
        try:
            hashed = joblib.hash((parts, rows.n_features, rows.dtype.str, self._n_outputs))
        except PicklingError:
            # a function without a name, which may be another one each time
            return None
        # kernels compare their functions, of which a hash knows the names alone
        self._recipe = recipe = (clone(self.kernel, safe=False), hashed)
        if before != recipe:
            return None
        return self.solution_.coef, self.solution_.intercept - shift

    def _fit_exact(self, rows: Rows, rng: np.random.Generator) -> None:
        found = getattr(self._choice.approximation, "kernel", None)
        kernel = as_kernel(self.kernel if found is None else found, owner=type(self).__name__)
        kernel = kernel.resolve(rows, draw_seed(rng))
        n = rows.n_rows
        self._bytes = {"search": self._choice.bytes, "map": 8 * n**2, "solve": 24 * n**2}
        require_memory(
            24 * n**2,
            self.memory_limit,
            f"an exact model of {n} rows (approximation=None)",
            "give approximation a budget such as 1000",
        )
        everything = merge_equal(rows.collect())[0]
        assert everything.y is not None, "targets were computed for every block"
        assert everything.weight is not None, "merged rows have weights"
        double = np.dtype(np.float64)
        # float64, because small penalties make coefficients that amplify the rounding of float32
        basis = Landmarks(kernel, as_real(everything.X, double), double)
        self.kernel_ = kernel
        self.approximation_ = basis
        with self._clock.phase("map"):
            K = kernel(basis.points, n_jobs=rows.n_jobs)
            check_gram(K, kernel)
        spread = np.unique(np.linspace(0, everything.size - 1, _SAMPLE).astype(int))
        self._sampled = basis.points[spread], everything.weight[spread]
        with self._clock.phase("solve"):
            given = None if is_auto(self.alpha) else float(self.alpha)
            # the intercept, which is predicted far from all rows, stays near the range of y
            span = Span.of(everything.y, self.fit_intercept)
            solution = solve_exact(
                K,
                everything.y,
                everything.weight,
                alpha=given,
                fit_intercept=self.fit_intercept,
                trusted=None if self._labelled else lambda b: span.holds(b, b),
            )
        assert solution.alpha is not None, "it was given or chosen"
        self.alpha_ = solution.alpha
        self._keep(basis, solution, rows)

    @property
    def certificate_(self) -> Certificate:
        """How good the approximation is, what was chosen and why, and what the fit cost.

        A `~skimp.diagnostics.Certificate`, computed from a sample of rows when it is asked for.
        """
        check_is_fitted(self)
        if self._certificate is None:
            self._certificate = certified(self)
        return self._certificate

    def typicality(self, X: Any) -> Array:
        """Return how typical rows are of the training rows, to find those far from all of them.

        Far from the training rows a model knows nothing: its prediction falls back to the
        intercept. The number is the share of training rows, of a sample of 1,000, that are at least
        as far from their nearest neighbour in the sample as this row is, in the kernel's distance.
        Of rows like those of ``fit``, one in a hundred is below 0.01.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Rows with the columns of ``fit``.

        Returns
        -------
        array of shape (n,)
            Numbers above 0, and 1 for rows that are as near as any.
        """
        check_is_fitted(self)
        rows = as_rows(self, X, reset=False)
        kernel = getattr(self, "kernel_", None)
        return typicality(rows, self._sampled[0], kernel, self.approximation_)

    def _keep(self, basis: Any, solution: Solution, rows: Rows) -> None:
        self._certificate = None
        self.solution_ = solution
        self.coef_ = solution.coef.astype(rows.dtype)
        self.intercept_ = solution.intercept.astype(rows.dtype)
        self.n_iter_ = solution.n_iter
        self._basis = basis
        # coefficients of kernel columns are large and cancel: their products need float64
        single = basis.dtype == np.float32 and not isinstance(basis, Landmarks)
        self._coef = self.coef_ if single else solution.coef

    def _warn_unless_converged(self) -> None:
        """Warn of a solver that stopped before its tolerance was reached."""
        solution = self.solution_
        if solution.converged:
            return
        limit = "max_iter" if self.time_limit is None else "max_iter or time_limit"
        warnings.warn(
            f"{type(self).__name__}: the solver stopped before its tolerance was reached, after "
            f"{solution.n_iter} iterations ({solution.message}). Raise {limit}, scale the columns "
            "of X, or choose a larger alpha.",
            ConvergenceWarning,
            stacklevel=4,
        )

    def _outputs(self, X: Any) -> Array:
        """Return the fitted function at each row, of shape (n, k)."""
        check_is_fitted(self)
        rows = as_rows(self, X, reset=False).mapped(self._basis)
        F = np.empty((rows.n_rows, self.coef_.shape[1]), self.coef_.dtype)

        def fill(block: Any, _: object) -> None:
            for start in range(0, block.size, _STRIP):
                Z = as_features(block.X[start : start + _STRIP], self._coef.dtype)
                F[block.start + start : block.start + start + Z.shape[0]] = Z @ self._coef

        rows.map_reduce(fill, lambda total, _: total, None)
        F += self.intercept_
        return F

    def __sklearn_tags__(self) -> Any:
        """Say what scikit-learn may pass in."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        if TRANSFORMER.test(self.approximation) and not isinstance(self.approximation, FeatureMap):
            inner = get_tags(self.approximation).input_tags
            tags.input_tags.sparse = inner.sparse
            tags.input_tags.positive_only = inner.positive_only
            return tags
        own = getattr(self.approximation, "kernel", None)
        kernel = self.kernel if own is None else own
        kernel = None if is_auto(kernel) else kernel
        tags.input_tags.positive_only = has_flag(kernel, "needs_nonnegative")
        tags.input_tags.string = has_flag(kernel, "takes_objects")
        return tags
