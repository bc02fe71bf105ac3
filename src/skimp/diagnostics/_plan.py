"""What a fit will cost, before it runs."""

from dataclasses import dataclass, replace
from math import log
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from skimp._core._linalg import reciprocal_condition, well_conditioned_factor
from skimp._core._threads import thread_count
from skimp._params._memory import MEMORY_LIMIT, parse_bytes
from skimp._params._rules import N_JOBS, broken, check_params, integer, is_auto, number
from skimp.budgets import RPCholesky, as_selector
from skimp.choice._cost import Phase, Shape, Traits, predicted_phases
from skimp.choice._counts import Cost
from skimp.choice._plan import Plan
from skimp.choice._rates import Rates, measured_rates
from skimp.choice._solver_cost import _phase, _size
from skimp.choice._worth import (
    FIRST_ROWS,
    FIRST_SIZE,
    LARGEST_SIZE,
    LARGEST_TRIAL,
    TRIED,
    price,
)
from skimp.data import ArrayRows, Rows, open_rows
from skimp.diagnostics._inputs import is_data
from skimp.effects import KRLS
from skimp.features import (
    MAP_NAMES,
    TRANSFORMER,
    FeatureMap,
    Nystroem,
    RandomBinning,
    as_map,
)
from skimp.kernels import Gaussian, Kernel, as_kernel
from skimp.losses import Loss, Squared, as_loss, squared
from skimp.solvers import Auto, Direct, Solver, as_solver

_OWNER = "plan"
_SIZE = integer(at_least=1)
_ALPHA = number(above=0)
_SAMPLE = 20_000
"""Rows that are looked at."""
_POINTS, _BINNED = 1000, 2**28
"""Most points of a map that is tried on them, and most entries that are binned."""
_WELL_CONDITIONED = 1e-7
_FIRST_TRIALS = 10
"""Trials of the first size."""
_HOPED = 0.8
"""Error of twice the size, over that of the size."""


def plan(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    n_outputs: int | None = None,
    rates: Rates | None = None,
) -> Plan:
    """Predict the seconds and the memory of a fit, without fitting.

    Operations are counted and divided by the speeds of this machine, which are measured in a second
    when they are asked for first. Of the data, up to 20,000 rows are looked at: kernel matrices
    that are ill conditioned cost more, and so do grids with many bins. How often solvers iterate is
    not known before, and a typical number is taken. What a search for a kernel or a penalty costs
    is not in the plan.

    Parameters
    ----------
    estimator : KernelClassifier, KernelRegressor or KRLS
        The model, which need not be fitted.
    X : array, CSR matrix, frame or Rows of shape (n, d), or tuple (n, d)
        The rows, or their shape alone, in float64 then.
    y : array of shape (n,) or (n, k), optional
        Labels or targets, to count outputs: one without them.
    n_outputs : int, optional
        Number of outputs, where there is no y.
    rates : Rates, optional
        Speeds of another machine.

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
    if isinstance(estimator, KRLS):
        return _krls_plan(estimator, X, y, n_outputs, rates)
    parts = _parts(estimator)
    rows = None if _is_shape(X) else open_rows(X, target=None if isinstance(X, Rows) else y)
    shape = _shape(estimator, X, rows, y, n_outputs, parts.loss)
    rates = measured_rates(parts.n_jobs) if rates is None else rates
    searched: tuple[Phase, ...] = ()
    feature_map: FeatureMap | None
    if is_auto(estimator.approximation):
        search, feature_map = _automatic(estimator, shape, parts, rates)
        searched = (search,)
    else:
        feature_map = _feature_map(estimator, shape, parts)
    traits = Traits() if rows is None or searched else _traits(feature_map, rows)
    phases = predicted_phases(
        feature_map,
        shape,
        loss=parts.loss,
        solver=parts.solver,
        labelled=is_classifier(estimator),
        rates=rates,
        memory_limit=parts.memory_limit,
        n_jobs=parts.n_jobs,
        alpha=parts.alpha,
        traits=traits,
    )
    return Plan((phases[0], *searched, *phases[1:]))


def _krls_plan(estimator: Any, X: Any, y: Any, n_outputs: int | None, rates: Rates | None) -> Plan:
    """Plan KRLS, whose categories are not counted as more than one column."""
    check_params(estimator)
    if isinstance(X, Rows):
        shape = _shape(estimator, X, X, y, n_outputs, squared)
    else:
        given = X if isinstance(X, tuple) else np.shape(X)
        _is_shape(given)
        shape = _shape(estimator, given, None, y, n_outputs, squared)
    rates = measured_rates(estimator.n_jobs) if rates is None else rates
    threads = thread_count(estimator.n_jobs)
    cost = Cost(shape, rates, threads, estimator.n_jobs, estimator.memory_limit, False, Traits())
    return Plan(tuple(_phase(stage, cost) for stage in estimator.cost(_size(cost))))


@dataclass(frozen=True)
class _Parts:
    """What an estimator is made of, checked."""

    kernel: Kernel
    loss: Loss
    solver: Solver
    alpha: float
    memory_limit: int | str | None
    n_jobs: int | None


def _parts(estimator: Any) -> _Parts:
    needed = ("kernel", "approximation", "loss", "solver")
    if isinstance(estimator, type) or not all(hasattr(estimator, name) for name in needed):
        wording = "a KernelClassifier, a KernelRegressor or a KRLS"
        raise broken(_OWNER, "estimator", wording, estimator)
    owner = type(estimator).__name__
    rules = {"memory_limit": MEMORY_LIMIT, "n_jobs": N_JOBS}
    for name, rule in rules.items():
        if not rule.test(getattr(estimator, name, None)):
            raise broken(owner, name, rule.wording, getattr(estimator, name))
    alpha = getattr(estimator, "alpha", None)
    return _Parts(
        kernel=_kernel(estimator, owner),
        loss=as_loss(estimator.loss, owner=owner),
        solver=_configured_solver(estimator, owner),
        # one that is chosen in fit is not known here
        alpha=alpha if alpha is not None and _ALPHA.test(alpha) else 1e-6,
        memory_limit=getattr(estimator, "memory_limit", None),
        n_jobs=getattr(estimator, "n_jobs", None),
    )


def _kernel(estimator: Any, owner: str) -> Kernel:
    """Return the kernel; one that is chosen in fit costs about what a Gaussian one costs."""
    if isinstance(estimator.kernel, str) and estimator.kernel == "auto":
        return Gaussian()
    return as_kernel(estimator.kernel, owner=owner, other="'auto'", size="approximation")


def _configured_solver(estimator: Any, owner: str) -> Solver:
    """Return the solver with the estimator's tolerance and iterations, where they are given."""
    solver: Solver = clone(as_solver(estimator.solver, owner=owner))
    given = {name: getattr(estimator, name, None) for name in ("tol", "max_iter")}
    known = solver.get_params()
    solver.set_params(**{n: v for n, v in given.items() if v is not None and n in known})
    check_params(solver)
    return solver


