"""Progress of a fit: its phases, and the listeners that show them."""

import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from multiprocessing import parent_process
from time import monotonic
from typing import Any, Protocol, final

LOGGER = logging.getLogger("skimp")
_STILL = 0.1
"""Least number of seconds between two updates of the screen."""
_QUICK = 2.0
"""Minimum number of seconds between two lines about a running phase."""
_RARER = 4.0
"""Lines of a long phase become rarer: each waits for the elapsed time divided by this number."""
_ANNOUNCED = 1.0
"""A phase is announced when it begins if it is predicted to take at least this many seconds."""

Model = Callable[[], tuple[Any, Any]]
"""A function that returns the coefficients and the intercept of an iteration."""


@dataclass(eq=False)
class Phase:
    """A phase of a fit, such as the search or the solver; phases can be nested.

    While it runs, ``done`` counts finished units, and ``rows`` of ``n_rows`` rows are finished in
    the current pass over the data. ``note`` and ``result`` describe the state and the outcome.

    Attributes
    ----------
    name : str
        Name of the phase.
    total : int or None
        The largest possible count; None if unknown.
    unit : str
        The unit of the count, such as "rows" or "steps"; empty if nothing is counted.
    expected : float or None
        Predicted seconds on an ordinary machine with two cores.
    rebuild : callable or None
        Turns coefficients and an intercept into attributes of a fitted estimator.
    parent : Phase or None
        The enclosing phase.
    listeners : tuple of Listener
        Objects that are notified.
    """

    name: str
    total: int | None = None
    unit: str = ""
    expected: float | None = None
    rebuild: Callable[[Any, Any], dict[str, Any]] | None = None
    parent: "Phase | None" = None
    listeners: "tuple[Listener, ...]" = ()
    done: int = field(default=0, init=False)
    rows: int = field(default=0, init=False)
    n_rows: int | None = field(default=None, init=False)
    note: str = field(default="", init=False)
    result: str = field(default="", init=False)
    began: float = field(default_factory=lambda: monotonic(), init=False)

    @property
    def path(self) -> "list[Phase]":
        """The enclosing phases from the outermost one, and this phase."""
        return [*(self.parent.path if self.parent else []), self]

    @property
    def seconds(self) -> float:
        """Elapsed seconds."""
        return monotonic() - self.began

    @property
    def fraction(self) -> float | None:
        """The completed share, or None if unknown."""
        if self.unit in ("", "rows"):
            # without a unit, there may be more to do after a pass
            over = not self.unit and self.rows == self.n_rows
            return None if over or not self.n_rows else self.rows / self.n_rows
        return self.done / self.total if self.total else None

    def describe(self) -> str:
        """Describe the progress of the phase."""
        words = []
        if self.unit == "percent":
            words.append(f"{self.done} %")
        elif self.unit not in ("", "rows") and self.done:
            limit = "" if self.total is None else f" of at most {self.total:,}"
            unit = self.unit.removesuffix("s") if self.done == 1 and not limit else self.unit
            words.append(f"{self.done:,}{limit} {unit}")
        words += [self.note] if self.note else []
        if self.rows and self.n_rows and self.rows < self.n_rows:
            words.append(f"{100 * self.rows // self.n_rows} % of {self.n_rows:,} rows")
        elif self.rows and not self.n_rows:
            words.append(f"{self.rows:,} rows")
        return ", ".join(words)

    def advance(self, note: str = "", model: Model | None = None, count: int = 1) -> bool:
        """Increase the count; return whether a listener asks to stop."""
        self.done += count
        self.rows, self.note = 0, note
        stops = [listener.advance(self, model) for listener in self.listeners]
        return any(stops)

    def reach(self, share: float) -> None:
        """Increase the count to a share of the total."""
        while self.done < int(share * (self.total or 0)):
            self.advance()

    def see_rows(self, rows: int, n_rows: int | None) -> None:
        """Report the number of processed rows in the current pass."""
        self.rows, self.n_rows = rows, n_rows
        for listener in self.listeners:
            listener.see_rows(self)


class Listener:
    """Base class of objects that are notified of phases; a subclass overrides some methods.

    Examples
    --------
    >>> from skimp.data import Listener, Progress
    >>> class Names(Listener):
    ...     def begin(self, phase):
    ...         print("/".join(part.name for part in phase.path))
    >>> progress = Progress(Names())
    >>> with progress.phase("search"), progress.phase("trial"):
    ...     pass
    search
    search/trial
    """

    def begin(self, phase: Phase) -> None:
        """Handle the start of a phase."""

    def advance(self, phase: Phase, model: Model | None) -> bool:
        """Handle an increased count; return whether the phase should stop."""
        return False

    def see_rows(self, phase: Phase) -> None:
        """Handle further processed rows."""

    def end(self, phase: Phase) -> None:
        """Handle the end of a phase; not called if the phase raises."""


