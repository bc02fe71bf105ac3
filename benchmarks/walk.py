"""How far a default fit walks: the named functions and the files of skimp that it passes through.

python -m benchmarks.walk [--list]
"""

import argparse
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import CO_NEWLOCALS
from pathlib import Path

import numpy as np

import skimp
from skimp import KernelClassifier

_HOME = str(Path(skimp.__file__).parent)
_UNNAMED = ("<lambda>", "<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>", "<module>")


@contextmanager
def walk() -> Iterator[set[tuple[str, str]]]:
    """Collect (file, function) of every named function of skimp that is entered, in all threads."""
    seen: set[tuple[str, str]] = set()

    def look(frame: object, event: str, _: object) -> None:
        code = frame.f_code  # type: ignore[attr-defined]
        here = event == "call" and code.co_filename.startswith(_HOME)
        # the body of a class has no fast locals: it is not a function
        if here and code.co_name not in _UNNAMED and code.co_flags & CO_NEWLOCALS:
            seen.add((code.co_filename[len(_HOME) + 1 :], code.co_qualname))

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        yield seen
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def count(run: Callable[[], object]) -> set[tuple[str, str]]:
    """Return where a call passes through."""
    with walk() as seen:
        run()
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="print every function")
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 5))
    y = np.sin(2 * X[:, 0]) + X[:, 1] > 0
    # modules are imported and loops compiled before anything is counted
    KernelClassifier(random_state=0).fit(X, y).predict(X)
    model = KernelClassifier(random_state=0)
    for name, run in (("fit", lambda: model.fit(X, y)), ("predict", lambda: model.predict(X))):
        seen = count(run)
        print(f"{name}: {len(seen)} functions in {len({file for file, _ in seen})} files")
        if arguments.list:
            print(*(f"  {file} {function}" for file, function in sorted(seen)), sep="\n")


if __name__ == "__main__":
    main()