def _is_shape(X: Any) -> bool:
    """Tell whether this is a shape; raise if it is neither data nor a shape."""
    if not isinstance(X, tuple) and is_data(X):
        return False
    if not isinstance(X, tuple) or len(X) != 2 or not all(map(_SIZE.test, X)):
        raise broken(_OWNER, "X", "data, or a tuple (n, d) of integers >= 1", X)
    return True


def _shape(
    estimator: Any, X: Any, rows: Rows | None, y: Any, n_outputs: int | None, loss: Loss
) -> Shape:
    if n_outputs is None:
        if y is None and rows is not None:
            y = rows.sample(_SAMPLE, 0).y
        n_outputs = _count(estimator, y, loss)
    elif not _SIZE.test(n_outputs):
        raise broken(_OWNER, "n_outputs", _SIZE.wording, n_outputs)
    if rows is None:
        return Shape(int(X[0]), int(X[1]), n_outputs=n_outputs)
    stored = getattr(X, "nnz", None)
    density = 1.0 if stored is None else stored / max(1, rows.n_rows * rows.n_features)
    return Shape(rows.n_rows, rows.n_features, rows.dtype, n_outputs, density)


def _count(estimator: Any, y: Any, loss: Loss) -> int:
    """Return the number of outputs for these targets; of two classes, or one, without them."""
    if not is_classifier(estimator):
        return 1 if y is None or np.ndim(y) < 2 else int(np.shape(y)[1])
    n_classes = 2 if y is None else len(np.unique(np.asarray(y)))
    return 1 if n_classes <= 2 and not loss.joint else max(2, n_classes)


def _feature_map(estimator: Any, shape: Shape, parts: _Parts) -> FeatureMap | None:
    """Return the map that would be fitted, with a kernel; None for the exact model."""
    given = estimator.approximation
    if given is None:
        if isinstance(parts.loss, Squared) and isinstance(parts.solver, Auto):
            return None
        given = shape.n_rows
    if _SIZE.test(given):
        given = Nystroem(budget=int(given))
    elif isinstance(given, Integral) or not (TRANSFORMER | MAP_NAMES).test(given):
        names = MAP_NAMES.wording
        wording = f"'auto', None, {_SIZE.wording}, {names}, a feature map or a transformer"
        raise broken(type(estimator).__name__, "approximation", wording, given)
    feature_map = as_map(given)
    feature_map.check()
    if feature_map.kernelled and feature_map.kernel is None:
        given = None if is_auto(estimator.kernel) else parts.kernel
        feature_map.set_params(kernel=feature_map.chosen_kernel(given))
    return feature_map


