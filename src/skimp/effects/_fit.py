"""Fit KRLS: scale the columns, choose kernel and penalty, and keep one record of the model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from skimp._core._random import as_generator, draw_seed
from skimp._core._types import Array
from skimp._params._memory import parse_bytes, require_memory
from skimp._params._rules import Rule, broken, check_params, number
from skimp.choice import Task
from skimp.data import Context, Rows, as_rows, is_frame, keep_rows, kept_bytes, masked_rows
from skimp.effects._approximation import (
    Approximation,
    Functions,
    Points,
    RowSample,
    Sketch,
    as_approximation,
)
from skimp.effects._design import Design, Term
from skimp.effects._functionals import Functionals
from skimp.effects._levels import encode_levels, find_levels
from skimp.effects._random_sums import RandomSums
from skimp.estimators import KernelRegressor, mean_target
from skimp.features import Landmarks, Nystroem
from skimp.kernels import Gaussian, Kernel, as_kernel, check_gram, require
from skimp.solvers.ridge import (
    FOLDS,
    ExactSmoother,
    LinearFit,
    ReducedSmoother,
    Smoother,
    best_alpha,
    fold_scores,
    golden_section,
)

_DOUBLE = np.dtype(np.float64)
_SQUARABLE = number(above=1e-100, at_most=1e100)
POSITIVE = Rule(
    f"a sequence, each {_SQUARABLE.wording}",
    lambda value: (
        isinstance(value, list | tuple | np.ndarray)
        and np.ndim(value) == 1
        and len(value) > 0
        and all(map(_SQUARABLE.test, value))
    ),
)
"""A rule for grids of penalties and bandwidths, whose squares are numbers, too."""


@dataclass(frozen=True, eq=False)
class Data:
    """Training rows, without those of weight zero, and how to scale them.

    ``present`` says which of the given rows they are, None for all; ``middle`` is what is
    subtracted from the targets.
    """

    rows: Rows
    present: Array | None
    design: Design
    middle: Array
    single_output: bool

    @property
    def scaled(self) -> Rows:
        """The rows as the model sees them, with centred targets."""
        rows: Rows = self.rows.mapped(self.design).with_targets(self._centre)
        rows.feature_names, rows.labelled = self.design.column_names, False
        return rows

    def _centre(self, y: Array | None, weight: Array | None) -> tuple[Array, Array | None]:
        assert y is not None, "the mean of the targets was taken before"
        return np.asarray(y, _DOUBLE).reshape(len(y), -1) - self.middle, weight


def open_data(estimator: Any, X: Any, y: Any, sample_weight: Any, context: Context) -> Data:
    """Return the data of a fit, checked."""
    counted = _find_counted(X, sample_weight)
    levels = find_levels(X, counted)
    encoded = encode_levels(X, levels, present=counted)
    rows = as_rows(estimator, encoded, y, sample_weight, multi_output=True, y_numeric=True)
    weight, present = rows.weights(context), None
    if weight is not None and not weight.all():
        present = weight > 0
        rows = masked_rows(rows, present)
    names = rows.feature_names or [f"x{j}" for j in range(rows.n_features)]
    single_output, middle = mean_target(rows, type(estimator).__name__, context)
    design = Design(
        rows,
        names,
        levels,
        standardize=estimator.standardize,
        ddof=int(estimator.convention == "R"),
        context=context,
    )
    middle = middle if estimator.fit_intercept else np.zeros_like(middle)
    return Data(rows, present, design, middle, single_output)


def _find_counted(X: Any, sample_weight: Any) -> Array | None:
    """Return which rows of a frame count, None for all; bad weights are refused later."""
    if sample_weight is None or not is_frame(X):
        return None
    weight = np.asarray(sample_weight)
    if weight.shape != (len(X),) or weight.dtype.kind not in "biuf" or weight.all():
        return None
    return np.asarray(weight != 0)


@dataclass(frozen=True)
class Spec:
    """What to fit: the parameters of `skimp.KRLS`, checked; ``like_r`` is ``convention="R"``."""

    approximation: Approximation | None
    alpha: float | str
    lams: Sequence[float] | Array | None = None
    fit_intercept: bool = True
    like_r: bool = False
    memory_limit: int | str | None = None

    @classmethod
    def of(cls, model: Any) -> "Spec":
        """Return what a `skimp.KRLS` is to fit; raise for a parameter that breaks a rule."""
        owner = type(model).__name__
        check_params(model)
        kernel = default_kernel(model, 1)
        require(kernel, "positive_definite", owner=owner, advice="f has a norm only then")
        require(kernel, "differentiable", owner=owner, advice="effects are derivatives")
        if model.sigmas is not None and "gamma" not in kernel.get_params(deep=False):
            raise broken(owner, "sigmas", f"None for {kernel!r}, which has no gamma", model.sigmas)
        searched = model.lams is not None or model.sigmas is not None
        if searched and not isinstance(model.alpha, str):
            raise broken(owner, "alpha", "a criterion if lams or sigmas are given", model.alpha)
        like_r = model.convention == "R"
        return cls(
            as_approximation(model.approximation, owner=owner),
            model.alpha,
            model.lams,
            # R centres y instead
            model.fit_intercept and not like_r,
            like_r,
            model.memory_limit,
        )

    def check_count(self, n_rows: int) -> None:
        """Raise if there are too few rows to choose alpha by its criterion."""
        needed, n = 2, n_rows
        if self.alpha == "kfold":
            needed = FOLDS
        elif isinstance(self.approximation, RowSample):
            n = self.approximation.count(n_rows)
        if isinstance(self.alpha, str) and n < needed:
            raise ValueError(
                f"alpha={self.alpha!r} needs {needed} rows of positive weight, found "
                f"n_samples = {n}: give alpha a number."
            )


def default_kernel(model: Any, n_columns: int) -> Kernel:
    """Return the kernel of a `skimp.KRLS`, by default the Gaussian for this many columns."""
    if model.kernel is None:
        return Gaussian(gamma=1 / (n_columns if model.convention == "R" else 2 * n_columns))
    return as_kernel(model.kernel, owner=type(model).__name__, other="None")


def resolve_kernel(model: Any, data: Data, seed: int, context: Context) -> Kernel:
    """Return the kernel of a `skimp.KRLS` with numbers for parameters."""
    design = data.design
    n_columns = design.width if model.convention == "R" else len(design.names)
    return default_kernel(model, n_columns).resolve(context.bind(data.scaled), seed)


@dataclass(frozen=True, eq=False)
class Models:
    """All models of a kernel in some functions, and the penalty of the best.

    ``sampled`` are the rows that were fitted, None for all; ``alphas`` the penalties that were
    compared, with their ``scores``, None if alpha was given.
    """

    kernel: Kernel
    basis: Landmarks | RandomSums
    smoother: Smoother
    sampled: Array | None = None
    alpha: float = np.nan
    alphas: Array | None = None
    scores: Array | None = None


def choose_models(
    spec: Spec, rows: Rows, kernels: list[Kernel], seed: int, context: Context
) -> Models:
    """Return the models of the best kernel, the first of equal ones, with the best penalty."""
    if len(kernels) == 1:
        models = make_models(spec, rows, kernels[0], seed, context)
        return _choose_penalty(spec, rows, models, seed, context)
    found = []
    for kernel in kernels:
        # factorizations are large: one is held at a time, and that of the best made again
        models = make_models(spec, rows, kernel, seed, context)
        models = _choose_penalty(spec, rows, models, seed, context)
        assert models.scores is not None, "sigmas go with a criterion"
        found.append((float(np.min(models.scores)), models.alpha, models.alphas, models.scores))
        del models
    best = int(np.argmin([least for least, *_ in found]))
    _, alpha, alphas, scores = found[best]
    models = make_models(spec, rows, kernels[best], seed, context)
    return replace(models, alpha=alpha, alphas=alphas, scores=scores)


def _choose_penalty(spec: Spec, rows: Rows, models: Models, seed: int, context: Context) -> Models:
    smoother, criterion = models.smoother, spec.alpha
    if not isinstance(criterion, str):
        return replace(models, alpha=float(criterion))
    if spec.like_r and spec.lams is None and criterion == "loo":
        alpha, alphas, scores = golden_section(smoother)
        return replace(models, alpha=alpha, alphas=alphas, scores=scores)
    alphas = smoother.grid()
    if spec.lams is not None:
        alphas = np.sort(np.asarray(spec.lams, float)) / smoother.n_rows
    if criterion == "kfold":

        def fit_fold(part: Rows) -> tuple[Landmarks | RandomSums, Smoother]:
            made = make_models(spec, part, models.kernel, seed, context)
            return made.basis, made.smoother

        scores = fold_scores(rows, alphas * smoother.weight, seed, fit_fold, context)
    else:
        scores = smoother.scores(alphas, criterion)
    free = spec.lams is None
    alpha = best_alpha(alphas, scores) if free else float(alphas[np.argmin(scores)])
    return replace(models, alpha=alpha, alphas=alphas, scores=scores)


def make_models(spec: Spec, rows: Rows, kernel: Kernel, seed: int, context: Context) -> Models:
    """Return all models of some scaled rows, in the functions that are chosen from them."""
    rng = np.random.default_rng(seed)
    given, sampled = spec.approximation, None
    if isinstance(given, Functions):
        size = given.count(rows.n_rows)
        sketch = 8 * rows.n_rows * size if isinstance(given, Sketch) else 0
        what = f"an approximation by {size} functions"
        require_memory(80 * size**2 + sketch, spec.memory_limit, what, "take fewer")
        basis = given.make_basis(rows, kernel, rng, context)
        mapped: Rows = rows.mapped(basis)
        if kept_bytes(mapped) < parse_bytes(spec.memory_limit) // 4:
            mapped = keep_rows(mapped, context)
        reduced = ReducedSmoother(
            mapped, basis.penalty, fit_intercept=spec.fit_intercept, context=context
        )
        return Models(kernel, basis, reduced)
    if isinstance(given, RowSample):
        rows, sampled = given.draw(rows, draw_seed(rng), context)
    n = rows.n_rows
    # a fold is factored beside all rows
    needed = (16 if spec.alpha == "kfold" else 10) * n**2
    what = f"the exact model of {n} rows (approximation=None)"
    require_memory(needed, spec.memory_limit, what, "take an approximation such as 1000")
    block = rows.collect()
    assert block.y is not None, "targets were computed for every block"
    landmarks = Landmarks(kernel, block.X, _DOUBLE)
    K = kernel(landmarks.points, n_jobs=context.n_jobs)
    check_gram(K, kernel)
    exact = ExactSmoother(
        K, block.y, block.weights(), fit_intercept=spec.fit_intercept, context=context
    )
    return Models(kernel, landmarks, exact, sampled)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model: what predictions, effects and tables are functions of.

    It is a sum of kernel columns of ``points`` with coefficients ``dual``, and ``constant``.
    ``fit`` is the same model in the functions of ``models``, with all that variances need.
    """

    data: Data
    spec: Spec
    models: Models
    fit: LinearFit
    points: Landmarks
    dual: Array
    constant: Array
    context: Context

    @property
    def design(self) -> Design:
        """What scales rows, and what effects there are."""
        return self.data.design

    @property
    def freedom(self) -> float:
        """Degrees of freedom of t, at least one."""
        return max(self.fit.freedom, 1.0)

    def gather(self, L: Array) -> Array:
        """Return functionals of kernel columns as functionals of the functions that were fitted."""
        basis = self.models.basis
        return np.asarray(basis.mixing.T @ L) if isinstance(basis, RandomSums) else L

    def functionals(self, terms: list[Term], by: Term | None = None) -> Functionals:
        """Return the effects of terms on kernel columns, or those of another term on these."""
        return Functionals(self.points, self.design, terms, by)

    def outputs(self, values: Array) -> Array:
        """Return values without their last axis, of outputs, if y has one dimension."""
        return values[..., 0] if self.data.single_output else values