@final
class Progress:
    """Nested phases and their listeners; silent without listeners.

    Parameters
    ----------
    *listeners : Listener
        Objects that are notified of phases.

    Examples
    --------
    >>> from skimp.data import Progress
    >>> with Progress().phase("solve", total=3, unit="steps") as solving:
    ...     _ = solving.advance()
    >>> solving.describe()
    '1 of at most 3 steps'
    """

    def __init__(self, *listeners: Listener):
        self._listeners = listeners
        self._open: list[Phase] = []

    @contextmanager
    def phase(self, name: str, **about: Any) -> Iterator[Phase]:
        """Open a phase for a ``with`` block; keywords are attributes of `Phase`."""
        listeners, parent = self._listeners, self._open[-1] if self._open else None
        phase = Phase(name, **about, parent=parent, listeners=listeners)
        if not listeners:
            yield phase
            return
        self._open.append(phase)
        try:
            for listener in listeners:
                listener.begin(phase)
            yield phase
            for listener in listeners:
                listener.end(phase)
        finally:
            self._open.pop()
        if parent is not None and parent.unit not in ("", "rows"):
            parent.done += 1
            parent.rows = 0

    def see_rows(self, rows: int, n_rows: int | None) -> None:
        """Report the number of processed rows to the innermost phase."""
        if self._open:
            self._open[-1].see_rows(rows, n_rows)

    def close(self) -> None:
        """Remove the listeners."""
        self._listeners = ()


class Screen(Protocol):
    """The interface of an output for lines."""

    def write(self, line: str) -> None:
        """Write a permanent line."""

    def show(self, phase: Phase, line: str, words: str, fraction: float | None) -> None:
        """Show the progress of a phase: a line, its last part, and the completed share or None."""

    def close(self) -> None:
        """Remove temporary output."""


@final
class Log:
    """Lines to the logger "skimp", or to standard error if logging would not show them."""

    def __init__(self) -> None:
        self._written = monotonic()

    def write(self, line: str) -> None:
        """Write a line."""
        self._written = monotonic()
        if is_heard():
            LOGGER.info(line)
        elif not LOGGER.level or LOGGER.isEnabledFor(logging.INFO):
            sys.stderr.write(f"{line}\n")

    def show(self, phase: Phase, line: str, words: str, fraction: float | None) -> None:
        """Write a line, but not too often."""
        if monotonic() - self._written >= max(_QUICK, phase.seconds / _RARER):
            self.write(line)

    def close(self) -> None:
        """Do nothing: all lines are permanent."""


def is_heard() -> bool:
    """Return whether logging is set up to show lines; if not, ``verbose`` shows them."""
    return LOGGER.isEnabledFor(logging.INFO) and LOGGER.hasHandlers()


@final
class Lines(Listener):
    """A line for each completed phase, with its seconds and its result.

    ``verbose=1`` shows the phases of a fit, and ``verbose=2`` also the phases inside them.
    """

    def __init__(self, owner: str, verbose: int, screen: Screen):
        self._owner, self._verbose, self._screen = owner, int(verbose), screen
        self._shown = monotonic()

    def _line(self, phase: Phase, seconds: str, words: str) -> str:
        name = "  " * max(0, len(phase.path) - 2) + phase.name
        return f"{self._owner}  {name:<13} {seconds:>9}  {words}".rstrip()

    def begin(self, phase: Phase) -> None:
        """Announce a phase that is predicted to take long."""
        if phase.expected is not None and phase.expected >= _ANNOUNCED:
            about = f"about {phase.expected:,.0f} s on two idle cores"
            self._screen.write(self._line(phase, "...", about))
        self._show(phase)

    def advance(self, phase: Phase, model: Model | None) -> bool:
        """Show the progress of the phase."""
        self._show(phase)
        return False

    def see_rows(self, phase: Phase) -> None:
        """Show the progress of the phase."""
        self._show(phase)

    def _show(self, phase: Phase) -> None:
        # the end of a pass is shown, because what follows may not count rows
        if monotonic() - self._shown < _STILL and phase.rows != phase.n_rows:
            return
        self._shown = monotonic()
        outer, *inner = phase.path[1:] or phase.path
        parts = [outer.describe(), *(f"{part.name} {part.describe()}".strip() for part in inner)]
        words = "; ".join(filter(None, parts))
        line = self._line(outer, f"{outer.seconds:.0f} s ...", words)
        self._screen.show(outer, line, words, phase.fraction)

    def end(self, phase: Phase) -> None:
        """Write the seconds and the result of the phase."""
        if len(phase.path) <= self._verbose + 1:
            self._screen.write(self._line(phase, f"{phase.seconds:.1f} s", phase.result))


@contextmanager
def reporting(
    owner: str, verbose: int = 0, *listeners: Listener, name: str = "total"
) -> Iterator[Progress]:
    """Report the phases of a ``with`` block to listeners, and print them if ``verbose`` is set.

    A terminal shows a progress bar if rich is installed, logging is not set up, and there are no
    listeners, which may draw a bar themselves.
    """
    screen: Screen = Log()
    if verbose and not listeners and _can_draw():
        from skimp.data._bar import Bar

        screen = Bar()
    lines = (Lines(owner, verbose, screen),) if verbose else ()
    progress = Progress(*listeners, *lines)
    try:
        with progress.phase(name):
            yield progress
    finally:
        progress.close()
        screen.close()


def _can_draw() -> bool:
    """Return whether to draw a bar; only the main thread of the main process may."""
    alone = parent_process() is None and threading.current_thread() is threading.main_thread()
    terminal = alone and not is_heard() and not LOGGER.level and sys.stderr.isatty()
    return terminal and find_spec("rich") is not None
