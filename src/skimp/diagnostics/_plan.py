"""Predict the cost of a fit before it runs."""

from dataclasses import replace
from math import log
from typing import Any

import numpy as np
from scipy import sparse

from skimp._core._linalg import reciprocal_condition
from skimp._core._threads import thread_count
from skimp._core._work import DOUBLE, Size
from skimp._params._memory import parse_bytes
from skimp._params._rules import NONE, broken, check_values
from skimp.choice import (
    Phase,
    Plan,
    Rates,
    Spec,
    measured_rates,
    predict_phases,
    predict_search,
    seconds,
)
from skimp.data import ArrayRows, Context, Rows, open_rows
from skimp.diagnostics._inputs import MODEL, POSITIVE, is_data
from skimp.effects import KRLS
from skimp.features import FeatureMap, Nystroem

_OWNER = "plan"
_SAMPLE = 20_000
"""Rows of the sample that a plan inspects."""
_POINTS, _BINNED = 1000, 2**28
"""Most landmarks that are fitted to the sample, and most entries of it that are binned."""
_WELL_CONDITIONED = 1e-7


def plan(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    n_outputs: int | None = None,
    rates: Rates | None = None,
) -> Plan:
    """Predict the seconds and the memory of a fit, without fitting.

    The plan counts operations and divides them by the speed of this machine, which is measured
    once, in about a second. It inspects up to 20,000 rows, because ill-conditioned kernel matrices
    and grids with many bins cost more. The number of solver iterations is not known before the fit,
    so the plan assumes a typical one. With ``approximation="auto"`` it includes the search.

    Parameters
    ----------
    estimator : KernelClassifier, KernelRegressor or KRLS
        The model, fitted or not. Parameters that ``fit`` refuses raise the same error here.
    X : array, CSR matrix, frame or Rows of shape (n, d), or tuple (n, d)
        The rows, or only their shape (float64 is assumed). For KRLS only the shape matters; a
        categorical column counts as one column.
    y : array of shape (n,) or (n, k), optional
        Labels or targets, which give the number of outputs. Without them there is one output.
    n_outputs : int, optional
        Number of outputs, if y is not given.
    rates : Rates, optional
        Speeds of another machine, to plan a fit there.

    Returns
    -------
    Plan

    Examples
    --------
    >>> from skimp import KernelRegressor
    >>> from skimp.diagnostics import plan
    >>> few, many = (plan(KernelRegressor(approximation=m), (100_000, 10)) for m in (100, 1000))
    >>> few.seconds < many.seconds, few.bytes < many.bytes
    (True, True)
    """
    rules = {"estimator": MODEL, "n_outputs": NONE | POSITIVE}
    check_values(_OWNER, rules, estimator=estimator, n_outputs=n_outputs)
    spec = None if isinstance(estimator, KRLS) else estimator.make_spec()
    if spec is None and not isinstance(X, Rows):
        X = X if isinstance(X, tuple) else np.shape(X)
    rows = _open(X, y)
    if y is None and rows is not None:
        y = rows.sample(_SAMPLE, 0).y
    n_rows, n_features = X if rows is None else (rows.n_rows, rows.n_features)
    size = Size(
        int(n_rows),
        int(n_features),
        DOUBLE if rows is None else rows.dtype,
        n_outputs=_count_outputs(spec, y) if n_outputs is None else int(n_outputs),
        density=X.nnz / max(1, X.shape[0] * X.shape[1]) if sparse.issparse(X) else 1.0,
        classes=spec is not None and spec.classes,
        threads=thread_count(estimator.n_jobs),
        memory=parse_bytes(estimator.memory_limit),
    )
    rates = measured_rates(estimator.n_jobs) if rates is None else rates
    if spec is None:
        stages = estimator.cost(size)
        return Plan(tuple(Phase(s.name, seconds(s.work, rates), int(s.bytes)) for s in stages))
    return _plan_machine(spec, size, rates, rows, Context(estimator.n_jobs))