def fit_krls(
    model: Any, X: Any, y: Any, sample_weight: Any, rng: np.random.Generator, context: Context
) -> Fitted:
    """Fit a `skimp.KRLS`: scale, choose, and keep the best model."""
    spec = Spec.of(model)
    data = open_data(model, X, y, sample_weight, context)
    spec.check_count(data.rows.n_rows)
    seed = draw_seed(rng)
    kernels = [kernel := resolve_kernel(model, data, seed, context)]
    if model.sigmas is not None:
        kernels = [clone(kernel).set_params(gamma=1 / (2 * s**2)) for s in model.sigmas]
    models = choose_models(spec, data.scaled, kernels, seed, context)
    basis, smoother, fit = models.basis, models.smoother, models.smoother.at(models.alpha)
    if spec.like_r:
        fit.noise = fit.squares / fit.n_rows
        fit.freedom = float(max(fit.n_rows - data.design.width, 1))
    if isinstance(smoother, ReducedSmoother):
        # a model does not hold features: they are computed again if they are asked for
        smoother.rows = data.scaled.mapped(basis)
    dual = basis.mixing @ fit.coef if isinstance(basis, RandomSums) else fit.coef
    points = Landmarks(basis.kernel, basis.points, _DOUBLE)
    constant = fit.intercept + data.middle
    return Fitted(data, spec, models, fit, points, np.asarray(dual), constant, context)


