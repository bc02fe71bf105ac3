"""The demonstration: four problems, each with a table and a conclusion from its numbers."""

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import skimp
from skimp._params._memory import readable
from skimp.cli._problems import (
    COVERS,
    EFFECTS,
    ENTERS,
    MEASURED,
    land,
    noisy_classes,
    treated_rows,
)
from skimp.cli._screen import Screen

TREES, FOREST, SVC = "boosted trees", "random forest", "SVC"


@dataclass(frozen=True)
class Sizes:
    """Training rows of the four problems, rows to predict, and rows of the fit that compiles."""

    table: int = 40_000
    tested: int = 20_000
    exact: int = 20_000
    predicted: int = 100_000
    effects: int = 1_000_000
    auto: int = 100_000
    compiled: int = 9_000


QUICK = Sizes(1_000, 1_000, 1_000, 2_000, 2_000, 1_000, 500)


@dataclass(frozen=True)
class Run:
    """A fitted model: its accuracy, and the seconds of its fit and of its predictions."""

    model: str
    accuracy: float
    fit: float
    predict: float


def run_demo(quick: bool = False) -> None:
    """Run the four problems and print what they show."""
    import sklearn

    screen, sizes, start = Screen(), QUICK if quick else Sizes(), perf_counter()
    screen.say(
        f"skimp {skimp.__version__}, scikit-learn {sklearn.__version__}, {os.cpu_count()} cores, "
        f"{platform.system()} {platform.machine()}",
        "bold",
    )
    screen.say(
        "All data are generated. Other models have their default parameters, with which the random "
        "forest and SVC use one core. Times are wall-clock seconds without compiling, the best of "
        "3 runs if they are below 1 s. On a busy machine boosted trees are much slower."
    )
    with screen.step("Compiling"):
        seconds, _ = timed(lambda: _compile(sizes.compiled), repeat=False)
    screen.say(f"Compiled in {seconds:.0f} s. Later runs take the compiled code from a cache.")
    for act in (_mixed_table, _prediction, _effects, _automatic):
        screen.show()
        act(screen, sizes)
    screen.show()
    screen.say(f"Total: {perf_counter() - start:.0f} s.", "bold")
    screen.show("Next: model = skimp.KernelClassifier().fit(X, y); print(model.certificate_)")
    screen.show(
        "      skimp.diagnostics.plan(model, X.shape) predicts seconds and memory of a fit."
    )


def timed(call: Callable[[], Any], *, repeat: bool = True) -> tuple[float, Any]:
    """Return the seconds of a call, the best of three if it is quick, and its result."""
    seconds: list[float] = []
    while not seconds or (repeat and len(seconds) < 3 and sum(seconds) < 1):
        start = perf_counter()
        result = call()
        seconds.append(perf_counter() - start)
    return min(seconds), result


def _compile(rows: int) -> None:
    """Fit small models that call what the four problems call."""
    from skimp.features import RandomBinning

    X, y = land(500, seed=2)
    grids = RandomBinning(n_grids=8)
    skimp.KernelClassifier(approximation=grids, random_state=0).fit(X, y).predict(X)
    X, y, _ = noisy_classes(rows, seed=2)
    skimp.KernelClassifier(random_state=0).fit(X, y).predict(X)
    X, y, _ = treated_rows(500, seed=2)
    skimp.KRLS(approximation=20, random_state=0).fit(X, y).summary()


def _mixed_table(screen: Screen, sizes: Sizes) -> None:
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import RidgeClassifier

    from skimp.features import RandomBinning

    X, y = land(sizes.table, seed=0)
    X_test, y_test = land(sizes.tested, seed=1)
    screen.say(
        f"1. Sharp borders: {len(X):,} rows, {MEASURED} measurements and {X.shape[1] - MEASURED} "
        f"indicators, {COVERS} classes",
        "bold cyan",
    )
    screen.say(
        "Cells of a map, whose class is constant in small patches, as in forest cover data. The "
        "table and the number of grids were chosen to suit random binning, which sums piecewise "
        "constant models on random grids; on other tables, trees can be as fast or faster."
    )
    models = {
        "linear": RidgeClassifier(),
        TREES: HistGradientBoostingClassifier(random_state=0),
        FOREST: RandomForestClassifier(random_state=0),
        "skimp, 32 grids": skimp.KernelClassifier(
            approximation=RandomBinning(n_grids=32), random_state=0
        ),
    }
    runs = []
    for name, model in models.items():
        with screen.step(f"Fitting {name}"):
            fit, _ = timed(partial(model.fit, X, y))
            predict, labels = timed(partial(model.predict, X_test))
        runs.append(Run(name, float((labels == y_test).mean()), fit, predict))
    screen.table(
        ("model", "accuracy", "fit (s)", f"predict {len(X_test):,} rows (s)"),
        [(r.model, f"{r.accuracy:.1%}", _seconds(r.fit), _seconds(r.predict)) for r in runs],
    )
    screen.say(compare_fits(runs[-1], runs[1:-1]), "bold")


