"""Learn from one block of rows after another."""

from dataclasses import replace

import numpy as np

from skimp._core._tally import counted
from skimp._core._warn import warn_user
from skimp.choice import Limits, Task
from skimp.data import Context, NoRows
from skimp.estimators._fit_machine import fit_machine
from skimp.estimators._fitted import Clock, Fitted, Stream, predicting
from skimp.estimators._targets import count_labels
from skimp.solvers import Learner, Problem, Solution, Solver

_SOUND = 50
"""Rows below which a choice by left-out rows is often poor."""


def learn_machine(task: Task, before: Fitted | None) -> Fitted:
    """Learn from the rows of a task, after those of the calls ``before``.

    The first call chooses what is left open and fits the map, as `fit_machine` does.
    """
    if before is None:
        _refuse_few_rows(task)
        learning = _Learning(task.spec.solver)
        fitted = fit_machine(task, solve=learning)
        begun = Stream(learning.learner, learning.n_rows, learning.n_rows)
        return _noted(fitted, fitted.solution, begun)
    stream, clock, context = before.stream, Clock(), task.context
    assert stream is not None, "it was made by an earlier call"
    if task.spec.memory_limit is not None:
        task = task.on(task.rows.reblocked(Limits(task).block_rows))
    with counted() as tally, clock.phase("solve"), context.phase("solve") as solving:
        learner = stream.learner.learn(task.numbers.mapped(before.basis), context)
        solution = learner.solution()
        solving.result = solution.message
    solution = replace(solution, intercept=solution.intercept + task.shift)
    phases = [replace(p, seconds=p.seconds + clock.seconds.get(p.name, 0)) for p in before.phases]
    known = replace(
        before,
        phases=tuple(phases),
        kernel_evaluations=before.kernel_evaluations + tally.count,
    )
    n_rows = stream.n_rows + task.rows.n_rows
    return _noted(known, solution, Stream(learner, stream.first_rows, n_rows))


class _Learning:
    """Solve a problem with a learner, and keep the learner."""

    learner: Learner
    n_rows: int

    def __init__(self, solver: Solver):
        self._solver = solver

    def __call__(self, problem: Problem, context: Context) -> Solution:
        described = replace(problem, rows=NoRows(problem.rows), monitor=None)
        self.learner = self._solver.learner(described).learn(problem.rows, context)
        # a limit may have excluded some rows
        self.n_rows = problem.rows.n_rows
        return self.learner.solution()


def _noted(fitted: Fitted, solution: Solution, stream: Stream) -> Fitted:
    """Return the record with another solution, which says what it was learnt from."""
    message = f"{solution.message}; learnt from {stream.n_rows:,} rows, with the choices of the "
    message += f"first {stream.first_rows:,}"
    coef = predicting(solution.coef, fitted.basis, fitted.dtype)
    return replace(fitted, solution=replace(solution, message=message), coef=coef, stream=stream)


def _refuse_few_rows(task: Task) -> None:
    """Raise if the first rows are too few for what has to be chosen from them."""
    spec, needed, found = task.spec, task.needed_rows, task.rows.count_weighted(task.context)
    if found < needed.number:
        raise ValueError(
            f"{spec.owner}: the first call of partial_fit needs at least {needed.number} rows "
            f"{needed.purpose}, found {found}: pass more rows in the first call, or "
            f"{needed.remedy}."
        )
    if task.has_choices and found < _SOUND:
        warn_user(
            f"{spec.owner}: the first call of partial_fit has only {found} rows {needed.purpose}, "
            f"and later calls do not change the choice. Pass {_SOUND} rows or more in the first "
            f"call, or {needed.remedy}.",
            UserWarning,
        )
    if task.has_choices and spec.classes:
        labels = np.array(list(count_labels(task.rows, spec.owner, task.context))).tolist()
        if len(labels) == 1:
            raise ValueError(
                f"{spec.owner}: the first call of partial_fit needs rows of at least two classes "
                f"{needed.purpose}, found only {labels[0]!r}: pass more rows in the first call, or "
                f"{needed.remedy}."
            )
