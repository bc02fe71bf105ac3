"""Begin or resume a fit with a checkpoint."""

from dataclasses import replace
from importlib.metadata import version
from pickle import PicklingError
from secrets import randbits
from types import CodeType, FunctionType
from typing import Any

import joblib
from sklearn.base import BaseEstimator

from skimp._params._memory import parse_bytes
from skimp._params._rules import broken
from skimp.choice import Task
from skimp.data import Journal, as_checkpoint, digest_rows

_FREE = ("checkpoint", "n_jobs", "verbose", "random_state", "memory_limit")
"""Parameters that may change, or are compared in another way."""


def open_journal(model: Any, task: Task) -> tuple[Task, Journal | None]:
    """Return the task of an estimator with the journal of its checkpoint, if it has one."""
    if model.checkpoint is None:
        return task, None
    owner, spec = task.spec.owner, task.spec
    if spec.warm_start:
        raise broken(owner, "warm_start", "False with a checkpoint", True)
    if spec.time_limit is not None:
        wording = "None with a checkpoint, because the choices of a fit would depend on the time"
        raise broken(owner, "time_limit", wording, spec.time_limit)
    with task.context.phase("checkpoint", unit="rows", total=task.rows.known_n_rows) as opening:
        parts = {"data": digest_rows(task.rows, task.context)}
        journal = _open(model, task, parts)
        opening.result = journal.describe()
    if spec.random_state is None:
        spec = replace(spec, random_state=journal.seed)
    return replace(task, spec=spec, context=replace(task.context, journal=journal)), journal


def _open(model: Any, task: Task, parts: dict[str, str]) -> Journal:
    """Return the journal for the parameters of an estimator, in addition to ``parts``."""
    spec = task.spec
    given = {name: v for name, v in model.get_params(deep=True).items() if name not in _FREE}
    given["memory_limit"] = parse_bytes(spec.memory_limit)
    given["number of threads"] = task.context.threads
    given["random_state"] = spec.random_state
    given["version of skimp"] = version("skimp")
    parts |= {name: _hash(value) for name, value in given.items()}
    return as_checkpoint(model.checkpoint).open(spec.owner, parts, randbits(63))


def _hash(value: Any) -> str:
    """Return a hash of a parameter; of a function its code, because its name says too little."""
    if isinstance(value, BaseEstimator):
        return type(value).__qualname__
    if isinstance(value, FunctionType):
        held = [_hash(cell.cell_contents) for cell in value.__closure__ or ()]
        value = [value.__qualname__, _code(value.__code__), value.__defaults__, held]
    try:
        return str(joblib.hash(value))
    except (PicklingError, AttributeError, TypeError):
        return repr(value)


def _code(code: CodeType) -> list[Any]:
    """Return the instructions of a function and of those inside it, without their addresses."""
    constants = [_code(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return [code.co_code, code.co_names, constants]
