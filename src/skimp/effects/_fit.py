"""Fit KRLS: scale the columns, choose the kernel and the penalty, return a record."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from skimp._core._random import as_generator, draw_seed
from skimp._core._types import Array
from skimp._core._work import DOUBLE
from skimp._params._rules import broken
from skimp.choice import Task
from skimp.data import Context, FilteredRows, Rows, as_rows, is_frame, weighted_rows
from skimp.effects._approximation import Points, RowSample
from skimp.effects._design import Design, Term
from skimp.effects._functionals import Functionals
from skimp.effects._levels import encode_levels, find_levels
from skimp.effects._models import Models, Spec, choose_models, default_kernel, read_spec
from skimp.effects._random_sums import RandomSums
from skimp.estimators import KernelRegressor, mean_target
from skimp.features import Landmarks, Nystroem
from skimp.kernels import Kernel
from skimp.solvers.ridge import FOLDS, LinearFit, ReducedSmoother


@dataclass(frozen=True, eq=False)
class Data:
    """Training rows with positive weight, and their scaling.

    ``present`` are these rows among the ``n_given`` ones; None if all are. ``middle`` is subtracted
    from the targets.
    """

    rows: Rows
    present: FilteredRows | None
    n_given: int
    design: Design
    middle: Array
    single_output: bool

    @property
    def scaled(self) -> Rows:
        """Scaled rows with centred targets."""
        rows: Rows = self.rows.mapped(self.design).with_targets(self._centre)
        rows.feature_names, rows.labelled = self.design.column_names, False
        return rows

    def _centre(self, y: Array | None, weight: Array | None) -> tuple[Array, Array | None]:
        assert y is not None, "the mean of the targets was taken before"
        return np.asarray(y, DOUBLE).reshape(len(y), -1) - self.middle, weight


def _open_data(model: Any, X: Any, y: Any, sample_weight: Any, context: Context) -> Data:
    counted = _find_counted(X, sample_weight)
    levels = find_levels(X, counted)
    encoded = encode_levels(X, levels, present=counted)
    rows = as_rows(model, encoded, y, sample_weight, multi_output=True, y_numeric=True)
    present = weighted_rows(rows, context)
    n_given, rows = rows.n_rows, rows if present is None else present
    names = rows.feature_names or [f"x{j}" for j in range(rows.n_features)]
    single_output, middle = mean_target(rows, type(model).__name__, context)
    scaling = {"standardize": model.standardize, "ddof": int(model.convention == "R")}
    design = Design(rows, names, levels, **scaling, context=context)
    return Data(rows, present, n_given, design, middle * model.fit_intercept, single_output)


def _find_counted(X: Any, sample_weight: Any) -> Array | None:
    """Return which rows of a frame have weight, None for all; weights are checked later."""
    if sample_weight is None or not is_frame(X):
        return None
    weight = np.asarray(sample_weight)
    if weight.shape != (len(X),) or weight.dtype.kind not in "biuf" or weight.all():
        return None
    return np.asarray(weight != 0)


def _resolve_kernel(model: Any, data: Data, seed: int, context: Context) -> Kernel:
    design = data.design
    n_columns = design.width if model.convention == "R" else len(design.names)
    return default_kernel(model, n_columns).resolve(context.bind(data.scaled), seed)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model, from which predictions, effects and tables are computed.

    The model is a sum of kernel columns of ``points`` with coefficients ``dual``, plus
    ``constant``. ``fit`` is the same model in the basis of ``models``, with what variances need.
    """

    data: Data
    spec: Spec
    models: Models
    fit: LinearFit
    dual: Array
    constant: Array
    context: Context

    @property
    def design(self) -> Design:
        return self.data.design

    @property
    def points(self) -> Landmarks:
        return self.models.basis.landmarks_

    @property
    def freedom(self) -> float:
        """Degrees of freedom of t, at least one."""
        return max(self.fit.freedom, 1.0)

    def gather(self, L: Array) -> Array:
        """Return functionals of kernel columns as functionals of the basis functions."""
        basis = self.models.basis
        return np.asarray(basis.mixing.T @ L) if isinstance(basis, RandomSums) else L

    def functionals(self, terms: list[Term], by: Term | None = None) -> Functionals:
        """Return the effects of terms on kernel columns, or their change with the term ``by``."""
        return Functionals(self.points, self.design, terms, by)

    def outputs(self, values: Array) -> Array:
        """Drop the last axis, that of outputs, if y is one-dimensional."""
        return values[..., 0] if self.data.single_output else values


