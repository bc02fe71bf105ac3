"""Accuracy against training time for growing data: the figure of the README."""

import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_gaussian_quantiles
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from benchmarks.harness import Bar, benchmark, machine
from skimp import KernelClassifier

_FIGURE = Path(__file__).parent.parent / "docs" / "images" / "scale.png"
_SIZES = [1_000, 2_500, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000]
_MOST = {"SVC": 50_000}
_MODELS = {
    "skimp.KernelClassifier": lambda: KernelClassifier(random_state=0),
    "SVC": SVC,
    "HistGradientBoosting": lambda: HistGradientBoostingClassifier(random_state=0),
}


@benchmark
def scale() -> list[Bar]:
    """Fit three models with their defaults to 1,000 to 200,000 rows of the README's problem."""
    X, y = make_gaussian_quantiles(n_samples=220_000, n_features=10, n_classes=3, random_state=0)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=20_000, random_state=0)
    KernelClassifier(random_state=0).fit(X_train[:500], y_train[:500])  # compile first
    found: dict[str, list[tuple[int, float, float, float]]] = {}
    for name, make in _MODELS.items():
        for n in _SIZES:
            if n > _MOST.get(name, n):
                continue
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

    figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
    colors = {"skimp.KernelClassifier": "#c2410c", "SVC": "#1d4ed8"}
    for name, points in found.items():
        rows, errors, fit, _ = map(np.array, zip(*points, strict=True))
        color = colors.get(name, "#6b7280")
        axes.loglog(fit, 100 * errors, "o-", color=color, label=name, ms=5, lw=2)
        for n, seconds, error in zip(rows, fit, errors, strict=True):
            if n in (1_000, 10_000, 50_000, 200_000):
                place = (seconds, 100 * error)
                axes.annotate(f"{n:,}", place, (5, 5), textcoords="offset points", fontsize=8)
    axes.set(xlabel="seconds to fit", ylabel="test error, %")
    axes.set_title("Three classes in ten columns: each point is labelled with its training rows")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("{x:g}")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.grid(True, which="both", alpha=0.2)
    axes.legend(frameon=False)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    about = machine()
    note = f"{about['processor']}, {about['cores']} cores, scikit-learn {about['scikit-learn']}"
    figure.supxlabel(note, fontsize=7, color="#6b7280", x=0.99, ha="right")
    _FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(_FIGURE, dpi=150)