def _automatic(estimator: Any, shape: Shape, parts: _Parts, rates: Rates) -> tuple[Phase, Nystroem]:
    """Return what the search of approximation="auto" costs, and the largest model it may choose.

    Of landmarks: random features of the same size cost less, and grids mostly do. A doubling is
    worth its cost as long as it would be if it brought a fifth less error.
    """

    def phases(size: int, n_rows: int, loss: Loss, solver: Solver) -> tuple[Phase, ...]:
        return predicted_phases(
            Nystroem(
                parts.kernel, budget=size, selector="auto" if loss is parts.loss else "uniform"
            ),
            replace(shape, n_rows=n_rows),
            loss=loss,
            solver=solver,
            labelled=is_classifier(estimator),
            rates=rates,
            memory_limit=parts.memory_limit,
            n_jobs=parts.n_jobs,
        )

    def seconds(size: int) -> float:
        return sum(phase.seconds for phase in phases(size, shape.n_rows, parts.loss, parts.solver))

    def allowed(size: int) -> bool:
        fit = phases(size, shape.n_rows, parts.loss, parts.solver)
        fits = max(phase.bytes for phase in fit) <= parse_bytes(parts.memory_limit)
        limit = getattr(estimator, "time_limit", None)
        return fits and (limit is None or spent + seconds(size) <= limit)

    def trial(size: int, n_rows: int) -> tuple[Phase, ...]:
        return phases(size, min(n_rows, shape.n_rows), squared, Direct())

    size = min(FIRST_SIZE, shape.n_rows)
    made = list(trial(size, FIRST_ROWS))
    spent = _FIRST_TRIALS * sum(phase.seconds for phase in made)
    while 2 * size <= min(LARGEST_SIZE, shape.n_rows) and allowed(2 * size):
        tried = min(32 * size, LARGEST_TRIAL, shape.n_rows)
        trying = 1 + TRIED * tried / shape.n_rows
        if price(_HOPED, trying * seconds(2 * size), shape.n_rows) >= price(
            1.0, seconds(size), shape.n_rows
        ):
            break
        size *= 2
        made = list(trial(size, tried))
        spent += 2 * sum(phase.seconds for phase in made)
    search = Phase("search", spent, max(phase.bytes for phase in made))
    return search, Nystroem(parts.kernel, budget=size)


def _traits(feature_map: FeatureMap | None, rows: Rows) -> Traits:
    """Look at a sample."""
    if isinstance(feature_map, Nystroem):
        return Traits(conditioned=_is_conditioned(feature_map, rows))
    if isinstance(feature_map, RandomBinning):
        return Traits(n_bins=_expected_bins(feature_map, rows))
    return Traits()


def _is_conditioned(feature_map: Nystroem, rows: Rows) -> bool:
    """Tell whether the kernel matrix of this many points will be well conditioned.

    That of fewer points tells, and how much better conditioned half of them are.
    """
    wanted = feature_map.planned_width(rows)
    size = min(wanted, _POINTS)
    whole = _tried(feature_map, rows, size)
    if whole.basis().penalty is None:
        return False
    if size == wanted:
        return True
    half = _tried(feature_map, rows, size // 2)
    near, far = (_condition(tried) for tried in (half, whole))
    expected = far * (wanted / size) ** (log(far / near, 2))
    return bool(expected > _WELL_CONDITIONED)


def _tried(feature_map: Nystroem, rows: Rows, size: int) -> Nystroem:
    """Return the map of fewer points, rows at random unless others are chosen at little cost."""
    tried: Nystroem = clone(feature_map)
    tried.set_params(budget=size)
    if isinstance(as_selector(tried.selector, owner=_OWNER), RPCholesky):
        rows = ArrayRows(rows.sample(4 * size, 0).X)
    else:
        tried.set_params(selector="uniform")
    return tried.fit_rows(rows, np.random.default_rng(0), context=rows.context)


def _condition(tried: Nystroem) -> float:
    K = tried.landmarks_.penalty
    factor = well_conditioned_factor(K)
    return 0.1 * _WELL_CONDITIONED if factor is None else reciprocal_condition(factor, K)


def _expected_bins(feature_map: RandomBinning, rows: Rows) -> float:
    """Return the bins of a grid that the rows would fill, growing as they do in a sample."""
    X = rows.sample(_SAMPLE, 0).X
    size = X.shape[0]
    n_grids = max(1, _BINNED // (size * rows.n_features))
    few: RandomBinning = clone(feature_map)
    few.set_params(n_grids=min(n_grids, int(feature_map.n_grids)))
    parts = [ArrayRows(X[: max(1, size // share)]) for share in (2, 1)]
    half, whole = (few.fit_rows(part, np.random.default_rng(0)).n_bins_.mean() for part in parts)
    growth = log(max(1.0, whole / half), 2)
    return float(whole * (rows.n_rows / size) ** growth)
