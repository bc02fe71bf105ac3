"""Tasks for the parts of a search, without an estimator."""

from time import monotonic

from skimp.choice import Limits, Spec, Task, Trials
from skimp.data import ArrayRows, Context
from skimp.losses import squared
from skimp.solvers import Auto
from tests.problems import regression


def as_task(rows, *, n_jobs=2, **asked):
    """Return the task of rows whose targets, if any, are a matrix of numbers."""
    asked = {"kernel": None, "approximation": None, "exact": False, "alpha": None, **asked}
    asked = {"loss": squared, "solver": Auto(), "classes": False, **asked}
    y = rows.collect().y
    n_outputs = 1 if y is None else y.shape[1]
    context = Context(n_jobs)
    return Task(Spec("Model", **asked), rows, lambda y, w: (y, w), n_outputs, context)


def problem_rows(n=200, weight=None):
    """Return rows of a regression problem with centred targets."""
    X, y, _ = regression(n)
    return ArrayRows(X, (y - y.mean())[:, None], weight)


def trials_on(rows, *, small=None, seed=3, deadline=None, **asked):
    """Return trials of a task; ``small`` says how they judge, whatever the number of rows."""
    trials = Trials(Limits(as_task(rows, **asked), deadline), seed)
    if small is False:
        trials.small = False
        trials.judging = max(1, rows.n_rows // 5)
        trials.available = rows.n_rows - trials.judging
    return trials


def limits_on(n=5000, *, seconds=None, **asked):
    """Return the limits of a task with n rows, which has some seconds left."""
    rows = ArrayRows(regression(n)[0], None, None)
    return Limits(as_task(rows, **asked), None if seconds is None else monotonic() + seconds)
