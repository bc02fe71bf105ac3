"""Benchmarks of KRLS: coverage, the data sets of a thesis, seconds and memory."""

from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.datasets import Array, whole
from benchmarks.harness import Bar, benchmark, best_times, in_fresh_process
from skimp import KRLS
from skimp.effects import Points, RowSample, Sketch
from skimp.recipes import POWERS

TABLE = Path(__file__).parent / "results" / "krls.md"
_REPETITIONS = 300
_SETS = {
    "concrete": True,
    "airfoil": True,
    "wine_quality_white": True,
    "naval_propulsion": False,
    "appliances_energy": True,
}
"""Data sets, and whether a tenth of the points should reach the error of the exact model."""

_METHODS: dict[str, dict[str, Any]] = {
    "exact": {},
    "k-means, 10 %": {"approximation": Points("kmeans", 0.1)},
    "k-means, 20 %": {"approximation": Points("kmeans", 0.2)},
    "k-means, 30 %": {"approximation": Points("kmeans", 0.3)},
    "sampled points, 10 %": {"approximation": Points("uniform", 0.1)},
    "RPCholesky, 10 %": {"approximation": Points("rpcholesky", 0.1)},
    "sample alone, 10 %": {"approximation": RowSample(0.1)},
    "gaussian sketch, 10 %": {"approximation": Sketch("gaussian", 0.1)},
    "achlioptas sketch, 10 %": {"approximation": Sketch("achlioptas", 0.1)},
    "sign sketch, 10 %": {"approximation": Sketch("sign", 0.1)},
    "very sparse sketch, 10 %": {"approximation": Sketch("very_sparse", 0.1)},
}


def surface(name: str, n: int, rng: np.random.Generator) -> tuple[Array, Array, Array, Any]:
    """Return rows, the regression surface, its effects at the rows, and the deviation of errors."""
    if name == "linear":
        X = rng.normal(size=(n, 3))
        X[:, 1] += 0.5 * X[:, 0]
        return X, X[:, 0] + 0.5 * X[:, 1], np.tile([1.0, 0.5, 0.0], (n, 1)), 1.0
    if name == "curved":
        X = rng.uniform(-2, 2, size=(n, 3))
        f = np.sin(X[:, 0]) + 0.5 * X[:, 1] * X[:, 2]
        return X, f, np.column_stack([np.cos(X[:, 0]), 0.5 * X[:, 2], 0.5 * X[:, 1]]), 0.5
    if name == "treated":
        X = rng.normal(size=(n, 3))
        X[:, 2] = rng.random(n) < 1 / (1 + np.exp(-X[:, 0]))
        f = 0.5 * X[:, 0] ** 2 + X[:, 2] * (1 + X[:, 1])
        return X, f, np.column_stack([X[:, 0], X[:, 2], 1 + X[:, 1]]), 1.0
    if name == "unequal variances":
        X = rng.normal(size=(n, 2))
        f = X[:, 0] + np.sin(X[:, 1])
        effects = np.column_stack([np.ones(n), np.cos(X[:, 1])])
        return X, f, effects, 0.2 + np.abs(X[:, 0])
    if name == "ten columns":
        X = rng.normal(size=(n, 10))
        f = X[:, 0] + 0.5 * X[:, 1] * X[:, 2]
        effects = np.zeros((n, 10))
        effects[:, :3] = np.column_stack([np.ones(n), 0.5 * X[:, 2], 0.5 * X[:, 1]])
        return X, f, effects, 1.0
    X = rng.uniform(-2, 2, size=(n, 2))
    wave, slope = np.sin(4 * X[:, 0]), 4 * np.cos(4 * X[:, 0])
    if name == "step":
        wave, slope = np.tanh(8 * X[:, 0]), 8 / np.cosh(8 * X[:, 0]) ** 2
    return X, wave + X[:, 1], np.column_stack([slope, np.ones(n)]), 0.5


