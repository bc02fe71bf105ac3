"""The bars of the walk: how many functions and files of skimp a default fit passes through.

``python -m benchmarks walk`` counts them, ``python -m benchmarks.walk`` lists them.
"""

import sys
import threading
from collections.abc import Callable
from inspect import CO_NEWLOCALS
from pathlib import Path

import numpy as np

import skimp
from benchmarks.harness import Bar, benchmark
from skimp import KernelClassifier

_HOME = str(Path(skimp.__file__).parent)


def trace(run: Callable[[], object]) -> set[tuple[str, str]]:
    """Return (file, function) of the named functions of skimp that a call enters, in any thread."""
    seen: set[tuple[str, str]] = set()

    def look(frame: object, event: str, _: object) -> None:
        code = frame.f_code  # type: ignore[attr-defined]
        here = event == "call" and code.co_filename.startswith(_HOME)
        # the body of a class has no locals of its own: it is not a function
        if here and not code.co_name.startswith("<") and code.co_flags & CO_NEWLOCALS:
            seen.add((code.co_filename[len(_HOME) + 1 :], code.co_qualname))

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return seen


def default_fit() -> dict[str, set[tuple[str, str]]]:
    """Trace a fit to 1,500 rows with everything on auto, and its predictions."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 5))
    y = np.sin(2 * X[:, 0]) + X[:, 1] > 0
    # modules are imported and loops compiled before anything is counted
    KernelClassifier(random_state=0).fit(X, y).predict(X)
    model = KernelClassifier(random_state=0)
    return {"fit": trace(lambda: model.fit(X, y)), "predict": trace(lambda: model.predict(X))}


@benchmark
def walk() -> list[Bar]:
    limits = {"fit": (250, 60), "predict": (35, 20)}
    bars = []
    for name, seen in default_fit().items():
        functions, files = limits[name]
        bars.append(Bar(f"{name}: functions", len(seen), functions))
        bars.append(Bar(f"{name}: files", len({file for file, _ in seen}), files))
    lines = sum(len(file.read_text().splitlines()) for file in Path(_HOME).rglob("*.py"))
    return [*bars, Bar("lines of source", lines, 22_000)]


if __name__ == "__main__":
    for name, seen in default_fit().items():
        print(name, *(f"  {file} {function}" for file, function in sorted(seen)), sep="\n")