def open_task(model: Any, X: Any, y: Any, sample_weight: Any) -> Task:
    """Return the task of a regressor with the kernel and the points of a `skimp.KRLS`.

    Raises a `ValueError` for models that have no points, or several kernels.
    """
    owner, rng = type(model).__name__, as_generator(model.random_state)
    context = Context(model.n_jobs)
    spec = Spec.of(model)
    if not (spec.approximation is None or isinstance(spec.approximation, Points)):
        wording = "None, a number of points or a selector for budget_curve"
        raise broken(owner, "approximation", wording, model.approximation)
    if model.sigmas is not None:
        raise broken(owner, "sigmas", "None for budget_curve", model.sigmas)
    data = open_data(model, X, y, sample_weight, context)
    approximation: Any = "auto"
    if spec.approximation is not None:
        size = spec.approximation.count(data.rows.n_rows)
        approximation = Nystroem(budget=size, selector=spec.approximation.selector)
    regressor = KernelRegressor(
        resolve_kernel(model, data, draw_seed(rng), context),
        approximation=approximation,
        loss="squared",
        fit_intercept=spec.fit_intercept,
        memory_limit=model.memory_limit,
        n_jobs=model.n_jobs,
        random_state=draw_seed(rng),
    )
    return regressor.open_task(data.scaled)