def _covered(name: str, number: int, options: dict[str, Any]) -> dict[str, list[float]]:
    """Return the share of intervals of each effect that contain its average at the rows."""
    kinds: dict[str, dict[str, Any]] = {
        "corrected": {},
        "plain": {"corrected": False},
        "robust": {"errors": "robust"},
    }
    covered: dict[str, list[Array]] = {kind: [] for kind in [*kinds, "bias in standard errors"]}
    for repetition in range(_REPETITIONS):
        rng = np.random.default_rng([number, repetition])
        X, f, effects, noise = surface(name, 400, rng)
        y = f + noise * rng.normal(size=len(f))
        model = KRLS(random_state=0, **options).fit(X, y)
        truth = effects.mean(axis=0)
        for kind, chosen in kinds.items():
            s = model.summary(**chosen)
            covered[kind].append((s.ci_low <= truth) & (truth <= s.ci_high))
            if kind == "plain":
                covered["bias in standard errors"].append((s.effect - truth) / s.std_error)
    return {kind: np.mean(found, axis=0).round(3).tolist() for kind, found in covered.items()}


@benchmark
def krls_coverage() -> list[Bar]:
    """Count how often intervals contain the average effect of the surface at the rows."""
    bars = []
    for method in ("exact", "k-means, 10 %"):
        for number, name in enumerate(("linear", "curved", "treated")):
            shares = _covered(name, number, _METHODS[method])
            title, least = f"coverage, {name}, {method}", min(shares["corrected"])
            bars.append(Bar(f"{title}: least", least, 0.92, at_least=True, details=shares))
            bars.append(Bar(f"{title}: most", max(shares["corrected"]), 0.98))
    for number, name in enumerate(("waves", "step", "ten columns", "unequal variances"), start=3):
        shares = _covered(name, number, {})
        least = min(shares["corrected"])
        bars.append(Bar(f"coverage, {name}: least", least, None, details=shares))
    return bars


def _split(name: str) -> tuple[Array, Array, Array, Array]:
    X, y = whole(name)
    X, y = X.astype(np.float64), np.asarray(y, np.float64)
    y = y[:, 1] if y.ndim == 2 else y
    order = np.random.default_rng(0).permutation(len(X))
    train, test = np.split(order, [round(0.7 * len(X))])
    return X[train], y[train], X[test], y[test]


@benchmark
def krls_study() -> list[Bar]:
    """Fit the five data sets of the thesis, with its penalties and bandwidth, by every method."""
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    bars, lines = [], []
    for name, close in _SETS.items():
        X, y, X_test, y_test = _split(name)
        measured: dict[str, tuple[float, float]] = {}
        dimensions: dict[str, float] = {}
        ridge = make_pipeline(StandardScaler(), RidgeCV(POWERS))
        models = {"ridge": ridge} | {
            method: KRLS(lams=POWERS, random_state=0, **options)
            for method, options in _METHODS.items()
        }
        for method, model in models.items():
            start = perf_counter()
            model.fit(X, y)
            seconds = perf_counter() - start
            error = float(np.mean((y_test - model.predict(X_test)) ** 2))
            measured[method] = seconds, error
            dimensions[method] = float(getattr(model, "dimension_", X.shape[1] + 1))
            lines.append(f"| {name} | {len(X):,} | {method} | {seconds:.2f} | {error:.4g} |")
        (exact_time, exact), (time, error) = measured["exact"], measured["k-means, 10 %"]
        details = {"exact": exact, "k-means": error, "variance": float(np.var(y_test))}
        details |= {"20 %": measured["k-means, 20 %"][1] / exact}
        details |= {"30 %": measured["k-means, 30 %"][1] / exact}
        details |= {"points": round(0.1 * len(X)), "exact dimension": dimensions["exact"]}
        limit = 1.05 if close else None
        bars.append(Bar(f"{name}: MSPE / exact", error / exact, limit, details=details))
        limit = 0.1 if name in ("wine_quality_white", "appliances_energy") else None
        details = {"exact": exact_time, "k-means": time}
        bars.append(Bar(f"{name}: time / exact", time / exact_time, limit, details=details))
    _write(lines, _simulations())
    return bars


