"""How far a fit has come: its phases, and what listens to them."""

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
_QUICK = 2.0
"""Seconds after which a phase that is under way is worth a line, and between two such lines."""
_RARER = 4.0
"""The longer a phase takes, the rarer its lines: one each time a quarter of its time has passed."""
_ANNOUNCED = 1.0
"""Predicted seconds from which a phase is announced when it begins."""

Model = Callable[[], tuple[Any, Any]]
"""Returns the coefficients and the intercept of an iteration."""


@dataclass(eq=False)
class Phase:
    """A part of a fit, such as the search or the solution, which may have parts itself.

    Attributes
    ----------
    name : str
        What is done.
    total : int or None
        The most that is counted; None if that is not known.
    unit : str
        What is counted, such as "rows" or "steps"; parts of the phase if nothing else is.
    expected : float or None
        Predicted seconds, for a phase that cannot report from inside.
    rebuild : callable or None
        Makes attributes of a fitted estimator from coefficients and an intercept.
    parent : Phase or None
        The phase that it is a part of.
    listeners : tuple of Listener
        Who hears of it.
    done : int
        How many were counted.
    rows, n_rows : int, and int or None
        Rows done of the present pass, and of how many.
    note, result : str
        How far it is, and what came out of it, in words.
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
        """The phases around this one, from the outermost to itself."""
        return [*(self.parent.path if self.parent else []), self]

    @property
    def seconds(self) -> float:
        """How long it has taken so far."""
        return monotonic() - self.began

    @property
    def fraction(self) -> float | None:
        """The share that is done, None if it is not known."""
        if self.unit == "rows" or not self.unit:
            return self.rows / self.n_rows if self.n_rows else None
        return self.done / self.total if self.total else None

    def describe(self) -> str:
        """Return how far it is, in words."""
        words = []
        if self.unit not in ("", "rows") and self.done:
            limit = "" if self.total is None else f" of at most {self.total:,}"
            words.append(f"{self.done:,}{limit} {self.unit}")
        if self.rows and self.n_rows and self.rows < self.n_rows:
            words.append(f"{100 * self.rows // self.n_rows} % of {self.n_rows:,} rows")
        elif self.rows and not self.n_rows:
            words.append(f"{self.rows:,} rows")
        return ", ".join([*words, self.note] if self.note else words)

    def advance(self, note: str = "", model: Model | None = None, count: int = 1) -> bool:
        """Count one more, or several; return whether a listener asks to stop here."""
        self.done += count
        self.rows, self.note = 0, note
        stops = [listener.advance(self, model) for listener in self.listeners]
        return any(stops)

    def see_rows(self, rows: int, n_rows: int | None) -> None:
        """Say how many rows of the present pass are done."""
        self.rows, self.n_rows = rows, n_rows
        for listener in self.listeners:
            listener.see_rows(self)


class Listener:
    """What hears of phases, such as lines of a log or callbacks; each method may be left out."""

    def begin(self, phase: Phase) -> None:
        """Hear that a phase begins."""

    def advance(self, phase: Phase, model: Model | None) -> bool:
        """Hear that one more is done; return whether the phase should stop here."""
        return False

    def see_rows(self, phase: Phase) -> None:
        """Hear that more rows are done."""

    def end(self, phase: Phase) -> None:
        """Hear that a phase came to its end, which one that raises does not."""


@final
class Progress:
    """Phases, one inside the other, and their listeners; silent if there are none.

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
        """Open a phase for the duration of a block; see `Phase` for what to say about it."""
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

    def see_rows(self, rows: int, n_rows: int | None) -> None:
        """Say how many rows of a pass are done, for the innermost phase."""
        if self._open:
            self._open[-1].see_rows(rows, n_rows)

    def close(self) -> None:
        """Let go of the listeners."""
        self._listeners = ()


