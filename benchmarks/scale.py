"""Seconds and error of a classifier and an exact SVC for growing data: the README's figure."""

import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_gaussian_quantiles
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from benchmarks.harness import Bar, benchmark, machine
from skimp import KernelClassifier

_FIGURE = Path(__file__).parent / "results" / "scale.png"
"""The README shows a copy in docs/images."""
_SIZES = [1_000, 2_500, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000]
_MODELS = {"skimp.KernelClassifier": lambda: KernelClassifier(random_state=0), "SVC": SVC}
_COLORS = {"skimp.KernelClassifier": "#c2410c", "SVC": "#1d4ed8"}


@benchmark
def scale() -> list[Bar]:
    """Fit both with their defaults to 1,000 to 200,000 rows of the README's problem."""
    X, y = make_gaussian_quantiles(n_samples=220_000, n_features=10, n_classes=3, random_state=0)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=20_000, random_state=0)
    KernelClassifier(random_state=0).fit(X_train[:500], y_train[:500])  # compile first
    found: dict[str, list[tuple[int, float, float, float]]] = {}
    for name, make in _MODELS.items():
        for n in _SIZES:
            start = time.perf_counter()
            model = make().fit(X_train[:n], y_train[:n])
            fitted = time.perf_counter()
            error = float(np.mean(model.predict(X_test) != y_test))
            seconds = fitted - start, time.perf_counter() - fitted
            found.setdefault(name, []).append((n, error, *seconds))
    _draw(found)
    return [
        Bar(f"{name}, {n:,} rows: error", error, None, details={"fit": fit, "predict": predict})
        for name, points in found.items()
        for n, error, fit, predict in points
    ]


def _draw(found: dict[str, list[Any]]) -> None:
    from matplotlib import pyplot as plt
    from matplotlib.ticker import NullFormatter

    figure, panels = plt.subplots(1, 3, figsize=(10.5, 3.6), layout="constrained")
    titles = "seconds to fit", "test error, %", "seconds to predict 20,000 rows"
    for name, points in found.items():
        rows, errors, fit, predict = map(np.array, zip(*points, strict=True))
        for axes, values in zip(panels, (fit, 100 * errors, predict), strict=True):
            axes.loglog(rows, values, "o-", color=_COLORS[name], label=name, ms=4, lw=2)
    for axes, title in zip(panels, titles, strict=True):
        axes.set_title(title, loc="left", fontsize=11)
        axes.set_xlabel("training rows")
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.grid(True, alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    panels[1].set_yticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
    panels[0].legend(frameon=False)
    about = machine()
    note = f"{about['processor']}, {about['cores']} cores, scikit-learn {about['scikit-learn']}"
    figure.supxlabel(note, fontsize=7, color="#6b7280", x=0.99, ha="right")
    _FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(_FIGURE, dpi=150)
