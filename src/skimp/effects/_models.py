"""Models for all penalties, and the choice of bandwidth and penalty."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skimp._core._random import draw_seed
from skimp._core._types import Array
from skimp._core._work import DOUBLE
from skimp._params._memory import parse_bytes, require_memory
from skimp._params._rules import broken, check_params
from skimp.choice import NOMINAL, describe_kernel, given_again, seconds
from skimp.data import Context, Rows, keep_rows, kept_bytes
from skimp.effects._approximation import Approximation, Points, RowSample, Sketch, as_approximation
from skimp.effects._copies import look_for_copies, row_contents
from skimp.effects._random_sums import RandomSums
from skimp.features import Landmarks
from skimp.kernels import Gaussian, Kernel, as_kernel, check_gram, require
from skimp.solvers.ridge import (
    FOLDS,
    ExactSmoother,
    ReducedSmoother,
    Smoother,
    best_alpha,
    exact_work,
    fold_scores,
    golden_section,
)

_KEYED = 2**20
"""Number of rows whose contents are compared at once."""
_BYTES_OF_KEY = 512
"""Bytes of memory_limit for each of these rows: four times what sorting their contents takes."""


@dataclass(frozen=True)
class Spec:
    """Checked parameters of a `skimp.KRLS`; ``like_r`` means ``convention="R"``."""

    approximation: Approximation | None
    alpha: float | str
    lams: Sequence[float] | Array | None = None
    fit_intercept: bool = True
    like_r: bool = False
    memory_limit: int | str | None = None


def read_spec(model: Any) -> Spec:
    """Check the parameters of a `skimp.KRLS` and return them."""
    owner = type(model).__name__
    check_params(model)
    kernel = default_kernel(model, 1)
    require(kernel, "positive_definite", owner=owner, advice="otherwise f has no norm")
    require(kernel, "differentiable", owner=owner, advice="effects are derivatives")
    if model.sigmas is not None and "gamma" not in kernel.get_params(deep=False):
        raise broken(owner, "sigmas", f"None for {kernel!r}, which has no gamma", model.sigmas)
    searched = model.lams is not None or model.sigmas is not None
    if searched and not isinstance(model.alpha, str):
        raise broken(owner, "alpha", "a criterion if lams or sigmas are given", model.alpha)
    approximation, like_r = (
        as_approximation(model.approximation, owner=owner),
        model.convention == "R",
    )
    # R centres y instead
    intercept = model.fit_intercept and not like_r
    return Spec(approximation, model.alpha, model.lams, intercept, like_r, model.memory_limit)


def default_kernel(model: Any, n_columns: int) -> Kernel:
    """Return the kernel of a `skimp.KRLS`, by default a Gaussian for ``n_columns``."""
    if model.kernel is None:
        return Gaussian(gamma=1 / (n_columns if model.convention == "R" else 2 * n_columns))
    return as_kernel(model.kernel, owner=type(model).__name__, other="None")


@dataclass(frozen=True, eq=False)
class Models:
    """Models of one basis for all penalties, and the best penalty.

    ``sampled`` are the indices of the fitted rows, None for all. ``alphas`` are the penalties
    compared, with their ``scores``; None if alpha was given.
    """

    basis: Landmarks | RandomSums
    smoother: Smoother
    sampled: Array | None = None
    alpha: float = np.nan
    alphas: Array | None = None
    scores: Array | None = None


def choose_models(
    spec: Spec, rows: Rows, kernels: list[Kernel], seed: int, context: Context
) -> Models:
    """Return the models of the best kernel with the best penalty."""
    if len(kernels) == 1:
        models = make_models(spec, rows, kernels[0], seed, context)
        return replace(models, **_choose_penalty(spec, rows, models, seed, context))
    # factorizations are large: keep one at a time, and recompute the best
    found = []
    with context.phase("search", unit="bandwidths", total=len(kernels)):
        for kernel in kernels:
            with context.phase("bandwidth") as trying:
                models = make_models(spec, rows, kernel, seed, context)
                found.append(_choose_penalty(spec, rows, models, seed, context))
                error = np.min(found[-1]["scores"])
                trying.result = f"{describe_kernel(kernel)}: error {error:.4g}"
                del models
    best = int(np.argmin([np.min(penalty["scores"]) for penalty in found]))
    return replace(make_models(spec, rows, kernels[best], seed, context), **found[best])


def _choose_penalty(
    spec: Spec, rows: Rows, models: Models, seed: int, context: Context
) -> dict[str, Any]:
    """Return the best ``alpha``, and ``alphas`` with their ``scores`` after a search."""
    smoother, criterion = models.smoother, spec.alpha
    if not isinstance(criterion, str):
        return {"alpha": float(criterion)}
    free = spec.lams is None
    if spec.like_r and free and criterion == "loo":
        with context.phase("penalty"):
            alpha, alphas, scores = golden_section(smoother)
        return {"alpha": alpha, "alphas": alphas, "scores": scores}
    alphas = smoother.grid() if free else np.sort(np.asarray(spec.lams, float)) / smoother.n_rows
    if criterion == "kfold":

        def fit_fold(part: Rows) -> tuple[Landmarks | RandomSums, Smoother]:
            with context.phase("fold"):
                made = make_models(spec, part, models.basis.kernel, seed, context)
            return made.basis, made.smoother

        with context.phase("penalty", unit="folds", total=FOLDS):
            scores = fold_scores(rows, alphas * smoother.weight, seed, fit_fold, context)
    else:
        copies = None
        if criterion == "loo" and not spec.like_r:
            copies = _find_copies(rows, models, spec.memory_limit, context)
        with context.phase("penalty"):
            scores = smoother.scores(alphas, criterion, copies)
    alpha = best_alpha(alphas, scores) if free else float(alphas[np.argmin(scores)])
    return {"alpha": alpha, "alphas": alphas, "scores": scores}


def _find_copies(
    rows: Rows, models: Models, memory_limit: int | str | None, context: Context
) -> Array | None:
    """Return the weight of all copies of each row, over its own; None if rows are not copies."""
    most = min(_KEYED, parse_bytes(memory_limit) // _BYTES_OF_KEY)
    if rows.n_rows > most:
        if not look_for_copies(rows, most, context):
            return None
        what = f"weights of the copies of {rows.n_rows:,} rows"
        require_memory(64 * rows.n_rows, memory_limit, what, "choose alpha by 'gcv', or give it")
    keys = context.compute(rows, row_contents, (2,), np.uint64)
    weight = rows.weights(context)
    weight = np.ones(len(keys)) if weight is None else weight
    if models.sampled is not None:
        keys, weight = keys[models.sampled], weight[models.sampled]
    distinct, group = np.unique(keys[:, 1], return_inverse=True)
    if len(distinct) == len(keys):
        return None
    if not given_again(len(keys), len(distinct), len(np.unique(keys[:, 0]))):
        return None
    return np.asarray(np.bincount(group, weight)[group] / weight)


def make_models(spec: Spec, rows: Rows, kernel: Kernel, seed: int, context: Context) -> Models:
    """Choose a basis for scaled rows, and return the models for all penalties."""
    rng = np.random.default_rng(seed)
    given, sampled = spec.approximation, None
    options: Any = {"fit_intercept": spec.fit_intercept, "context": context}
    if isinstance(given, Points | Sketch):
        size = given.count(rows.n_rows)
        sums = isinstance(given, Sketch)
        sketch = 8 * rows.n_rows * size if sums else 0
        what = f"an approximation by {size} functions"
        require_memory(80 * size**2 + sketch, spec.memory_limit, what, "take fewer")
        name, unit = ("sketch", "random sums") if sums else ("landmarks", "landmarks")
        with context.phase(name) as choosing:
            basis = given.make_basis(rows, kernel, rng, context)
            choosing.result = f"{size:,} {unit}, {describe_kernel(kernel)}"
        mapped: Rows = rows.mapped(basis)
        with context.phase("moments"):
            if kept_bytes(mapped) < parse_bytes(spec.memory_limit) // 4:
                mapped = keep_rows(mapped, context)
            return Models(basis, ReducedSmoother(mapped, basis.penalty, **options))
    if isinstance(given, RowSample):
        rows, sampled = given.draw(rows, draw_seed(rng), context)
    n = rows.n_rows
    # a fold is factored while the factors of all rows are kept
    needed = (16 if spec.alpha == "kfold" else 10) * n**2
    what = f"the exact model of {n} rows (approximation=None)"
    require_memory(needed, spec.memory_limit, what, "take an approximation such as 1000")
    block = rows.collect()
    assert block.y is not None, "targets were computed for every block"
    landmarks = Landmarks(kernel, block.X, DOUBLE)
    with context.phase("kernel matrix") as filling:
        K = kernel(landmarks.points, n_jobs=context.n_jobs)
        check_gram(K, kernel)
        filling.result = f"{n:,} x {n:,}, {describe_kernel(kernel)}"
    expected = seconds(exact_work(n, several=True), NOMINAL)
    with context.phase("factorization", expected=expected):
        smoother = ExactSmoother(K, block.y, block.weights(), **options)
    return Models(landmarks, smoother, sampled)