def fit_krls(
    model: Any, X: Any, y: Any, sample_weight: Any, rng: np.random.Generator, context: Context
) -> Fitted:
    """Fit a `skimp.KRLS`: scale, choose, and keep the best model."""
    spec = read_spec(model)
    with context.phase("read") as reading:
        data = _open_data(model, X, y, sample_weight, context)
        _check_count(spec, data.rows.n_rows)
        seed = draw_seed(rng)
        kernels = [kernel := _resolve_kernel(model, data, seed, context)]
        reading.result = f"{data.rows.n_rows:,} rows of {len(data.design.names):,} columns"
    if model.sigmas is not None:
        kernels = [clone(kernel).set_params(gamma=1 / (2 * s**2)) for s in model.sigmas]
    models = choose_models(spec, data.scaled, kernels, seed, context)
    with context.phase("model") as fitting:
        basis, smoother, fit = models.basis, models.smoother, models.smoother.at(models.alpha)
        fitting.result = f"alpha {models.alpha:.3g}, {fit.dimension:,.1f} effective parameters"
    if spec.like_r:
        fit.noise = fit.squares / fit.n_rows
        fit.freedom = float(max(fit.n_rows - data.design.width, 1))
    if isinstance(smoother, ReducedSmoother):
        # a model does not store features; they are recomputed on demand
        smoother.rows = data.scaled.mapped(basis)
    dual = basis.mixing @ fit.coef if isinstance(basis, RandomSums) else fit.coef
    constant = fit.intercept + data.middle
    return Fitted(data, spec, models, fit, np.asarray(dual), constant, context)


def _check_count(spec: Spec, n: int) -> None:
    """Raise if there are too few rows to choose alpha by its criterion."""
    if isinstance(spec.approximation, RowSample) and spec.alpha != "kfold":
        n = spec.approximation.count(n)
    needed = FOLDS if spec.alpha == "kfold" else 2
    if isinstance(spec.alpha, str) and n < needed:
        raise ValueError(
            f"alpha={spec.alpha!r} needs {needed} rows with positive weight, found "
            f"n_samples = {n}: set alpha to a number."
        )


def open_task(model: Any, X: Any, y: Any, sample_weight: Any) -> Task:
    """Return the task of a regressor with the kernel and the landmarks of a `skimp.KRLS`."""
    owner, rng = type(model).__name__, as_generator(model.random_state)
    context, spec = Context(model.n_jobs), read_spec(model)
    given = spec.approximation
    if not (given is None or isinstance(given, Points)):
        wording = "None, a number of landmarks or a selector for budget_curve"
        raise broken(owner, "approximation", wording, model.approximation)
    if model.sigmas is not None:
        raise broken(owner, "sigmas", "None for budget_curve", model.sigmas)
    data = _open_data(model, X, y, sample_weight, context)
    approximation: Any = "auto"
    if given is not None:
        approximation = Nystroem(budget=given.count(data.rows.n_rows), selector=given.selector)
    regressor = KernelRegressor(
        _resolve_kernel(model, data, draw_seed(rng), context),
        approximation=approximation,
        loss="squared",
        fit_intercept=spec.fit_intercept,
        memory_limit=model.memory_limit,
        n_jobs=model.n_jobs,
        random_state=draw_seed(rng),
    )
    return regressor.open_task(data.scaled)
