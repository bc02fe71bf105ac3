"""Checkpoints: the results of a fit's passes over the rows, from which a fit can resume.

A fit is a deterministic program whose long steps are reductions over rows and loops of solvers. The
journal numbers these steps and stores what they return. To resume, the program runs again: steps
that are stored return at once, the step that was interrupted continues in the middle, and all else
is repeated. The model is therefore the same, bit for bit.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar, cast

from skimp._core._container import UnstorableError, read_container, write_container
from skimp._params._rules import NONE, Rule, broken, instance, number

T = TypeVar("T")
_HEAD, _KIND = "head.skimp", "checkpoint"
_BRIEF = 0.02
"""Steps that take less than this share of the interval are repeated instead of stored."""
_EVERY = number(above=0)


@dataclass(frozen=True)
class Checkpoint:
    """A folder for the state of a fit, from which the same fit resumes.

    Attributes
    ----------
    path : str or path
        The folder, which is created. It takes as much space as a few copies of the model and, for
        some solvers, a few numbers per row.
    every : float, default=30.0
        Seconds between two writes; a resumed fit repeats about as much work at most.

    Examples
    --------
    >>> from skimp import KernelClassifier
    >>> from skimp.data import Checkpoint
    >>> model = KernelClassifier(checkpoint=Checkpoint("fit.checkpoint", every=60.0))
    """

    path: str | os.PathLike[str]
    every: float = 30.0

    def open(self, owner: str, parts: dict[str, str], seed: int) -> "Journal":
        """Return the journal of a fit, begun or to be resumed.

        Parameters
        ----------
        owner : str
            The name of the estimator, for messages.
        parts : dict
            What the fit depends on, by name: all must be equal to resume.
        seed : int
            Seed of a new journal.
        """
        if not _EVERY.test(self.every):
            raise broken("Checkpoint", "every", _EVERY.wording, self.every)
        folder = Path(self.path)
        head = folder / _HEAD
        if head.exists():
            found = read_container(head, _KIND)
            if found["parts"] == parts:
                return Journal(folder, self.every, head=found)
            if not found["finished"]:
                names = [name for name in parts if found["parts"].get(name) != parts[name]]
                raise ValueError(
                    f"{owner}: checkpoint {str(folder)!r} belongs to an unfinished fit with other "
                    f"{' and '.join(names) or 'parameters'}: pass what it was begun with, choose "
                    "another folder, or delete this one."
                )
            _clear(folder)
        elif folder.exists() and (
            not folder.is_dir() or set(folder.iterdir()) - set(_asides(folder))
        ):
            raise ValueError(
                f"{owner}: checkpoint must be a new or empty folder, or one of an earlier fit, "
                f"got {str(folder)!r}, which has other files."
            )
        folder.mkdir(exist_ok=True)
        begun = {"parts": parts, "seed": seed, "finished": False}
        write_container(head, _KIND, begun)
        return Journal(folder, self.every, head=begun)


CHECKPOINT = (
    NONE
    | Rule("the path of a folder", lambda v: isinstance(v, str | os.PathLike))
    | instance(Checkpoint, "a Checkpoint")
)
"""The rule for ``checkpoint``."""


def as_checkpoint(given: str | os.PathLike[str] | Checkpoint) -> Checkpoint:
    """Return a checkpoint for a path."""
    return given if isinstance(given, Checkpoint) else Checkpoint(given)


@dataclass
class Journal:
    """The stored steps of a fit, in the order in which it takes them."""

    folder: Path
    every: float
    head: dict[str, Any]
    number: int = field(default=0, init=False)
    _paused: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        """Remove files that a killed process left unfinished."""
        for path in _asides(self.folder):
            path.unlink()

    @property
    def seed(self) -> int:
        """The seed of the fit, if its ``random_state`` is None."""
        return int(self.head["seed"])

    def describe(self) -> str:
        """Return in a few words what is stored."""
        n = len([*self.folder.glob("*.skimp")]) - 1
        return f"resumes with {n} stored steps" if n else "begins"

    def enter(self, name: str) -> "Entry | None":
        """Return the entry of the next step; None within a step that is stored as a whole."""
        if self._paused:
            return None
        self.number += 1
        return Entry(self.folder / f"{self.number:05}.skimp", name, self.every)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Store no steps inside the block."""
        before, self._paused = self._paused, True
        try:
            yield
        finally:
            self._paused = before

    def finish(self) -> None:
        """Note that the fit is complete, so that the folder may be used for another one."""
        write_container(self.folder / _HEAD, _KIND, {**self.head, "finished": True})