def _open(X: Any, y: Any) -> Rows | None:
    """Return the rows, or None if X is a shape; raise if it is neither."""
    if not isinstance(X, tuple) and is_data(X):
        return open_rows(X, target=None if isinstance(X, Rows) else y)
    if not isinstance(X, tuple) or len(X) != 2 or not all(map(POSITIVE.test, X)):
        raise broken(_OWNER, "X", "data, or a tuple (n, d) of integers >= 1", X)
    return None


def _count_outputs(spec: Spec | None, y: Any) -> int:
    """Return the number of outputs, assuming two classes or one target if y is None."""
    if spec is None or not spec.classes:
        return 1 if y is None or np.ndim(y) < 2 else int(np.shape(y)[1])
    n_classes = 2 if y is None else len(np.unique(np.asarray(y)))
    return 1 if n_classes <= 2 and not spec.loss.joint else max(2, n_classes)


def _plan_machine(
    spec: Spec, size: Size, rates: Rates, rows: Rows | None, context: Context
) -> Plan:
    searched: tuple[Phase, ...] = ()
    feature_map: FeatureMap | None = None
    if spec.approximation is None and not spec.exact:
        search, feature_map = predict_search(spec, size, rates)
        searched = (search,)
    elif not spec.solves_exactly:
        given = Nystroem(budget=size.n_rows) if spec.exact else spec.approximation
        assert given is not None, "a map that is chosen was searched for"
        feature_map = given.resized(None)
        if given.kernelled:
            feature_map.set_params(kernel=given.chosen_kernel(spec.kernel))
        if rows is not None and given.nested:
            size = replace(size, conditioned=_is_conditioned(feature_map, rows, context))
        if rows is not None and given.codes:
            size = replace(size, n_bins=_expect_bins(feature_map, rows, context))
    # fit chooses the penalty later
    alpha = 1e-6 if spec.alpha is None else spec.alpha
    first, *others = predict_phases(
        feature_map, size, loss=spec.loss, solver=spec.solver, rates=rates, alpha=alpha
    )
    return Plan((first, *searched, *others))


def _is_conditioned(feature_map: FeatureMap, rows: Rows, context: Context) -> bool:
    """Predict whether the landmarks are well conditioned, extrapolating from fewer of them."""
    wanted = feature_map.planned_width(rows)
    size = min(wanted, _POINTS)
    whole = _fit_some(feature_map, rows, size, context)
    if whole.basis().penalty is None:
        return False
    if size == wanted:
        return True
    half = _fit_some(feature_map, rows, size // 2, context)
    near, far = _condition(half), _condition(whole)
    return bool(far * (wanted / size) ** log(far / near, 2) > _WELL_CONDITIONED)


def _fit_some(feature_map: FeatureMap, rows: Rows, size: int, context: Context) -> FeatureMap:
    """Fit fewer landmarks: random rows, unless the selector spreads them out."""
    smaller = feature_map.resized(size)
    if smaller.chosen_selector().spreads:
        rows = ArrayRows(rows.sample(4 * size, 0, context).X)
    else:
        smaller = smaller.quick()
    return smaller.fit_rows(rows, np.random.default_rng(0), None, context)


def _condition(fitted: FeatureMap) -> float:
    factor, penalty = fitted.landmarks_.factor, fitted.landmarks_.penalty
    return 0.1 * _WELL_CONDITIONED if factor is None else reciprocal_condition(factor, penalty)


def _expect_bins(feature_map: FeatureMap, rows: Rows, context: Context) -> float:
    """Return the expected number of occupied bins per grid, extrapolated from a sample."""
    X = rows.sample(_SAMPLE, 0, context).X
    n = X.shape[0]
    size = max(1, _BINNED // (n * rows.n_features))
    size = min(size, feature_map.size or size)

    def count(n_rows: int) -> float:
        few = feature_map.resized(size)
        few.fit_rows(ArrayRows(X[:n_rows]), np.random.default_rng(0), None, context)
        # each grid has one extra column, for rows outside its bins
        return float(few.width / size - 1)

    half, whole = count(max(1, n // 2)), count(n)
    growth = log(max(1.0, whole / half), 2)
    return float(whole * (rows.n_rows / n) ** growth)
