"""Fit a kernel machine: choose what is left open, fit the map, solve."""

from collections.abc import Callable
from dataclasses import replace
from pickle import PicklingError
from time import monotonic
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone

from skimp._core._objects import as_real
from skimp._core._random import as_generator, draw_seed
from skimp._core._tally import counted
from skimp._core._types import Array
from skimp._core._work import DOUBLE
from skimp._params._memory import require_memory
from skimp.choice import (
    NOMINAL,
    Choice,
    Judge,
    Limits,
    Phase,
    Task,
    Trials,
    choose,
    choose_penalty,
    describe_kernel,
    describe_map,
    merge_equal,
    seconds,
)
from skimp.data import Block, Context, Rows, has_weight, split_rows
from skimp.estimators._fitted import SAMPLE_ROWS, Clock, Fitted, Model, predicting
from skimp.estimators._solving import advise, warn_unless_converged
from skimp.features import Landmarks, pose_problem
from skimp.kernels import Gaussian, as_kernel, check_gram, require
from skimp.solvers import Deadline, EarlyStopping, Problem, Solution, Status, solve_exact
from skimp.solvers.ridge import exact_work

Solve = Callable[[Problem, Context], Solution]


def fit_machine(task: Task, before: Fitted | None = None, solve: Solve | None = None) -> Fitted:
    """Fit a kernel machine.

    A warm start reuses the map of the fit ``before`` and starts from its coefficients. ``solve`` is
    used instead of the solver of the task, and warns itself if it does not converge.
    """
    spec, clock = task.spec, Clock()
    deadline = None if spec.time_limit is None else monotonic() + spec.time_limit
    with counted() as tally:
        rng = as_generator(spec.random_state)
        held_out, recipe = None, None
        if spec.held_out is not None:
            rest, apart = split_rows(task.rows, spec.held_out, draw_seed(rng))
            if not (has_weight(rest) and has_weight(apart)):
                raise ValueError(
                    f"{spec.owner}: validation_fraction={spec.held_out} must leave rows "
                    "with positive weight on both sides: change it, or pass more rows."
                )
            task, held_out = task.on(rest), task.on(apart).numbers
        if spec.warm_start and not spec.exact:
            recipe = _recipe(task)
        start = before if recipe and before is not None and before.recipe == recipe else None
        if spec.exact:
            kernel = Gaussian() if spec.kernel is None else spec.kernel
            advice = "the exact model needs it"
            require(kernel, "positive_definite", owner=spec.owner, advice=advice)
        limits = Limits(task, deadline)
        if spec.memory_limit is not None:
            task = task.on(task.rows.reblocked(limits.block_rows))
            limits = Limits(task, deadline)
        # without choices, draw no seed for them
        trials = Trials(limits, draw_seed(rng) if task.has_choices else 0)
        if start is None:
            with clock.phase("search"), task.context.phase("search", unit="trials") as searching:
                choice = choose(trials)
                searching.result = choice.summary
                if solve is not None:
                    # a stream would lose the rows that a limit excludes
                    choice = replace(choice, n_rows=None)
                elif choice.n_rows is not None:
                    share = choice.n_rows / task.rows.n_rows
                    task = task.on(split_rows(task.rows, share, draw_seed(rng))[1])
                    limits = Limits(task, deadline)
        else:
            choice = start.choice
        if spec.solves_exactly:
            model = _fit_exactly(task, choice, rng, clock)
        else:
            how = spec.solver.solve if solve is None else solve
            model = _fit_features(task, limits, trials, choice, start, held_out, rng, clock, how)
    solution = model.solution
    if solve is None:
        limit = "max_iter" if spec.time_limit is None else "max_iter or time_limit"
        advice = advise(spec.solver, spec.loss)
        warn_unless_converged(solution, owner=spec.owner, advice=advice, limit=limit)
    phases = (Phase(name, seconds, model.bytes[name]) for name, seconds in clock.seconds.items())
    found = _record(task, choice, model)
    return replace(found, phases=tuple(phases), kernel_evaluations=tally.count, recipe=recipe)


def _record(task: Task, choice: Choice, model: Model) -> Fitted:
    """Return the record of a fit."""
    spec, solution = task.spec, model.solution
    basis, dtype = model.feature_map.basis(), task.rows.dtype
    return Fitted(
        spec=spec,
        feature_map=model.feature_map,
        basis=basis,
        solution=replace(solution, intercept=solution.intercept + task.shift),
        alpha=model.alpha,
        choice=choice,
        sample=model.sample,
        coef=predicting(solution.coef, basis, dtype),
        dtype=dtype,
        phases=(),
        kernel_evaluations=0,
    )


