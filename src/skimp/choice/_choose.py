"""Choose the map, the kernel and the penalty that a spec leaves open."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from skimp._core._types import Array, Matrix
from skimp._core._warn import warn_user
from skimp.choice._candidates import list_candidates
from skimp.choice._columns import Columns, measure_columns
from skimp.choice._limits import TIME
from skimp.choice._search import NEAR_ALPHAS, Choice, search
from skimp.choice._task import Task
from skimp.choice._trials import ALPHAS, SMALL, Trials
from skimp.data import ArrayRows
from skimp.features import FeatureMap, mean_diagonal
from skimp.losses import Squared
from skimp.solvers import Auto, Direct

_LARGEST_LEFT_OUT = 1024
"""Most features for which leave-one-out errors choose the penalty of the final map."""
_LOOKED_AT = 2**24
"""Bytes of the sample on which columns are measured."""
_MAPPED = 1000
"""Least number of rows whose features are measured."""


def choose(trials: Trials) -> Choice:
    """Choose the map and the penalty of a task by trials.

    Warn if a given kernel is dominated by one column, or if a given map will take too long.
    """
    limits = trials.limits
    task, spec = limits.task, limits.task.spec
    given, kernel, rows = task.given, task.kernel, task.rows
    # a given map without choices needs no trials
    settled = task.is_settled and (spec.alpha is not None or _chooses_later(trials))
    columns = Columns()
    if kernel is None or not kernel.takes_objects:
        size = min(_LOOKED_AT, limits.size.memory // 16) // (8 * max(1, rows.n_features))
        size = max(64, min(SMALL, size))
        task.samples.prepare((size, 0), *([] if settled else [trials.ahead]))
        drawn = task.samples.numbers(size, 0)
        columns = measure_columns(drawn.X, drawn.weight, rows.feature_names)
    dominated = f"{columns.dominant} holds 99 % of the variance of X" if columns.dominant else ""
    distant = kernel is not None and kernel.distance_degree is not None
    # kernel="auto" tries scaled columns, and a map without a kernel may scale them itself
    steep = kernel is not None and not distant
    stepping = bool(dominated) and spec.solver.first_order
    if stepping and given is not None and not given.kernelled:
        steep = bool(_measure_features(given, task).dominant)
    if stepping and steep:
        warn_user(
            f"{spec.owner}: {dominated}, so solver={spec.solver!r} converges slowly or not at all. "
            "Standardize the columns, or use another solver.",
            UserWarning,
        )
    if kernel is not None and (given is None or given.kernelled):
        columns.warn(spec.owner, kernel, ", or use kernel='auto', which tries scaled columns")
    if given is not None and limits.exceeded_by(given) == TIME:
        warn_user(
            f"{spec.owner}: time_limit={spec.time_limit} will probably be exceeded by "
            f"approximation={given!r}. The plan of the fit:\n{limits.plan(given)}",
            ConvergenceWarning,
        )
    if settled:
        assert given is not None, "a settled task has a map"
        choice = Choice(given, spec.alpha)
    else:
        candidates = list_candidates(task, columns, trials.seed, small=trials.small)
        with nullcontext() if given is None or spec.exact else limits.explain(given):
            choice = search(trials, candidates)
    scaled = choice.columns or "as given"
    return replace(choice, columns=f"{scaled}; {dominated}" if dominated else scaled)


def _measure_features(given: FeatureMap, task: Task) -> Columns:
    """Measure the features of a sample of rows."""
    # some transformers need as many rows as they have components
    drawn = task.samples.numbers(max(_MAPPED, given.planned_width(task.rows)), 0)
    return measure_columns(clone(given).fit_transform(drawn.X), drawn.weight)


def _chooses_later(trials: Trials) -> bool:
    """Return whether the penalty can be chosen after the map is fitted, without a trial."""
    limits, spec = trials.limits, trials.limits.task.spec
    given = limits.task.given
    assert given is not None, "the map was given"
    width = given.planned_width(limits.task.rows)
    by_equations = isinstance(spec.loss, Squared) and isinstance(spec.solver, Auto | Direct)
    # solving the equations of all rows for each penalty takes longer than a trial
    by_equations &= limits.have_room_for(width) and limits.deadline is None
    left_out = trials.small and width <= _LARGEST_LEFT_OUT
    return spec.exact or left_out or by_equations


def choose_penalty(
    trials: Trials, choice: Choice, fitted: FeatureMap, X: Matrix, n_rows: int
) -> tuple[float, Array | None]:
    """Return the penalty of a fitted map, and the penalties that the solver should compare.

    X is a sample of the rows; the model is fitted to ``n_rows`` rows.
    """
    spec = trials.limits.task.spec
    if spec.alpha is not None:
        return spec.alpha, None
    few = trials.small and fitted.basis().width <= _LARGEST_LEFT_OUT
    if few and not (choice.alpha and spec.classes):
        return trials.find_penalty(fitted, n_rows), None
    if choice.alpha is not None:
        near = not trials.small and trials.limits.deadline is None
        return choice.alpha, choice.alpha * NEAR_ALPHAS if near else None
    scale = 10.0 ** np.round(np.log10(mean_diagonal(fitted, ArrayRows(X), trials.context)))
    return 1e-6 * float(scale), scale * ALPHAS
