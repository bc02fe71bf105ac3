"""The demonstration: models in fresh processes, a table that fills in, and a plot."""

import os
import platform
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import zip_longest
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

import skimp
from skimp.report import Measurement, Tradeoff, draw_tradeoffs, duration

LINEAR, EXACT, SKIMP = "linear", "exact SVC", "skimp"
_COLUMNS = ("model", "budget", "rows", "accuracy", "fit (s)", "predict (s)", "peak memory")
_NOTE = "One fresh process per model. Times: best of 3 below 1 s, without compiling."
_CLOSE = 0.03
_LEGEND = f"> fastest fit within {100 * _CLOSE:.0f} points of the highest accuracy"


@dataclass(frozen=True)
class Trial:
    """A model that is to be fitted, and the rows that it is given."""

    problem: str
    family: str
    rows: int
    budget: int | None = None


def run_demo(rows: int, output: Path) -> None:
    """Fit every model, print the tables and what they say, and draw the plot."""
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    console.print(f"skimp {skimp.__version__} on {machine}", _NOTE, "", sep="\n", style="dim")
    tradeoffs = []
    for title, trials in _problems(rows).items():
        tradeoffs.append(Tradeoff(title, trials[0].rows, _run(console, title, trials)))
        console.print("", conclusion(tradeoffs[-1]), "", sep="\n")
    caption = f"{machine}. {_NOTE} Tested on 20,000 generated rows and 500 digits."
    draw_tradeoffs(tradeoffs, output, caption=caption)
    console.print(f"Accuracy against fit time: {output}", soft_wrap=True)


def _problems(rows: int) -> dict[str, list[Trial]]:
    """Return each problem's trials under its title; the first trial is given all rows."""

    def trials(problem: str, n: int, budgets: tuple[int, ...]) -> list[Trial]:
        return [
            Trial(problem, LINEAR, n),
            *(Trial(problem, EXACT, size) for size in sorted({min(n, m) for m in (4_000, 16_000)})),
            *(Trial(problem, SKIMP, n, budget) for budget in budgets),
        ]

    return {
        f"{rows:,} generated rows, 10 columns": trials("generated", rows, (100, 300, 1000)),
        "Digits: 1,297 rows, 64 columns": trials("digits", 1297, (100, 200, 400)),
    }


def _load(trial: Trial) -> tuple[Any, ...]:
    """Return training rows and labels, test rows and labels, and the true rule's accuracy."""
    import numpy as np
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    def draw(n: int, seed: int) -> tuple[Any, Any, float]:
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((n, 10), dtype=np.float32)
        x = X.T
        f = x[0] * x[1] + x[2] * x[3] - x[4] * x[5] + x[6]
        f += 1.5 * np.sin(2 * x[7]) + 1.5 * np.cos(2 * x[8])
        y = rng.random(n) < 1 / (1 + np.exp(-f))
        return X, y, float(np.mean((f > 0) == y))

    if trial.problem == "generated":
        return *draw(trial.rows, seed=0)[:2], *draw(20_000, seed=1)
    X, y = load_digits(return_X_y=True)
    X = (X / 16).astype(np.float32)
    X, X_test, y, y_test = train_test_split(X, y, train_size=1297, stratify=y, random_state=0)
    return X, y, X_test, y_test, None


def measure(trial: Trial) -> Measurement:
    """Fit and predict in this process, after a small fit that compiles what they call."""
    from sklearn.base import clone
    from sklearn.linear_model import RidgeClassifier
    from sklearn.svm import SVC

    X, y, X_test, y_test, ceiling = _load(trial)
    model = {
        LINEAR: RidgeClassifier(),
        EXACT: SVC(),
        SKIMP: skimp.KernelClassifier("rbf", approximation=trial.budget, random_state=0),
    }[trial.family]
    clone(model).fit(X[:500], y[:500]).predict(X_test[:500])
    fit, _ = _timed(lambda: model.fit(X, y))
    predict, labels = _timed(lambda: model.predict(X_test))
    found = float((labels == y_test).mean()), fit, predict, _peak_bytes(), ceiling
    return Measurement(trial.family, trial.rows, trial.budget, *found)


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds of a call, the best of three if it is quick, and its result."""
    seconds: list[float] = []
    while len(seconds) < 3 and sum(seconds) < 1:
        start = perf_counter()
        result = call()
        seconds.append(perf_counter() - start)
    return min(seconds), result


def _peak_bytes() -> int | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _measure_apart(trial: Trial) -> Measurement:
    # Ctrl-C reaches the child too: the default action ends it without a traceback
    quiet = (signal.SIGINT, signal.SIG_DFL)
    with ProcessPoolExecutor(1, get_context("spawn"), signal.signal, quiet) as pool:
        return pool.submit(measure, trial).result()


def _run(console: Any, title: str, trials: list[Trial]) -> list[Measurement]:
    """Measure the models one by one in a table that fills in; a file gets lines, then the table."""
    from rich.live import Live
    from rich.spinner import Spinner

    done: list[Measurement] = []
    spinner, plain = Spinner("dots", style="cyan"), not console.is_interactive
    live = Live(get_renderable=lambda: _table(title, trials, done, spinner), console=console)
    with nullcontext() if plain else live:
        for trial in trials:
            done.append(_measure_apart(trial))
            if plain:
                console.print(f"{done[-1].family}, {done[-1].label}: done")
            else:
                live.refresh()
    if plain:
        console.print("", _table(title, trials, done), sep="\n")
    return done


def _table(title: str, trials: list[Trial], done: list[Measurement], spinner: Any = "") -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    best = Tradeoff(title, trials[0].rows, done).best(_CLOSE) if len(done) == len(trials) else None
    table = Table(title=title, caption=_LEGEND, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.title_style, table.title_justify, table.caption_justify = "bold", "left", "left"
    for name in ("", *_COLUMNS):
        table.add_column(name, justify="left" if name in ("", "model") else "right")
    for number, (trial, model) in enumerate(zip_longest(trials, done)):
        budget = "-" if trial.budget is None else f"{trial.budget:,}"
        cells = [trial.family, budget, f"{trial.rows:,}"]
        if model is None:
            mark, style = (spinner, "") if number == len(done) else ("", "dim")
        else:
            mark, style = (">", "bold green") if model is best else ("", "")
            peak = "-" if model.peak_bytes is None else f"{model.peak_bytes / 1e6:,.0f} MB"
            times = f"{model.fit_seconds:.3f}", f"{model.predict_seconds:.3f}"
            cells += [f"{model.accuracy:.1%}", *times, peak]
        table.add_row(mark, *cells, style=style)
    return table


def conclusion(tradeoff: Tradeoff) -> str:
    """Say what the numbers show."""
    families = tradeoff.families()
    linear, exact = families[LINEAR][0], families[EXACT][-1]
    top = max(families[SKIMP], key=lambda model: model.accuracy)
    gain = 100 * (top.accuracy - linear.accuracy)
    limit = f" (noise in the labels allows {top.ceiling:.1%} at most)" if top.ceiling else ""
    text = (
        f"skimp with a budget of {top.budget:,} reaches {top.accuracy:.1%} in "
        f"{top.fit_seconds:.2f} s, {abs(gain):.1f} points {'above' if gain >= 0 else 'below'} the "
        f"linear model{limit}. The exact SVC reaches {exact.accuracy:.1%} in "
        f"{exact.fit_seconds:.2f} s on {exact.rows:,} rows"
    )
    seconds = tradeoff.extrapolated(EXACT)
    if seconds is not None:
        text += f"; all {tradeoff.rows:,} would take about {duration(seconds)}, by extrapolation"
    return f"{text}."