def _prediction(screen: Screen, sizes: Sizes) -> None:
    from sklearn.svm import SVC as ExactSVC

    X, y, _ = noisy_classes(sizes.exact, seed=0)
    X_test, y_test, _ = noisy_classes(sizes.predicted, seed=1)
    judged = len(X_test) // 10
    screen.say(f"2. Fast predictions: {len(X):,} rows of two overlapping classes", "bold cyan")
    screen.say(
        "An SVC compares every new row with its support vectors, which grow with the data; skimp "
        "compares it with a fixed number of landmarks."
    )
    exact, reduced = ExactSVC(), skimp.KernelClassifier("rbf", approximation=500, random_state=0)
    with screen.step(f"Fitting {SVC}"):
        fit, _ = timed(lambda: exact.fit(X, y))
        predict, labels = timed(lambda: exact.predict(X_test[:judged]))
    accuracy = float((labels == y_test[:judged]).mean())
    theirs = Run(SVC, accuracy, fit, predict * len(X_test) / judged)
    with screen.step("Fitting skimp"):
        fit, _ = timed(lambda: reduced.fit(X, y))
        predict, labels = timed(lambda: reduced.predict(X_test))
    ours = Run("skimp", float((labels[:judged] == y_test[:judged]).mean()), fit, predict)
    rows = (
        (theirs, f"{len(exact.support_):,} support vectors", "extrapolated"),
        (ours, "500 landmarks", "measured"),
    )
    screen.table(
        (
            "model",
            "accuracy",
            "fit (s)",
            "compares with",
            f"predict {len(X_test):,} rows (s)",
            "time",
        ),
        [
            (r.model, f"{r.accuracy:.1%}", _seconds(r.fit), points, _seconds(r.predict), kind)
            for r, points, kind in rows
        ],
    )
    screen.say(
        f"{compare_predictions(ours, theirs)} The time of {SVC} is extrapolated from {judged:,} "
        "rows. Both accuracies refer to these rows.",
        "bold",
    )


def _effects(screen: Screen, sizes: Sizes) -> None:
    X, y, truth = treated_rows(sizes.effects, seed=0)
    screen.say(f"3. Effects with standard errors: a regression on {len(X):,} rows", "bold cyan")
    screen.say(
        "KRLS fits a surface without a formula. It reports the average slope of each column, or "
        "the difference between 0 and 1."
    )
    model = skimp.KRLS(approximation=100, random_state=0)
    with screen.step("Fitting KRLS"):
        seconds, table = timed(lambda: model.fit(X, y).summary(), repeat=False)
    rows = zip(
        EFFECTS, ENTERS, truth, table.effect, table.std_error, table.ci_low, table.ci_high,
        strict=True,
    )  # fmt: skip
    screen.table(
        ("column", "adds to y", "true effect", "estimate", "std. error", "nominal 95 % interval"),
        [
            (name, form, f"{true:.4f}", f"{effect:.4f}", f"{error:.4f}", f"{low:.4f} to {high:.4f}")
            for name, form, true, effect, error, low, high in rows
        ],
    )
    inside = int(((table.ci_low <= truth) & (truth <= table.ci_high)).sum())
    screen.say(count_covered(inside, len(truth), len(X), seconds), "bold")


def _automatic(screen: Screen, sizes: Sizes) -> None:
    X, y, _ = noisy_classes(sizes.auto, seed=0)
    X_test, y_test, ceiling = noisy_classes(sizes.tested, seed=1)
    screen.say(f"4. No parameters: KernelClassifier() on {len(X):,} rows", "bold cyan")
    screen.say(
        "The kernel, its bandwidth, the approximation, its size and the penalty are chosen on "
        "held-out rows. The certificate says what was chosen and why."
    )
    model = skimp.KernelClassifier(random_state=0)
    with screen.step("Choosing and fitting"):
        seconds, _ = timed(lambda: model.fit(X, y), repeat=False)
    screen.show()
    screen.show(str(model.certificate_))
    screen.show()
    screen.say(judge_choice(model.score(X_test, y_test), ceiling, seconds), "bold")


def compare_fits(ours: Run, others: Sequence[Run]) -> str:
    """Compare accuracy and fit time with those of other models."""
    return " ".join(
        f"skimp is {_points(ours.accuracy, other.accuracy)} the {other.model}, and fits "
        f"{_speed(ours.fit, other.fit)}."
        for other in others
    )


def compare_predictions(ours: Run, theirs: Run) -> str:
    """Compare the time of predictions, and accuracy, with those of another model."""
    return (
        f"skimp predicts {_speed(ours.predict, theirs.predict)} than {theirs.model}, and "
        f"it is {_points(ours.accuracy, theirs.accuracy)} {theirs.model}."
    )


def count_covered(inside: int, total: int, rows: int, seconds: float) -> str:
    """Count the intervals that contain the true effect, and size up the exact model."""
    return (
        f"{inside} of {total} intervals contain the true effect. Fit and effects took "
        f"{seconds:.1f} s. The exact model would need {readable(8 * rows**2)} for its kernel "
        "matrix (computed: 8 bytes for each pair of rows)."
    )


def judge_choice(accuracy: float, ceiling: float, seconds: float) -> str:
    """Compare the accuracy with that of the rule that drew the labels."""
    return (
        f"Accuracy {accuracy:.1%} after {seconds:.0f} s, search included. This is "
        f"{_points(accuracy, ceiling)} the rule that drew the labels ({ceiling:.1%})."
    )


def _points(ours: float, theirs: float) -> str:
    difference = round(100 * (ours - theirs), 1)
    if not difference:
        return "as accurate as"
    return f"{abs(difference):.1f} points {'more' if difference > 0 else 'less'} accurate than"


def _speed(ours: float, theirs: float) -> str:
    ratio = max(ours, theirs) / min(ours, theirs)
    text = f"{ratio:,.0f}" if ratio >= 9.95 else f"{ratio:.1f}"
    return f"{text} times {'faster' if ours <= theirs else 'slower'}"


def _seconds(value: float) -> str:
    return f"{value:.3f}" if value < 0.1 else f"{value:.1f}"
