"""Support for the callbacks of scikit-learn 1.9: each phase of a fit is a task of its callbacks."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, Self, final

from sklearn.base import clone

from skimp._params._rules import check_params
from skimp.data._context import Context
from skimp.data._progress import Listener, Model, Phase, reporting

HAS_CALLBACKS = find_spec("sklearn.callback") is not None
"""Whether scikit-learn has callbacks."""
_STEPS = 100
"""The largest number of tasks into which a pass over the rows is divided."""


class Reporting:
    """Mixin for estimators whose ``fit`` reports progress."""

    if HAS_CALLBACKS:
        # imported on use, because sklearn.callback imports rich

        def set_callbacks(self, *callbacks: Any) -> Self:
            """Set the callbacks of ``fit``, such as ``sklearn.callback.ProgressBar()``.

            Parameters
            ----------
            *callbacks : callbacks of `sklearn.callback`
                The callbacks; they replace earlier ones.

            Returns
            -------
            self
            """
            from sklearn.callback import CallbackSupportMixin

            CallbackSupportMixin.set_callbacks(self, *callbacks)
            return self

    @contextmanager
    def _reporting(
        self, n_phases: int, X: Any, y: Any = None, sample_weight: Any = None
    ) -> Iterator[Context]:
        """Report the progress of a fit with at most ``n_phases`` phases; yield its context."""
        owner, verbose = type(self).__name__, getattr(self, "verbose", 0)
        if verbose:
            # its rule, because lines compare it with numbers before the fit checks parameters
            check_params(self)
        n_jobs = getattr(self, "n_jobs", None)
        if not getattr(self, "_skl_callbacks", None):
            with reporting(owner, verbose) as progress:
                yield Context(n_jobs, progress)
            return
        from sklearn.callback._callback_support import callback_management_context

        with callback_management_context(self):
            callbacks = Callbacks(self, n_phases, X, y, sample_weight)
            with reporting(owner, verbose, callbacks) as progress:
                yield Context(n_jobs, progress)


def clone_without_callbacks(estimator: Any) -> Any:
    """Return an unfitted copy of an estimator whose ``fit`` calls no callbacks."""
    copy = clone(estimator)
    return copy.set_callbacks() if HAS_CALLBACKS else copy


@final
class Callbacks(Listener):
    """Forward phases and iterations to the callbacks of an estimator, as tasks.

    Callbacks that need a fitted model receive one that can predict after each solver iteration.
    """

    def __init__(self, estimator: Any, n_phases: int, X: Any, y: Any, sample_weight: Any):
        from sklearn.callback import CallbackSupportMixin

        self._estimator = estimator
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self._data = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
        self._root = CallbackSupportMixin._init_callback_context(estimator, max_subtasks=n_phases)
        self._tasks: dict[Phase, Any] = {}
        self._parts: Counter[Phase] = Counter()

    def begin(self, phase: Phase) -> None:
        """Begin the task of a phase."""
        if phase.parent is None:
            task = self._root
        else:
            parts = 0 if phase.parent.parent else None
            total = phase.total if phase.unit != "rows" else min(_STEPS, phase.total or _STEPS)
            task = self._part(phase.parent, phase.name, parts if total is None else total)
        if task is not None:
            self._tasks[phase] = task
            task.call_on_fit_task_begin(**self._data)

    def _part(self, parent: Phase, name: str, max_subtasks: int | None) -> Any:
        """Return a subtask of a phase's task, or None if all its subtasks are used."""
        task = self._tasks.get(parent)
        if task is None or self._parts[parent] == task.max_subtasks:
            return None
        self._parts[parent] += 1
        return task.subcontext(task_name=name, max_subtasks=max_subtasks)

    def advance(self, phase: Phase, model: Model | None) -> bool:
        """Begin and end the task of an iteration."""
        part = self._part(phase, phase.unit.removesuffix("s"), 0)
        if part is None:
            return False
        rebuild = next((p.rebuild for p in reversed(phase.path) if p.rebuild), None)
        attributes = None
        if model is not None and rebuild is not None:
            make = rebuild

            def attributes() -> dict[str, Any]:
                return make(*model())

        part.call_on_fit_task_begin(**self._data)
        stop: bool = part.call_on_fit_task_end(**self._data, reconstruction_attributes=attributes)
        return stop

    def see_rows(self, phase: Phase) -> None:
        """Begin and end a task for some rows, if the phase is one pass over the rows."""
        if phase.unit != "rows" or not phase.n_rows or phase not in self._tasks:
            return
        parts = self._tasks[phase].max_subtasks
        # a source that changes can give more rows than before; its reader refuses that
        due = min(parts, parts * phase.rows // phase.n_rows)
        while self._parts[phase] < due:
            part = self._part(phase, "rows", 0)
            part.call_on_fit_task_begin(**self._data)
            part.call_on_fit_task_end(**self._data)

    def end(self, phase: Phase) -> None:
        """End the task of a phase; the task of the whole fit passes the fitted estimator on."""
        task = self._tasks.pop(phase, None)
        self._parts.pop(phase, None)
        if task is not None:
            attributes = dict if phase.parent is None else None
            task.call_on_fit_task_end(**self._data, reconstruction_attributes=attributes)