class Screen(Protocol):
    """Where lines go."""

    def write(self, line: str) -> None:
        """Write a line that stays."""

    def show(self, line: str, fraction: float | None, seconds: float) -> None:
        """Show how far a phase has come, after some seconds."""

    def close(self) -> None:
        """Remove what does not stay."""


@final
class Log:
    """Lines for the logger "skimp", or for standard error if no handler would take them."""

    def __init__(self) -> None:
        self._written = monotonic()

    def write(self, line: str) -> None:
        """Write a line."""
        self._written = monotonic()
        if is_heard():
            LOGGER.info(line)
        elif not LOGGER.level or LOGGER.isEnabledFor(logging.INFO):
            sys.stderr.write(f"{line}\n")

    def show(self, line: str, fraction: float | None, seconds: float) -> None:
        """Write a line now and then."""
        if monotonic() - self._written >= max(_QUICK, seconds / _RARER):
            self.write(line)

    def close(self) -> None:
        """Do nothing: all lines stay."""


def is_heard() -> bool:
    """Return whether logging would show a line; if it would not, ``verbose`` does."""
    return LOGGER.isEnabledFor(logging.INFO) and LOGGER.hasHandlers()


@final
class Lines(Listener):
    """A line for each phase that is done, with its seconds and what came out.

    ``verbose=1`` is for the phases of a fit, ``verbose=2`` for their parts as well.
    """

    def __init__(self, owner: str, verbose: int, screen: Screen):
        self._owner, self._verbose, self._screen = owner, int(verbose), screen

    def _line(self, phase: Phase, seconds: str, words: str) -> str:
        name = "  " * max(0, len(phase.path) - 2) + phase.name
        return f"{self._owner}  {name:<13} {seconds:>9}  {words}".rstrip()

    def begin(self, phase: Phase) -> None:
        """Announce a phase that may take long and cannot report from inside."""
        if phase.expected is not None and phase.expected >= _ANNOUNCED:
            phase.note = f"about {phase.expected:,.0f} s"
            self._screen.write(self._line(phase, "...", phase.note))
        self._show(phase)

    def advance(self, phase: Phase, model: Model | None) -> bool:
        """Show how far a phase is, now and then."""
        self._show(phase)
        return False

    def see_rows(self, phase: Phase) -> None:
        """Show how far a phase is, now and then."""
        self._show(phase)

    def _show(self, phase: Phase) -> None:
        _, *path = phase.path
        if not path:
            return
        outer, *inner = path
        words = [outer.describe(), *(f"{part.name} {part.describe()}".strip() for part in inner)]
        line = self._line(outer, f"{outer.seconds:.0f} s ...", "; ".join(filter(None, words)))
        self._screen.show(line, path[-1].fraction, outer.seconds)

    def end(self, phase: Phase) -> None:
        """Write how long it took, and what came out."""
        if len(phase.path) <= self._verbose + 1:
            self._screen.write(self._line(phase, f"{phase.seconds:.1f} s", phase.result))


@contextmanager
def reporting(owner: str, verbose: int = 0, *listeners: Listener) -> Iterator[Progress]:
    """Show the phases of a block, a fit, to listeners and to those who asked for ``verbose``.

    A terminal shows a bar if rich is installed and logging is not set up. Other listeners may draw
    on the terminal themselves, so there is no bar beside them.
    """
    screen: Screen = Log()
    if verbose and not listeners and _can_draw():
        from skimp.data._bar import Bar

        screen = Bar()
    lines = (Lines(owner, verbose, screen),) if verbose else ()
    progress = Progress(*listeners, *lines)
    try:
        with progress.phase("total"):
            yield progress
    finally:
        progress.close()
        screen.close()


def _can_draw() -> bool:
    """Return whether a bar can be drawn, which one thread of one process alone may do."""
    alone = parent_process() is None and threading.current_thread() is threading.main_thread()
    terminal = alone and not is_heard() and not LOGGER.level and sys.stderr.isatty()
    return terminal and find_spec("rich") is not None
