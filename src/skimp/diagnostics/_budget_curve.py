"""The error of models against the size of their approximation, from one pass over the rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from skimp._core._linalg import check_representable
from skimp._core._lines import Lined, Lines, span
from skimp._core._random import as_generator, draw_seed
from skimp._core._types import Array
from skimp._params._rules import Rule, broken, integer, is_auto, number
from skimp.budgets import Fixed
from skimp.choice import Task
from skimp.data import ArrayRows, Rows, split_rows
from skimp.diagnostics._coded_curve import coded_predictions
from skimp.diagnostics._inputs import SIZES
from skimp.diagnostics._nested import Nested, nested
from skimp.effects import KRLS, as_regressor
from skimp.estimators import KernelMachine
from skimp.features import FeatureMap, Nystroem, RandomBinning, RandomFourier, mean_diagonal
from skimp.kernels import as_kernel
from skimp.losses import Squared, as_loss
from skimp.solvers.ridge import Path, Sampled, covariance, ridge_path

_OWNER = "budget_curve"
_LARGEST, _N_SIZES = 2048, 12
_ALPHAS = np.logspace(-10, -0.5, 20)
_RIDGES = np.array([0.01, 0.1, 1.0, 10.0])
_KNEE = 1.05
_RATIO = 1.5
_HELD_OUT = 0.1
_POSITIVE = number(above=0)
_PENALTIES = Rule(
    "a sequence of numbers > 0",
    lambda v: isinstance(v, Sequence | np.ndarray) and len(v) > 0 and all(map(_POSITIVE.test, v)),
)
_AT_LEAST_TWO = integer(at_least=2)


@dataclass(frozen=True, repr=False)
class BudgetCurve(Lined):
    """Errors of models of several sizes and penalties.

    Attributes
    ----------
    what : str
        What the sizes count: "landmarks", "features" or "grids".
    sizes : array of shape (n_sizes,)
        The sizes, rising.
    alphas : array of shape (n_alphas,)
        The penalties.
    errors : array of shape (n_sizes, n_alphas)
        The share of wrong labels, or the mean squared error (over outputs as well): of rows of a
        sample, each by the model of all other rows; of rows that were held out, for grids.
    gcv : array of shape (n_sizes, n_alphas), or None
        The mean squared error of the targets (1 and -1 for classes, summed over outputs) by
        generalized cross-validation, from all rows. None for grids.
    dimensions : array of shape (n_sizes, n_alphas), or None
        Effective dimensions. None for grids.
    measure : str
        What the errors are: "share of wrong labels" or "mean squared error".
    best : array of shape (n_sizes,)
        Which penalty is best for each size: by cross-validation with every dimension counted 1.4
        times, as fits choose it, or on the rows held out.
    knee : int
        The smallest size whose error with that penalty, by the same measure, is within 5 % of the
        least.
    confirmed : dict
        For losses other than the squared one, sizes and the errors of models that were fitted with
        the loss itself, on rows held out.

    Examples
    --------
    See `budget_curve`.
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
        """The error with that penalty, for each size."""
        errors: Array = self.errors[np.arange(len(self.sizes)), self.best]
        return errors

    def _lines(self) -> Lines:
        def told(size: int) -> str:
            i = int(np.flatnonzero(self.sizes == size)[0])
            error, alpha = self.best_errors[i], self.best_alphas[i]
            return f"{size:,} {self.what}: {error:.4g} with alpha {alpha:.3g}"

        lines = [
            ("sizes", f"{span(self.sizes, ',')} {self.what}"),
            ("penalties", span(self.alphas)),
            ("error", self.measure),
            ("knee", told(self.knee)),
            ("largest", told(int(self.sizes[-1]))),
        ]
        fitted = [f"{error:.4g} with {size:,}" for size, error in self.confirmed.items()]
        return [*lines, ("fitted", ", ".join(fitted))] if fitted else lines

    def to_frame(self) -> Any:
        """Return a pandas frame with a row for each size and penalty."""
        import pandas as pd

        size, alpha = np.meshgrid(self.sizes, self.alphas, indexing="ij")
        columns = {"size": size, "alpha": alpha, "error": self.errors}
        if self.gcv is not None and self.dimensions is not None:
            columns |= {"gcv": self.gcv, "effective_dimension": self.dimensions}
        return pd.DataFrame({name: values.ravel() for name, values in columns.items()})


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
    r"""Tell what larger and smaller budgets would reach, from one pass over the rows.

    The points of the largest budget are put into an order of which every beginning is a budget. The
    normal equations of the largest contain those of all smaller ones, and one factorization for
    each penalty gives the errors of all sizes: exactly those of models that are fitted one by one.
    The same goes for Fourier features and nodes of a random layer. Grids have too many features for
    normal equations: a model is fitted for each size and penalty, to rows that are coded once.

    The models of the curve are those of the squared loss. For other losses they guide, and up to
    three models that are fitted with the loss itself, on nine tenths of the rows, confirm.

    Parameters
    ----------
    estimator : KernelClassifier, KernelRegressor or KRLS
        The model; it need not be fitted. Its ``approximation`` gives the largest size; "auto"
        stands for 2,048 landmarks, and ``gamma="auto"`` for "scale". For KRLS it is
        None, for 2,048 landmarks, a number of points or a selector.
    X : array, CSR matrix, frame or Rows of shape (n, d)
        Training rows.
    y : array of shape (n,) or (n, k)
        Labels or targets.
    sizes : sequence of int, optional
        Sizes; a dozen by default, up to that of the estimator, each about 1.5 times the one before.
    alphas : sequence of float, optional
        Penalties; twenty from 1e-10 to 0.3, times the power of ten nearest to the mean of k(x, x).
    sample : int, default=1000
        Rows that are left out, one by one, for ``errors``.
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
    _check(estimator, sizes, alphas, sample)
    model = clone(estimator)
    if isinstance(model, KRLS):
        model, X = as_regressor(model, X, y, sample_weight)
        y = sample_weight = None
    task = model.open_task(X, y, sample_weight)
    rows, targets = task.rows, task.encode
    rng = as_generator(model.random_state)
    fitted = _fitted_map(model, task, sizes, rng)
    size = fitted.size
    assert size is not None, "maps without a size were refused"
    largest = fitted.budget_.points.shape[0] if isinstance(fitted, Nystroem) else size
    steps = _sizes(largest) if sizes is None else np.unique(np.minimum(sizes, largest))
    labelled = is_classifier(model)
    what = _WHAT.get(type(fitted), "features")
    if isinstance(fitted, RandomBinning):
        penalties = _RIDGES / rows.n_rows if alphas is None else np.asarray(alphas, float)
        outputs, Y = coded_predictions(
            task.spec, fitted, rows.with_targets(targets), steps, penalties, draw_seed(rng)
        )
        errors = _errors(outputs, Y, labelled)
        chosen = errors.argmin(axis=1), _knee(steps, errors.min(axis=1))
        return BudgetCurve(what, steps, penalties, errors, None, None, _MEASURE[labelled], *chosen)
    functions = nested(fitted, rows, rng)
    steps = np.unique(np.maximum(steps // functions.step, 1) * functions.step)
    path, Y = _paths(
        model,
        fitted,
        functions,
        rows.with_targets(targets),
        functions.columns(steps),
        alphas,
        sample,
    )
    assert path.left_out is not None, "there is a sample"
    errors = _errors(path.left_out, Y, labelled)
    curve = BudgetCurve(
        what=what,
        sizes=steps,
        alphas=path.alphas,
        errors=errors,
        gcv=path.gcv,
        dimensions=path.dimensions,
        measure=_MEASURE[labelled],
        best=np.array([path.best(i) for i in range(len(steps))]),
        knee=_knee(steps, path.cautious.min(axis=1)),
    )
    if isinstance(as_loss(model.loss, owner=_OWNER), Squared):
        return curve
    return replace(
        curve, confirmed=_confirmed(model, fitted, functions, curve, rows, draw_seed(rng))
    )


_WHAT = {Nystroem: "landmarks", RandomBinning: "grids"}
_MEASURE = {True: "share of wrong labels", False: "mean squared error"}


def _check(estimator: Any, sizes: Any, alphas: Any, sample: int) -> None:
    if isinstance(estimator, type) or not isinstance(estimator, KernelMachine | KRLS):
        wording = "a KernelClassifier, a KernelRegressor or a KRLS"
        raise broken(_OWNER, "estimator", wording, estimator)
    for name, value, rule in (("sizes", sizes, SIZES), ("alphas", alphas, _PENALTIES)):
        if value is not None and not rule.test(value):
            raise broken(_OWNER, name, rule.wording, value)
    if not _AT_LEAST_TWO.test(sample):
        raise broken(_OWNER, "sample", _AT_LEAST_TWO.wording, sample)


def _fitted_map(model: Any, task: Task, sizes: Any, rng: np.random.Generator) -> FeatureMap:
    """Return the map of the largest size that is asked for, fitted."""
    given, rows = task.given, task.rows
    feature_map = Nystroem(budget=_LARGEST) if given is None else given
    if feature_map.size is None:
        raise broken(_OWNER, "approximation", "a map that has a size", model.approximation)
    if isinstance(feature_map, Nystroem) and feature_map.rank is not None:
        raise broken(_OWNER, "approximation", "a map without a rank", feature_map)
    if sizes is not None:
        feature_map = feature_map.resized(max(sizes))
    if isinstance(feature_map, RandomFourier) and feature_map.form == "pair":
        # whole pairs of a cosine and a sine
        feature_map = feature_map.resized(max(2, feature_map.n_components // 2 * 2))
    if feature_map.random_state is not None:
        rng = as_generator(feature_map.random_state)
    kernel = None if is_auto(model.kernel) else as_kernel(model.kernel, owner=_OWNER)
    labelled = rows.copy_with(labelled=is_classifier(model))
    return feature_map.fit_rows(labelled, rng, kernel, rows.context)


def _sizes(largest: int) -> Array:
    """Return a dozen sizes up to the largest, or as many as there are."""
    steps = largest * _RATIO ** -np.arange(_N_SIZES, dtype=float)
    return np.unique(np.maximum(1, np.round(steps)).astype(np.int64))


def _paths(
    model: Any,
    fitted: FeatureMap,
    functions: Nested,
    rows: Rows,
    sizes: Array,
    given: Sequence[float] | None,
    sample: int,
) -> tuple[Path, Array]:
    """Return the models of all sizes and penalties, and the targets of the sample."""
    basis, order = functions.basis, functions.order
    S = covariance(rows.mapped(basis), model.fit_intercept, context=rows.context)
    check_representable(S.within, S.across)
    drawn = rows.sample(sample, 0)
    assert drawn.y is not None, "there are targets"
    Z = np.empty((drawn.X.shape[0], basis.width), basis.dtype)
    basis.map_block(drawn.X, Z)
    if order is not None:
        S, Z = S.ordered(order), Z[:, order]
    scale = 10.0 ** np.round(np.log10(mean_diagonal(fitted, ArrayRows(drawn.X))))
    alphas = scale * _ALPHAS if given is None else np.asarray(given, float)
    path = ridge_path(
        S,
        alphas,
        sizes.tolist(),
        intercept=model.fit_intercept,
        factor=basis.factor,
        averaged=functions.averaged,
        sample=Sampled(Z.astype(np.float64), drawn.y, drawn.weight / S.weight),
        context=rows.context,
    )
    return path, drawn.y


def _errors(F: Array, Y: Array, labelled: bool) -> Array:
    """Return shares of rows whose largest output is another one, or mean squared errors."""
    if not labelled:
        errors: Array = np.mean((F - Y) ** 2, axis=(2, 3))
        return errors
    single = Y.shape[1] == 1
    wrong = ((F > 0) != (Y > 0))[..., 0] if single else F.argmax(axis=-1) != Y.argmax(axis=-1)
    shares: Array = wrong.mean(axis=-1)
    return shares


def _knee(sizes: Array, errors: Array) -> int:
    return int(sizes[np.flatnonzero(errors <= _KNEE * errors.min())[0]])


def _confirmed(
    model: Any, fitted: FeatureMap, functions: Nested, curve: BudgetCurve, rows: Rows, seed: int
) -> dict[int, float]:
    """Fit the loss itself at the size before the knee, at the knee, and at the largest."""
    training, judging = split_rows(rows, _HELD_OUT, seed)
    at = int(np.flatnonzero(curve.sizes == curve.knee)[0])
    errors = {}
    for i in sorted({max(0, at - 1), at, len(curve.sizes) - 1}):
        size = int(curve.sizes[i])
        smaller = fitted.resized(size).set_params(**_kernel_of(fitted))
        if functions.points is not None:
            smaller.set_params(selector=Fixed(functions.points[:size]))
        refit = clone(model).set_params(approximation=smaller, alpha=float(curve.best_alphas[i]))
        refit.fit(training)
        errors[size] = _judged(refit, judging)
    return errors


def _kernel_of(fitted: FeatureMap) -> dict[str, Any]:
    return {"kernel": fitted.kernel_} if "kernel" in fitted.get_params(deep=False) else {}


def _judged(model: Any, rows: Rows) -> float:
    """Return the error of a fitted model on rows that it does not know."""
    predicted, y, weight = model.predict(rows), rows.targets(), rows.weights()
    assert y is not None, "there are targets"
    if is_classifier(model):
        missed = (predicted != y).astype(float)
    else:
        missed = ((predicted - y) ** 2).reshape(len(y), -1).mean(axis=1)
    return float(np.average(missed, weights=weight))