def _recipe(task: Task) -> Any:
    """Return a key that is equal for fits that can start from each other, or None."""
    spec, rows = task.spec, task.rows
    # a chosen penalty is specific to its loss
    chosen = spec.loss if spec.alpha is None else None
    parts = (spec.fit_intercept, spec.approximation, spec.random_state, spec.alpha is None, chosen)
    try:
        hashed = joblib.hash((parts, rows.n_features, rows.dtype.str, task.n_outputs))
    except PicklingError:
        # a function without a name cannot be compared
        return None
    # kernels compare their functions; a hash sees only the names of functions
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
    solve: Solve,
) -> Model:
    """Fit the chosen map, and the coefficients of its features."""
    spec, context, approximation = task.spec, task.context, choice.approximation
    given = trials.limits.task.given is not None
    feature_map: Any
    if start is None:
        with (
            clock.phase("map"),
            context.phase(approximation.unit) as mapping,
            limits.explain(approximation, given=given),
        ):
            *made, solved = limits.plan(approximation).phases
            seed = approximation.random_state
            rng = rng if seed is None else as_generator(seed)
            rows = task.rows.labelled_as(spec.classes)
            feature_map = clone(approximation).fit_rows(rows, rng, spec.kernel, context)
            mapping.result = describe_map(feature_map, feature_map.kernel_)
        held = {"search": choice.bytes, "map": max(p.bytes for p in made), "solve": solved.bytes}
    else:
        feature_map = start.feature_map
        held = {phase.name: phase.bytes for phase in start.phases}
    drawn = task.samples.rows(limits.affordable_rows(SAMPLE_ROWS), 0)
    sample = Block(drawn.X, None, drawn.weight, 0)
    if start is None:
        with clock.phase("search"), context.phase("penalty") as choosing:
            alpha, alphas = choose_penalty(trials, choice, feature_map, drawn.X, task.rows.n_rows)
            choosing.result = f"alpha {'' if alphas is None else 'near '}{alpha:.3g}"
        first = None
    else:
        alpha, alphas = start.alpha if spec.alpha is None else spec.alpha, None
        first = start.solution.coef, start.solution.intercept - task.shift
    trials.drawn = None
    for known in (task, trials.limits.task):
        known.samples.forget()
    monitor: Any = None
    if held_out is not None:
        monitor = EarlyStopping(held_out.mapped(feature_map.basis()), spec.loss, context)
    watch = None if limits.deadline is None else Deadline(limits.deadline, monitor)
    basis = feature_map.basis()
    problem = pose_problem(
        basis,
        task.numbers,
        spec.loss,
        alpha,
        alphas=alphas,
        fit_intercept=spec.fit_intercept,
        memory_limit=spec.memory_limit,
        start=first,
        monitor=monitor if watch is None else watch,
    )

    def rebuild(coef: Array, intercept: Array) -> dict[str, Any]:
        """Return the attributes of a model with these coefficients, for callbacks."""
        solution = Solution(coef, intercept, 0, Status.MAX_ITER, "not finished")
        model = Model(feature_map, solution, alpha, sample, held)
        return {"fitted_": _record(task, choice, model)}

    with (
        clock.phase("solve"),
        context.phase("solve", rebuild=rebuild) as solving,
        limits.explain(approximation, given=given),
    ):
        solution = solve(problem, context)
        solving.result = solution.message
    alpha = alpha if solution.alpha is None else solution.alpha
    solution = solution if watch is None else watch.noted(solution)
    solution = solution if monitor is None else monitor.best(solution)
    return Model(feature_map, solution, alpha, sample, held)


def _fit_exactly(task: Task, choice: Choice, rng: np.random.Generator, clock: Clock) -> Model:
    """Fit the exact model of the chosen kernel."""
    spec, rows, context = task.spec, task.numbers, task.context
    own, n = choice.approximation.kernel, rows.n_rows
    kernel = as_kernel(spec.kernel if own is None else own, owner=spec.owner)
    kernel = kernel.resolve(context.bind(rows), draw_seed(rng))
    require_memory(
        24 * n**2,
        spec.memory_limit,
        f"an exact model of {n} rows (approximation=None)",
        "give approximation a budget such as 1000",
    )
    distinct = merge_equal(rows.collect())[0]
    # float64, because with small penalties large coefficients amplify rounding
    basis = Landmarks(kernel, as_real(distinct.X, DOUBLE), DOUBLE)
    with clock.phase("map"), context.phase("kernel matrix") as filling:
        K = kernel(basis.points, n_jobs=context.n_jobs)
        check_gram(K, kernel)
        filling.result = f"{distinct.size:,} x {distinct.size:,}, {describe_kernel(kernel)}"
    spread = np.unique(np.linspace(0, distinct.size - 1, SAMPLE_ROWS).astype(int))
    # far from all rows the model predicts its intercept, which must stay near the range of y
    Y = np.asarray(distinct.y)
    judge = Judge.of_targets(spec.loss, Y, spec.fit_intercept)
    work = exact_work(distinct.size, several=spec.alpha is None)
    expected = seconds(work, NOMINAL)
    with clock.phase("solve"), context.phase("factorization", expected=expected) as factoring:
        solution = solve_exact(
            K,
            Y,
            distinct.weights(),
            alpha=spec.alpha,
            fit_intercept=spec.fit_intercept,
            trusted=None if spec.classes else lambda b: judge.trusts(b, b),
            context=context,
        )
        factoring.result = solution.message
    assert solution.alpha is not None, "it was given or chosen"
    sample = Block(basis.points[spread], None, distinct.weights()[spread], 0)
    held = {"search": choice.bytes, "map": 8 * n**2, "solve": 24 * n**2}
    return Model(basis, solution, solution.alpha, sample, held)
