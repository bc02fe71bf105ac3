"""How a kernel machine is fitted: choose what is left open, fit the map, solve."""

import warnings
from dataclasses import replace
from pickle import PicklingError
from time import monotonic
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from skimp._core._random import as_generator, draw_seed
from skimp._core._tally import counted
from skimp.choice import (
    Choice,
    Limits,
    Phase,
    Task,
    Trials,
    choose,
    choose_penalty,
    fit_map,
    pose_problem,
)
from skimp.data import Block, Rows, has_weight, split_rows
from skimp.estimators._fit_exactly import fit_exactly, require_definite
from skimp.estimators._fitted import Clock, Fitted, Model, Trace
from skimp.solvers import Deadline, EarlyStopping

_SAMPLE = 1000
"""Rows that a certificate looks at."""


def fit_machine(task: Task, before: Fitted | None = None) -> Fitted:
    """Fit a kernel machine.

    Parameters
    ----------
    task : Task
        The rows, and what is asked for.
    before : Fitted or None, default=None
        An earlier fit. A warm start takes its map, and begins with its coefficients.

    Returns
    -------
    Fitted
    """
    spec, clock = task.spec, Clock()
    deadline = None if spec.time_limit is None else monotonic() + spec.time_limit
    with counted() as tally:
        rng = as_generator(spec.random_state)
        held_out, recipe = None, None
        if spec.held_out is not None:
            task, held_out = _hold_out(task, spec.held_out, rng)
        if spec.warm_start and not spec.exact:
            recipe = _recipe(task)
        start = before if recipe and before is not None and before.recipe == recipe else None
        if spec.exact:
            require_definite(spec)
        limits = Limits(task, deadline)
        if spec.memory_limit is not None:
            task = task.on(task.rows.reblocked(limits.block_rows))
            limits = Limits(task, deadline)
        # a fit without choices draws nothing for them
        settled = task.is_settled and spec.alpha is not None
        trials = Trials(limits, 0 if settled else draw_seed(rng))
        if start is None:
            with clock.phase("search"):
                choice = choose(trials)
                if choice.n_rows is not None:
                    share = choice.n_rows / task.rows.n_rows
                    task = task.on(split_rows(task.rows, share, draw_seed(rng))[1])
                    limits = Limits(task, deadline)
        else:
            choice = start.choice
        if spec.solves_exactly:
            model = fit_exactly(task, choice, rng, clock)
        else:
            model = _fit_features(task, limits, trials, choice, start, held_out, rng, clock)
    solution = model.solution
    if not solution.converged:
        limit = "max_iter" if spec.time_limit is None else "max_iter or time_limit"
        warnings.warn(
            f"{spec.owner}: the solver stopped before its tolerance was reached, after "
            f"{solution.n_iter} iterations ({solution.message}). Raise {limit}, scale the columns "
            "of X, or choose a larger alpha.",
            ConvergenceWarning,
            stacklevel=3,
        )
    phases = (Phase(name, seconds, model.bytes[name]) for name, seconds in clock.seconds.items())
    return Fitted(
        spec=spec,
        feature_map=model.feature_map,
        basis=model.feature_map.basis(),
        solution=replace(solution, intercept=solution.intercept + task.shift),
        alpha=model.alpha,
        choice=choice,
        sample=model.sample,
        dtype=task.rows.dtype,
        trace=Trace(tuple(phases), tally.count),
        recipe=recipe,
    )


def _hold_out(task: Task, share: float, rng: np.random.Generator) -> tuple[Task, Rows]:
    """Return the task without the rows that early stopping holds out, and these with numbers."""
    rest, held_out = split_rows(task.rows, share, draw_seed(rng))
    if not (has_weight(rest) and has_weight(held_out)):
        raise ValueError(
            f"{task.spec.owner}: validation_fraction={share} must leave rows of positive weight on "
            "both sides: choose another one, or give more rows."
        )
    return task.on(rest), task.on(held_out).numbers


def _recipe(task: Task) -> Any:
    """Return what two fits have in common if one can start from the other; None if it may not."""
    spec, rows = task.spec, task.rows
    # a penalty that was chosen belongs to its loss
    chosen = spec.loss if spec.alpha is None else None
    parts = (spec.fit_intercept, spec.approximation, spec.random_state, spec.alpha is None, chosen)
    try:
        hashed = joblib.hash((parts, rows.n_features, rows.dtype.str, task.n_outputs))
    except PicklingError:
        # a function without a name, which may be another one each time
        return None
    # kernels compare their functions, of which a hash knows the names alone
    return clone(spec.kernel, safe=False), hashed


def _fit_features(
    task: Task,
    limits: Limits,
    trials: Trials,
    choice: Choice,
    start: Fitted | None,
    held_out: Rows | None,
    rng: np.random.Generator,
    clock: Clock,
) -> Model:
    """Fit the map that was chosen, and the coefficients of its functions."""
    spec, context, approximation = task.spec, task.context, choice.approximation
    given = trials.limits.task.given is not None
    feature_map: Any
    if start is None:
        with clock.phase("map"), limits.explain(approximation, given=given):
            *made, solved = limits.phases(approximation)
            seed = approximation.random_state
            rng = rng if seed is None else as_generator(seed)
            rows = task.rows.labelled_as(spec.classes)
            feature_map = fit_map(approximation, rows, rng, context, spec.kernel)
        held = {"search": choice.bytes, "map": max(p.bytes for p in made), "solve": solved.bytes}
    else:
        feature_map = start.feature_map
        held = {phase.name: phase.bytes for phase in start.trace.phases}
    drawn = task.rows.sample(limits.affordable_rows(_SAMPLE), 0, context)
    if start is None:
        with clock.phase("search"):
            alpha, alphas = choose_penalty(trials, choice, feature_map, drawn.X, task.rows.n_rows)
        first = None
    else:
        alpha, alphas = start.alpha if spec.alpha is None else spec.alpha, None
        first = start.solution.coef, start.solution.intercept - task.shift
    trials.drawn = None
    monitor: Any = None
    if held_out is not None:
        monitor = EarlyStopping(held_out.mapped(feature_map.basis()), spec.loss, context)
    watch = None if limits.deadline is None else Deadline(limits.deadline, monitor)
    problem = pose_problem(
        feature_map,
        task.numbers,
        spec.loss,
        alpha,
        alphas=alphas,
        fit_intercept=spec.fit_intercept,
        memory_limit=spec.memory_limit,
        start=first,
        monitor=monitor if watch is None else watch,
    )
    with clock.phase("solve"), limits.explain(approximation, given=given):
        solution = spec.solver.solve(problem, context)
    alpha = alpha if solution.alpha is None else solution.alpha
    solution = solution if watch is None else watch.noted(solution)
    solution = solution if monitor is None else monitor.best(solution)
    return Model(feature_map, solution, alpha, Block(drawn.X, None, drawn.weight, 0), held)
