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
    Plan,
    Spec,
    Task,
    Trials,
    choose,
    choose_penalty,
    fit_map,
    pose_problem,
)
from skimp.data import Rows, has_weight, split_rows
from skimp.estimators._clock import Clock
from skimp.estimators._fit_exactly import fit_exactly
from skimp.estimators._fitted import Fitted, Trace
from skimp.features import FeatureMap, Landmarks
from skimp.kernels import Gaussian
from skimp.kernels._checks import require
from skimp.solvers import EarlyStopping, Solution
from skimp.solvers._deadline import Deadline

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
        task, held_out = _hold_out(task, rng)
        recipe = _recipe(task)
        start = before if before is not None and recipe and before.recipe == recipe else None
        if spec.exact:
            _require_definite(spec)
        limits = Limits(task, deadline)
        if spec.memory_limit is not None:
            task = task.on(task.rows.reblocked(limits.block_rows))
            limits = Limits(task, deadline)
        # a fit without choices draws nothing for them
        chosen = task.is_settled and spec.alpha is not None
        trials = Trials(limits, 0 if chosen else draw_seed(rng))
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
            ...