@dataclass
class Entry:
    """The file of a step, and when it was written last."""

    path: Path
    name: str
    every: float
    written: float = field(default_factory=monotonic, init=False)
    began: float = field(default_factory=monotonic, init=False)
    _storable: bool = field(default=True, init=False)

    def load(self) -> dict[str, Any] | None:
        """Return what was stored, or None."""
        if not self.path.exists():
            return None
        found = read_container(self.path, _KIND)
        if found["name"] != self.name:
            raise ValueError(
                f"{str(self.path)!r} must hold the step {self.name!r}, found {found['name']!r}: "
                "the checkpoint is of another version of skimp; delete its folder."
            )
        return cast(dict[str, Any], found)

    def store(self, **tree: Any) -> None:
        """Write a tree; one with objects that a file cannot hold is not stored."""
        if self._storable:
            try:
                write_container(self.path, _KIND, {"name": self.name, **tree})
            except UnstorableError:
                self._storable = False
        self.written = monotonic()

    @property
    def is_due(self) -> bool:
        """Whether the interval has passed since the last write."""
        return monotonic() - self.written >= self.every

    @property
    def is_brief(self) -> bool:
        """Whether the step has taken so little time that it need not be stored."""
        return not self.path.exists() and monotonic() - self.began < _BRIEF * self.every


@dataclass
class Loop:
    """The iterations of a solver, which a checkpoint can resume.

    Attributes
    ----------
    state : object
        The tree that was stored last; None to start from the beginning.
    """

    entry: Entry | None = None
    state: Any = None

    def take(self) -> Any:
        """Return the state to start from, and release it."""
        state, self.state = self.state, None
        return state

    @classmethod
    def of(cls, entry: Entry | None) -> "Loop":
        """Return the loop of an entry, with its stored state."""
        found = None if entry is None else entry.load()
        return cls(entry, None if found is None else found["state"])

    def keep(self, make_state: Callable[[], Any]) -> None:
        """Store the state after an iteration, if the interval has passed since the last time."""
        if self.entry is not None and self.entry.is_due:
            self.entry.store(state=make_state())


@dataclass(frozen=True)
class Reached:
    """How far a reduction over rows has come: whole blocks, their rows, and the total."""

    blocks: int
    rows: int
    total: Any
    done: bool

    @classmethod
    def of(cls, entry: Entry | None, initial: Any) -> "Reached":
        """Return what an entry has stored, or the beginning."""
        found = None if entry is None else entry.load()
        if found is None:
            return cls(0, 0, initial, False)
        total = _restored(found["total"], initial)
        return cls(found["blocks"], found["rows"], total, found["done"])

    def store(self, entry: Entry) -> None:
        """Write this to an entry."""
        tree = {f.name: getattr(self, f.name) for f in fields(self)}
        entry.store(**{**tree, "total": _plain(self.total)})


def _clear(folder: Path) -> None:
    """Remove the files of a complete fit; the head comes last, so that it can be done again."""
    for path in [*folder.glob("[0-9]*.skimp"), folder / _HEAD]:
        path.unlink()


def _asides(folder: Path) -> list[Path]:
    """Return the files that a killed process has not finished; see `written_aside`."""
    return list(folder.glob(".*.skimp." + 16 * "[0-9a-f]"))


def _plain(total: Any) -> Any:
    """Return a record as a dict, and other totals unchanged."""
    if is_dataclass(total):
        return {f.name: getattr(total, f.name) for f in fields(total)}
    return total


def _restored(tree: Any, like: T) -> T:
    """Return a record of the type of ``like`` for a dict, and other totals unchanged."""
    if is_dataclass(like):
        record: Any = type(like)
        return cast(T, record(**tree))
    return cast(T, tree)