def _simulations() -> list[str]:
    """Return rows of a table of the thesis' simulations: sums of sines and cosines, 1,000 rows."""
    lines = []
    for noise in (0.0, 1.0):
        for d in range(1, 7):
            rng = np.random.default_rng(d)
            X = rng.uniform(-np.pi, np.pi, size=(1000, d))
            f = (np.sin(X) + np.cos(X)).sum(axis=1)
            y = f + noise * rng.normal(size=len(f))
            for method in ("exact", "k-means, 10 %", "sample alone, 10 %", "gaussian sketch, 10 %"):
                options = _METHODS[method]
                model = KRLS(lams=POWERS, sigmas=POWERS, random_state=0, **options)
                start = perf_counter()
                model.fit(X[:700], y[:700])
                seconds = perf_counter() - start
                error = np.mean((y[700:] - model.predict(X[700:])) ** 2)
                sigma, n = (1 / (2 * model.kernel_.gamma)) ** 0.5, len(model.loo_residuals_)
                lines.append(
                    f"| {d} | {noise:g} | {method} | {model.alpha_ * n:.4g} | {sigma:.4g} | "
                    f"{seconds:.2f} | {error:.3g} |"
                )
    return lines


def _write(study: list[str], simulations: list[str]) -> None:
    head = "| data | rows | method | seconds | MSPE |\n|---|---|---|---|---|"
    other = (
        "| d | noise | method | lambda | sigma | seconds | MSPE |\n|---|---|---|---|---|---|---|"
    )
    TABLE.write_text("\n".join([head, *study, "", other, *simulations, ""]))


@benchmark
def krls_speed() -> list[Bar]:
    """Time the exact model with effects and standard errors relative to one KernelRidge fit."""
    from sklearn.kernel_ridge import KernelRidge

    def data(n: int) -> tuple[Array, Array]:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, 10))
        return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n)

    def explain(X: Array, y: Array) -> None:
        model = KRLS().fit(X, y)
        model.effects()
        model.summary()

    explain(*data(300))
    X, y = data(8000)
    times = best_times(
        2,
        krls=lambda: explain(X, y),
        ridge=lambda: KernelRidge(kernel="rbf", gamma=0.05, alpha=1.0).fit(X, y),
    )
    small = best_times(3, krls=lambda: explain(*data(2000)))["krls"]
    ratio = times["krls"] / times["ridge"]
    return [
        Bar("exact, n = 8,000, d = 10: times KernelRidge's fit", ratio, 14, details=times),
        Bar("exact, n = 2,000, d = 10: seconds", small, 4),
        _memory(8000, None, 8 * 8000**2, 3, "n x n arrays"),
        *_million(),
    ]


_CODE = """
import json, time
import numpy as np
from benchmarks.harness import peak_bytes
from skimp import KRLS
n, approximation = {n}, {approximation}
rng = np.random.default_rng(0)
X = rng.normal(size=(n, 10))
y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n)
KRLS(approximation=approximation and 50).fit(X[:300], y[:300]).summary()
before, start = peak_bytes(), time.perf_counter()
model = KRLS(approximation=approximation, random_state=0).fit(X, y)
fitted = time.perf_counter()
effects = model.effects()
summary = model.summary()
print(json.dumps({{"seconds": time.perf_counter() - start, "fit": fitted - start,
                  "added": peak_bytes() - before, "peak": peak_bytes()}}))
"""


def _memory(n: int, approximation: int | None, unit: float, limit: float, words: str) -> Bar:
    found = in_fresh_process(_CODE.format(n=n, approximation=approximation))
    return Bar(f"exact, n = {n:,}: {words}", found["added"] / unit, limit, details=found)


def _million() -> list[Bar]:
    found = in_fresh_process(_CODE.format(n=1_000_000, approximation=1000))
    title = "n = 1,000,000, d = 10, 1,000 points"
    return [
        Bar(f"{title}: seconds", found["seconds"], 90, details=found),
        Bar(f"{title}: peak GB", found["peak"] / 1e9, 3),
    ]
