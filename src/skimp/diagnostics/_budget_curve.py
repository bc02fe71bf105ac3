"""Error of a model against the size of its approximation, from one pass over the rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from skimp._core._linalg import check_representable
from skimp._core._lines import Lines, span
from skimp._core._random import as_generator, draw_seed
from skimp._core._types import Array
from skimp._params._rules import NONE, broken, check_values, integer, number
from skimp.budgets import Fixed
from skimp.choice import Task
from skimp.data import (
    ArrayRows,
    Block,
    Rows,
    clone_without_callbacks,
    pieces,
    reporting,
    split_rows,
)
from skimp.diagnostics._coded_curve import predict_held_out
from skimp.diagnostics._inputs import MODEL, SIZES, sequence_of
from skimp.diagnostics._nested import Nested, nest
from skimp.diagnostics._table import Table
from skimp.features import FeatureMap, Nystroem, mean_diagonal
from skimp.losses import Squared
from skimp.solvers.ridge import covariance, ridge_path

_OWNER = "budget_curve"
_LARGEST, _N_SIZES, _RATIO = 2048, 12, 1.5
_ALPHAS = np.logspace(-10, -0.5, 20)
_RIDGES = np.array([0.01, 0.1, 1.0, 10.0])
_KNEE = 1.05
_HELD_OUT = 0.1
_MEASURE = {True: "share of wrong labels", False: "mean squared error"}
_RULES = {
    "estimator": MODEL,
    "sizes": NONE | SIZES,
    "alphas": NONE | sequence_of(number(above=0), "a sequence of numbers > 0"),
    "sample": integer(at_least=2),
}


@dataclass(frozen=True, repr=False)
class BudgetCurve(Table):
    """Errors of models of several sizes and penalties.

    Attributes
    ----------
    what : str
        What the sizes count: "landmarks", "features" or "grids".
    sizes : array of shape (n_sizes,)
        The sizes, in increasing order.
    alphas : array of shape (n_alphas,)
        The penalties.
    errors : array of shape (n_sizes, n_alphas)
        Leave-one-out error on a sample of rows, as named by ``measure``; for grids, the error on
        held-out rows.
    gcv : array of shape (n_sizes, n_alphas), or None
        Generalized cross-validation over all rows: an estimate of the mean squared error of the
        targets, which are 1 and -1 for classes, summed over outputs. None for grids.
    dimensions : array of shape (n_sizes, n_alphas), or None
        Effective dimensions. None for grids.
    measure : str
        Meaning of the errors: "share of wrong labels" or "mean squared error".
    best : array of shape (n_sizes,)
        Index of the best penalty for each size. As in a fit, it minimizes generalized
        cross-validation with the effective dimension multiplied by 1.4; for grids, the error on
        held-out rows.
    knee : int
        The smallest size whose error by the same criterion is within 5 % of the minimum. ``errors``
        are noisier, and may differ by more.
    confirmed : dict
        For losses other than the squared loss: held-out errors, by size, of models fitted with
        the loss itself.
    """

    what: str
    sizes: Array
    alphas: Array
    errors: Array
    gcv: Array | None
    dimensions: Array | None
    measure: str
    best: Array
    knee: int
    confirmed: dict[int, float] = field(default_factory=dict)

    @property
    def best_alphas(self) -> Array:
        """The best penalty for each size."""
        alphas: Array = self.alphas[self.best]
        return alphas

    @property
    def best_errors(self) -> Array:
        """The error with the best penalty, for each size."""
        errors: Array = self.errors[np.arange(len(self.sizes)), self.best]
        return errors

    def _lines(self) -> Lines:
        def describe(size: int) -> str:
            i = int(np.flatnonzero(self.sizes == size)[0])
            error, alpha = self.best_errors[i], self.best_alphas[i]
            return f"{size:,} {self.what}: {error:.3g} with alpha {alpha:.2g}"

        lines = [
            ("sizes", f"{span(self.sizes, ',')} {self.what}"),
            ("penalties", span(self.alphas)),
            ("error", self.measure),
            ("knee", describe(self.knee)),
            ("largest", describe(int(self.sizes[-1]))),
        ]
        fitted = [f"{size:,} {self.what}: {error:.3g}" for size, error in self.confirmed.items()]
        return [*lines, ("fitted, held out", ", ".join(fitted))] if fitted else lines

    def _table(self) -> Any:
        size, alpha = np.meshgrid(self.sizes, self.alphas, indexing="ij")
        columns = {"size": size, "alpha": alpha, "error": self.errors}
        if self.gcv is not None and self.dimensions is not None:
            columns |= {"gcv": self.gcv, "effective_dimension": self.dimensions}
        return {name: values.ravel() for name, values in columns.items()}


def budget_curve(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    sizes: Sequence[int] | None = None,
    alphas: Sequence[float] | None = None,
    sample: int = 1000,
    sample_weight: Any = None,
) -> BudgetCurve:
    r"""Estimate the error of a model for many sizes and penalties, from one pass over the rows.

    The landmarks of the largest budget are ordered so that the first m of them are a budget of size
    m. The normal equations of the largest model contain those of all smaller ones, so one
    factorization per penalty gives the errors of all sizes. They are the errors that models fitted
    one by one would have. Fourier features and random layers work in the same way. Random binning
    has too many features for normal equations: a model is fitted for each size and penalty, and
    the rows are binned once.

    The curve uses the squared loss. For another loss it is a guide, and up to three models are
    fitted with the loss itself on 90 % of the rows to confirm it.

    Parameters
    ----------
    estimator : KernelClassifier, KernelRegressor or KRLS
        The model, fitted or not. Its ``approximation`` gives the largest size: "auto" means 2,048
        landmarks, and so does None for KRLS. ``gamma="auto"`` means "scale".
    X : array, CSR matrix, frame or Rows of shape (n, d)
        Training rows.
    y : array of shape (n,) or (n, k)
        Labels or targets.
    sizes : sequence of int, optional
        Sizes to compare. By default a dozen sizes up to that of the estimator, each about 1.5 times
        the previous one.
    alphas : sequence of float, optional
        Penalties to compare. By default twenty from 1e-10 to 0.3, times the power of ten nearest to
        the mean of k(x, x).
    sample : int, default=1000
        Number of rows that are left out, one at a time, to estimate ``errors``.
    sample_weight : array of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    BudgetCurve

    Examples
    --------
    >>> import numpy as np
    >>> from skimp import KernelRegressor
    >>> from skimp.diagnostics import budget_curve
    >>> X = np.random.default_rng(0).uniform(-3, 3, (2000, 1))
    >>> model = KernelRegressor("rbf", approximation=200, random_state=0)
    >>> curve = budget_curve(model, X, np.sin(2 * X[:, 0]))
    >>> bool(curve.knee < 50)
    True
    """
    check_values(_OWNER, _RULES, estimator=estimator, sizes=sizes, alphas=alphas, sample=sample)
    task: Task = clone(estimator).open_task(X, y, sample_weight)
    with reporting(_OWNER, estimator.verbose) as progress:
        task = replace(task, context=replace(task.context, progress=progress))
        return _make_curve(estimator, task, sizes, alphas, sample)


def _make_curve(estimator: Any, task: Task, sizes: Any, alphas: Any, sample: int) -> BudgetCurve:
    rng, context = as_generator(task.spec.random_state), task.context
    fitted = _fit_largest(task, sizes, rng)
    if fitted.codes:
        with context.phase("curve"):
            return _coded_curve(task, fitted, sizes, alphas, draw_seed(rng))
    functions = nest(fitted, rng, context)
    with context.phase("curve"):
        curve = _nested_curve(task, fitted, functions, sizes, alphas, sample)
    if isinstance(task.spec.loss, Squared):
        return curve
    with context.phase("confirmation"):
        confirmed = _confirm(estimator, task, fitted, functions, curve, draw_seed(rng))
    return replace(curve, confirmed=confirmed)


def _coded_curve(task: Task, fitted: FeatureMap, sizes: Any, alphas: Any, seed: int) -> BudgetCurve:
    """Return the curve of a random binning map."""
    assert fitted.size is not None, "maps without a size were refused"
    steps = _steps(fitted.size, sizes)
    penalties = _RIDGES / task.rows.n_rows if alphas is None else np.asarray(alphas, float)
    F, Y = predict_held_out(task, fitted, steps, penalties, seed)
    errors = _mean_errors(F, Y, task.spec.classes)
    chosen = errors.argmin(axis=1), _find_knee(steps, errors.min(axis=1))
    measure = _MEASURE[task.spec.classes]
    return BudgetCurve(fitted.unit, steps, penalties, errors, None, None, measure, *chosen)


def _nested_curve(
    task: Task, fitted: FeatureMap, functions: Nested, sizes: Any, alphas: Any, sample: int
) -> BudgetCurve:
    """Return the curve of a nested basis."""
    steps = _steps(functions.size, sizes)
    steps = np.unique(np.maximum(steps // functions.step, 1) * functions.step)
    rows, context = task.numbers, task.context
    basis, order = functions.basis, functions.order
    S = covariance(rows.mapped(basis), task.spec.fit_intercept, context=context)
    check_representable(S.within, S.across)
    drawn = rows.sample(sample, 0, context)
    assert drawn.y is not None, "there are targets"
    Z = np.empty((drawn.X.shape[0], basis.width), basis.dtype)
    basis.map_block(drawn.X, Z)
    if order is not None:
        S, Z = S.ordered(order), Z[:, order]
    scale = 10.0 ** np.round(np.log10(mean_diagonal(fitted, ArrayRows(drawn.X), context)))
    path = ridge_path(
        S,
        scale * _ALPHAS if alphas is None else np.asarray(alphas, float),
        functions.columns(steps).tolist(),
        factor=basis.factor,
        averaged=functions.averaged,
        sample=Block(Z.astype(np.float64), drawn.y, drawn.weight, 0),
        context=context,
    )
    assert path.left_out is not None, "there is a sample"
    return BudgetCurve(
        what=fitted.unit,
        sizes=steps,
        alphas=path.alphas,
        errors=_mean_errors(path.left_out, drawn.y, task.spec.classes),
        gcv=path.gcv,
        dimensions=path.dimensions,
        measure=_MEASURE[task.spec.classes],
        best=np.array([path.best(i) for i in range(len(steps))]),
        knee=_find_knee(steps, path.cautious.min(axis=1)),
    )


def _fit_largest(task: Task, sizes: Any, rng: np.random.Generator) -> FeatureMap:
    """Fit the map of the largest size."""
    spec, given = task.spec, task.given
    feature_map = Nystroem(budget=_LARGEST) if given is None else given
    if feature_map.size is None:
        raise broken(_OWNER, "approximation", "a map with a size", feature_map)
    if feature_map.rank is not None:
        raise broken(_OWNER, "approximation", "a map without a rank", feature_map)
    size = feature_map.size if sizes is None else max(sizes)
    feature_map = feature_map.resized(max(2, size // 2 * 2) if feature_map.paired else size)
    if feature_map.random_state is not None:
        rng = as_generator(feature_map.random_state)
    rows = task.rows.labelled_as(spec.classes)
    with task.context.phase(feature_map.unit):
        return feature_map.fit_rows(rows, rng, spec.kernel, task.context)


def _steps(largest: int, sizes: Any) -> Array:
    """Return the given sizes up to the largest, or about a dozen by default."""
    if sizes is not None:
        return np.unique(np.minimum(sizes, largest))
    steps = largest * _RATIO ** -np.arange(_N_SIZES, dtype=float)
    return np.unique(np.maximum(1, np.round(steps)).astype(np.int64))


def _mean_errors(F: Array, Y: Array, classes: bool) -> Array:
    """Return the share of wrong labels, or the mean squared error."""
    if classes and Y.shape[1] > 1:
        return np.asarray(np.mean(F.argmax(axis=-1) != Y.argmax(axis=-1), axis=-1))
    missed = (F > 0) != (Y > 0) if classes else (F - Y) ** 2
    return np.asarray(np.mean(missed, axis=(2, 3)))


def _find_knee(sizes: Array, errors: Array) -> int:
    return int(sizes[np.flatnonzero(errors <= _KNEE * errors.min())[0]])


def _confirm(
    estimator: Any, task: Task, fitted: FeatureMap, functions: Nested, curve: BudgetCurve, seed: int
) -> dict[int, float]:
    """Fit the loss itself at the size before the knee, at the knee, and at the largest."""
    training, judging = split_rows(task.rows, _HELD_OUT, seed)
    at = int(np.flatnonzero(curve.sizes == curve.knee)[0])
    errors = {}
    for i in sorted({max(0, at - 1), at, len(curve.sizes) - 1}):
        size = int(curve.sizes[i])
        smaller = fitted.resized(size)
        if fitted.kernelled:
            smaller.set_params(kernel=fitted.kernel_)
        if functions.points is not None:
            smaller.set_params(selector=Fixed(functions.points[:size]))
        alpha = float(curve.best_alphas[i])
        refit = clone_without_callbacks(estimator)
        refit.set_params(approximation=smaller, alpha=alpha, verbose=0)
        refit.fit(training)
        errors[size] = _judge(refit, judging, task.spec.classes)
    return errors


def _judge(model: Any, rows: Rows, classes: bool) -> float:
    """Return the error of a fitted model on held-out rows."""
    errors = total = 0.0
    for piece, _, _ in pieces(rows, rows.n_features):
        predicted, y, weight = model.predict(piece), piece.targets(), piece.weights()
        assert y is not None, "there are targets"
        missed = predicted != y if classes else (predicted - y) ** 2
        missed = missed.reshape(len(y), -1).mean(axis=1)
        errors += float(missed.sum() if weight is None else (missed * weight).sum())
        total += len(y) if weight is None else float(weight.sum())
    return errors / total
