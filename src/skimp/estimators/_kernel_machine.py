"""What the classifier and the regressor share: the recipe, and its sum of basis functions."""

from abc import ABC
from numbers import Integral
from pickle import PicklingError
from typing import Any, ClassVar

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from skimp._core._memory import MEMORY_LIMIT, require_memory
from skimp._core._objects import as_real
from skimp._core._parametrized import Parametrized
from skimp._core._progress import LineReport
from skimp._core._random import as_generator, draw_seed
from skimp._core._rules import (
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
    number,
)
from skimp._core._types import Array, RandomState
from skimp.data import Rows, as_rows
from skimp.data._split import has_weight, split_rows
from skimp.features import FeatureMap, Landmarks, Nystroem
from skimp.features._transformer import TRANSFORMER, as_map
from skimp.kernels import Kernel, as_kernel
from skimp.kernels._checks import check_gram, require
from skimp.kernels._names import has_flag
from skimp.losses import Loss, Squared, as_loss
from skimp.solvers import (
    Auto,
    EarlyStopping,
    Problem,
    Solution,
    Solver,
    as_solver,
    solve_exact,
)
from skimp.solvers._features import features

_STRIP = 512


class KernelMachine(Parametrized, ABC):
    """A function fitted as a sum of basis functions of an approximated kernel, plus a constant."""

    _rules: ClassVar[dict[str, Rule]] = {
        "approximation": NONE
        | integer(at_least=1)
        | instance(FeatureMap, "a feature map")
        | TRANSFORMER,
        "alpha": number(above=0),
        "fit_intercept": BOOLEAN,
        "tol": NONE | number(above=0),
        "max_iter": NONE | integer(at_least=1),
        "warm_start": BOOLEAN,
        "early_stopping": BOOLEAN,
        "validation_fraction": FRACTION,
        "memory_limit": MEMORY_LIMIT,
        "n_jobs": N_JOBS,
        "verbose": integer(at_least=0) | BOOLEAN,
        "random_state": RANDOM_STATE,
    }

    kernel: Kernel | str
    approximation: FeatureMap | int | None
    loss: Loss | str
    alpha: float
    solver: Solver | str
    fit_intercept: bool
    tol: float | None
    max_iter: int | None
    warm_start: bool
    early_stopping: bool
    validation_fraction: float
    memory_limit: int | str | None
    n_jobs: int | None
    verbose: int
    random_state: RandomState
    approximation_: FeatureMap | Landmarks
    _n_outputs: int
    _labelled: ClassVar[bool]

    def _open(self, X: Any, y: Any, sample_weight: Any, **target_checks: Any) -> Rows:
        """Check parameters and data."""
        check_params(self)
        as_kernel(self.kernel, owner=type(self).__name__)
        rows = as_rows(self, X, y, sample_weight, **target_checks)
        return rows.copy_with(report=LineReport(type(self).__name__)) if self.verbose else rows

    def _fit_rows(self, rows: Rows, targets: Any, shift: Array | float = 0.0) -> None:
        """Fit the kernel, the approximation and the coefficients, in this order.

        ``targets`` turns the y and weights of a block into a matrix of numbers and weights, and
        ``shift`` is what it subtracts from y.
        """
        owner = type(self).__name__
        rng = as_generator(self.random_state)
        kernel = as_kernel(self.kernel, owner=owner)
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
            require(kernel, "positive_definite", owner=owner, advice="the exact model needs it")
            if isinstance(loss, Squared) and isinstance(solver, Auto) and held_out is None:
                self._fit_exact(kernel.resolve(rows, draw_seed(rng)), rows.with_targets(targets))
                return
        if start is None:
            self.approximation_ = self._fitted_approximation(rows, rng, kernel)
            self.__dict__.pop("kernel_", None)
            if hasattr(self.approximation_, "kernel_"):
                self.kernel_ = self.approximation_.kernel_
        basis = self.approximation_.basis()
        monitor = None
        if held_out is not None:
            monitor = EarlyStopping(held_out.with_targets(targets).mapped(basis), loss)
        problem = Problem(
            rows=rows.with_targets(targets).mapped(basis),
            loss=loss,
            alpha=self.alpha,
            penalty=basis.penalty,
            factor=basis.factor,
            fit_intercept=self.fit_intercept,
            memory_limit=self.memory_limit,
            start=start,
            monitor=monitor,
        )
        solution = solver.solve(problem)
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

    def _fitted_approximation(
        self, rows: Rows, rng: np.random.Generator, kernel: Kernel
    ) -> FeatureMap:
        given = rows.n_rows if self.approximation is None else self.approximation
        approximation: FeatureMap = (
            Nystroem(budget=int(given)) if isinstance(given, Integral) else as_map(given)
        )
        check_params(approximation)
        width = approximation.planned_width(rows)
        require_memory(
            approximation.planned_bytes(rows),
            self.memory_limit,
            f"a model of {width} landmarks or features",
            "take fewer of them",
        )
        if approximation.random_state is not None:
            rng = as_generator(approximation.random_state)
        return approximation.fit_rows(rows.copy_with(labelled=self._labelled), rng, kernel)

    def _previous_start(self, rows: Rows, shift: Array | float) -> tuple[Array, Array] | None:
        """Return the coefficients of the last fit where a warm start can use them."""
        before = self.__dict__.pop("_recipe", None)
        if not self.warm_start or self.approximation is None:
            return None
        parts = (self.approximation, self.random_state)
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

    def _fit_exact(self, kernel: Kernel, rows: Rows) -> None:
        n = rows.n_rows
        require_memory(
            24 * n**2,
            self.memory_limit,
            f"an exact model of {n} rows (approximation=None)",
            "give approximation a budget such as 1000",
        )
        everything = rows.collect()
        assert everything.y is not None, "targets were computed for every block"
        double = np.dtype(np.float64)
        # float64, because small penalties make coefficients that amplify the rounding of float32
        basis = Landmarks(kernel, as_real(everything.X, double), double)
        self.kernel_ = kernel
        self.approximation_ = basis
        K = kernel(basis.points, n_jobs=rows.n_jobs)
        check_gram(K, kernel)
        solution = solve_exact(
            K,
            everything.y,
            everything.weight,
            alpha=self.alpha,
            fit_intercept=self.fit_intercept,
        )
        self._keep(basis, solution, rows)

    def _keep(self, basis: Any, solution: Solution, rows: Rows) -> None:
        self.solution_ = solution
        self.coef_ = solution.coef.astype(rows.dtype)
        self.intercept_ = solution.intercept.astype(rows.dtype)
        self.n_iter_ = solution.n_iter
        self._basis = basis
        # coefficients of kernel columns are large and cancel: their products need float64
        single = basis.dtype == np.float32 and not isinstance(basis, Landmarks)
        self._coef = self.coef_ if single else solution.coef

    def _outputs(self, X: Any) -> Array:
        """Return the fitted function at each row, of shape (n, k)."""
        check_is_fitted(self)
        rows = as_rows(self, X, reset=False).mapped(self._basis)
        F = np.empty((rows.n_rows, self.coef_.shape[1]), self.coef_.dtype)

        def fill(block: Any, _: object) -> None:
            for start in range(0, block.size, _STRIP):
                Z = features(block.X[start : start + _STRIP], self._coef.dtype)
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
        tags.input_tags.positive_only = has_flag(kernel, "needs_nonnegative")
        tags.input_tags.string = has_flag(kernel, "takes_objects")
        return tags
