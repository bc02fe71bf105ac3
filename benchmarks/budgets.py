"""Benchmarks of landmark selection: speed, accuracy, and quality measures before training."""

from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from benchmarks.datasets import train_test, whole
from benchmarks.harness import Bar, benchmark, best_times
from skimp import KernelClassifier, KernelRegressor
from skimp.budgets import (
    DBH,
    Agglomerative,
    Balanced,
    Budget,
    ColumnSubset,
    Fixed,
    KMeans,
    Leverage,
    RPCholesky,
    Selector,
    Uniform,
)
from skimp.diagnostics import budget_quality
from skimp.features import Nystroem
from skimp.kernels import Chi2, Gaussian, Kernel, Linear, Polynomial

RBF = Gaussian(gamma=0.02)
TABLE = Path(__file__).parent / "results" / "selectors.md"
SIZES = (10, 20, 40, 80, 160, 320, 640, 1280)
SELECTORS: dict[str, Selector] = {
    "uniform": Uniform(),
    "uniform, by class": Uniform(stratify="class"),
    "uniform, by cluster": Uniform(stratify="cluster"),
    "k-means": KMeans(),
    "k-means, nearest rows": KMeans(points="rows"),
    "k-means of each class": Balanced(KMeans()),
    "DBH": DBH(),
    "DBH, one member": DBH(members=1),
    "DBH, interval bits": DBH(hashing="interval"),
    "DBH, floor": DBH(hashing="floor"),
    "column subset": ColumnSubset(),
    "agglomerative": Agglomerative(),
    "agglomerative, centres": Agglomerative(points="centres"),
    "bisecting, centres": Agglomerative(linkage="bisecting", points="centres"),
    "leverage": Leverage(),
    "RPCholesky": RPCholesky(),
}
THESIS = {
    "thesis, SGD, random": (58.0, 70.2, 77.2, 81.7, 84.3, 86.0, 87.2, 87.8),
    "thesis, SGD, DBH": (62.0, 73.6, 78.9, 82.2, 84.5, 85.9, 87.0, 87.5),
}
"""Castellanos (2021), Scalable kernel methods using randomized numerical linear algebra: table 5-1,
RBF."""


@cache
def _mnist() -> tuple[Any, Any, Any, Any]:
    X, y, X_test, y_test = train_test("mnist")
    pixels = [(A / 255.0).astype(np.float32) for A in (X, X_test)]
    return pixels[0], y.astype(int), pixels[1], y_test.astype(int)


@cache
def _appliances() -> tuple[Any, Any, Any, Any]:
    X, y = whole("appliances_energy")
    X = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[: 3 * len(X) // 4], order[3 * len(X) // 4 :]
    return X[train], y[train], X[test], y[test]


def _choose(
    selector: Selector, size: int, seed: int, X: Any, y: Any, kernel: Kernel = RBF
) -> tuple[Budget, float]:
    start = perf_counter()
    budget = selector.select(X, size, kernel, np.random.default_rng(seed), y)
    return budget, perf_counter() - start


def _error(budget: Budget, data: tuple[Any, Any, Any, Any], kernel: Kernel, alpha: float) -> float:
    """Return the test error of least squares on a budget: wrong labels, or 1 - R^2."""
    X, y, X_test, y_test = data
    points = Nystroem(budget=len(budget.points), selector=Fixed(budget.points))
    model = KernelClassifier if y.dtype.kind == "i" else KernelRegressor
    fitted = model(kernel, approximation=points, loss="squared", alpha=alpha).fit(X, y)
    return 1 - float(fitted.score(X_test, y_test))


@benchmark
def selection_speed() -> list[Bar]:
    """Time RPCholesky and DBH relative to one block of the kernel matrix."""
    X = _mnist()[0]
    B = X[:1000].copy()
    best = best_times(
        5,
        block=lambda: RBF(X, B),
        rpcholesky=lambda: _choose(RPCholesky(), 1000, 0, X, None),
        dbh=lambda: _choose(DBH(), 1280, 0, X, None),
    )
    few = X[:2000]
    eigenvalues = np.linalg.eigvalsh(RBF(few.astype(np.float64)))
    residuals = [
        budget_quality(_choose(RPCholesky(), 100, seed, few, None)[0], RBF, few).residual_trace
        for seed in range(10)
    ]
    return [
        Bar(
            "RPCholesky(1000) / block of MNIST", best["rpcholesky"] / best["block"], 3, details=best
        ),
        Bar("DBH(1280) / block of MNIST", best["dbh"] / best["block"], 0.5),
        Bar(
            "RPCholesky(100), residual trace / best of rank 100",
            float(np.mean(residuals)) * len(few) / float(eigenvalues[:-100].sum()),
            1.5,
        ),
    ]


@cache
def _accuracy(name: str, size: int, seed: int) -> tuple[float, float]:
    """Return the percentage of MNIST's test rows that are labelled correctly, and the seconds."""
    X, y, _, _ = _mnist()
    budget, seconds = _choose(SELECTORS[name], size, seed, X, y)
    return 100 - 100 * _error(budget, _mnist(), RBF, 1e-6), seconds


@benchmark
def kmeans_lead() -> list[Bar]:
    """Measure the gain in accuracy of k-means over uniform rows at small budgets."""
    bars = []
    for size, limit in ((20, 5), (40, 4)):
        mean = {
            name: float(np.mean([_accuracy(name, size, seed)[0] for seed in range(10)]))
            for name in ("uniform", "k-means", "k-means of each class")
        }
        lead = mean["k-means"] - mean["uniform"]
        bars.append(Bar(f"k-means - uniform, {size} points", lead, limit, True, mean))
    return bars


@benchmark
def default_budget() -> list[Bar]:
    """Divide the test error of the default rule by that of uniform rows: 1,000 points, 3 seeds."""
    bars = []
    for name in ("mnist", "fashion_mnist", "usps", "isolet", "ijcnn1", "a9a", "covtype"):
        X, y, X_test, y_test = _scaled(name)
        kernel = Gaussian("median")
        error: dict[str, list[float]] = {"uniform": [], "auto": []}
        seconds: dict[str, float] = {}
        for seed in range(3):
            for rule, errors in error.items():
                points = Nystroem(budget=1000, selector=rule)
                start = perf_counter()
                model = KernelClassifier(
                    kernel, approximation=points, loss="squared", random_state=seed
                ).fit(X, y)
                seconds[rule] = min(perf_counter() - start, seconds.get(rule, np.inf))
                errors.append(100 - 100 * model.score(X_test, y_test))
        mean = {rule: float(np.mean(errors)) for rule, errors in error.items()}
        details = {**mean, **{f"{rule}, seconds": s for rule, s in seconds.items()}}
        bars.append(Bar(f"error, {name}", mean["auto"] / mean["uniform"], 1, details=details))
    return bars


def _scaled(name: str) -> tuple[Any, Any, Any, Any]:
    """Return a labelled set with standardized columns, or pixels between 0 and 1."""
    if name == "covtype":
        X, y = whole(name)
        order = np.random.default_rng(0).permutation(len(X))
        train, test = order[:100_000], order[100_000:120_000]
        X, y, X_test, y_test = X[train], y[train], X[test], y[test]
    else:
        X, y, X_test, y_test = train_test(name)
    X, X_test = (A.toarray() if hasattr(A, "toarray") else A for A in (X, X_test))
    pixels = "mnist" in name or name == "usps"
    centre, spread = (0.0, np.abs(X).max()) if pixels else (X.mean(axis=0), X.std(axis=0))
    spread = np.where(spread > 0, spread, 1)
    X, X_test = (((A - centre) / spread).astype(np.float32) for A in (X, X_test))
    return X, y, X_test, y_test


@benchmark
def selector_table() -> Bar:
    """Write a table of every selector at eight sizes on MNIST, next to table 5-1 of the thesis."""
    lines = [f"| | {' | '.join(map(str, SIZES))} |", "|---" * (len(SIZES) + 1) + "|"]
    times = list(lines)
    spread = 0.0
    for name in SELECTORS:
        cells, seconds = [], []
        for size in SIZES:
            seeds = range(4 if size <= 80 else 2 if size <= 320 else 1)
            found = np.array([_accuracy(name, size, seed) for seed in seeds])
            cells.append(f"{found[:, 0].mean():.1f}")
            seconds.append(f"{found[:, 1].min():.2f}")
            spread = max(spread, found[:, 0].std())
        lines.append(f"| {name} | {' | '.join(cells)} |")
        times.append(f"| {name} | {' | '.join(seconds)} |")
        print(lines[-1], flush=True)
    lines += [f"| {name} | {' | '.join(map(str, row))} |" for name, row in THESIS.items()]
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    TABLE.write_text("\n".join([*lines, "", "Seconds to choose:", "", *times]) + "\n")
    return Bar(f"largest standard deviation in {TABLE.name}", spread, None)


@benchmark
def dbh_under_sgd() -> list[Bar]:
    """Subtract the accuracy of uniform rows from that of DBH, with SGD and at the optimum."""
    X, y, _, _ = _mnist()
    bars = []
    for kernel in (RBF, Linear()):
        for size in (10, 20, 40, 80):
            lead: dict[str, list[float]] = {"SGD": [], "least squares": []}
            for seed in range(5):
                scores = []
                for rule in ("uniform", "DBH"):
                    budget, _ = _choose(SELECTORS[rule], size, seed, X, y, kernel)
                    sgd = _sgd_accuracy(budget.points, kernel, seed)
                    scores.append((sgd, 100 - 100 * _error(budget, _mnist(), kernel, 1e-6)))
                for name, difference in zip(lead, np.subtract(*scores[::-1]), strict=True):
                    lead[name].append(difference)
            name = f"DBH - uniform, {type(kernel).__name__}, {size} points, least squares"
            mean, error = (
                float(np.mean(lead["SGD"])),
                float(np.std(lead["SGD"], ddof=1) / np.sqrt(5)),
            )
            details = {"SGD": mean, "its standard error": error}
            bars.append(Bar(name, float(np.mean(lead["least squares"])), None, details=details))
    return bars


def _sgd_accuracy(B: Any, kernel: Kernel, seed: int, *, batch: int = 100, epochs: int = 2) -> float:
    """Minimise the hinge loss by algorithm 2 of the thesis, C = 1, with a step that decreases."""
    X, y, X_test, y_test = _mnist()
    Y = np.where(y[:, None] == np.arange(10), 1, -1).astype(np.float32)
    K, K_mm = kernel(X, B), kernel(B)
    scale = 1 / float(np.mean(kernel.diag(B)))
    coef, intercept = np.zeros((len(B), 10), np.float32), np.zeros(10, np.float32)
    rng = np.random.default_rng(seed)
    step = 0
    for _ in range(epochs):
        for rows in np.array_split(rng.permutation(len(X)), len(X) // batch):
            step += 1
            rate = np.float32(scale / np.sqrt(1 + step / 600))
            wrong = np.where(Y[rows] * (K[rows] @ coef + intercept) < 1, Y[rows], 0)
            shrink = 2 / len(X) * (K_mm @ coef)
            coef -= rate * (shrink - K[rows].T @ wrong / len(rows)).astype(np.float32)
            intercept += rate * wrong.mean(axis=0)
    labels = (kernel(X_test, B) @ coef + intercept).argmax(axis=1)
    return 100 * float(np.mean(labels == y_test))


@benchmark
def kernel_dependence() -> list[Bar]:
    """Compute rank correlations of the quality of landmarks between kernels."""
    X, y, X_test, y_test = _mnist()
    data = X[:10_000], y[:10_000], X_test, y_test
    kernels: dict[str, Kernel] = {
        "linear": Linear(),
        "polynomial": Polynomial(degree=2, gamma=0.02),
        "RBF": RBF,
        "chi-square": Chi2(gamma=0.02),
    }
    rules = ("uniform", "k-means", "k-means of each class", "DBH", "agglomerative", "RPCholesky")
    budgets = [_choose(SELECTORS[rule], 40, seed, X, y)[0] for rule in rules for seed in range(4)]
    missed = {
        name: [budget_quality(b, kernel, X).residual_trace for b in budgets]
        for name, kernel in kernels.items()
    }
    errors = {
        name: [_error(b, data, kernel, 1e-6) for b in budgets] for name, kernel in kernels.items()
    }
    bars = []
    for what, values in (("residual trace", missed), ("test error", errors)):
        for name in kernels:
            ranks = {
                other: float(spearmanr(values[name], values[other]).statistic)
                for other in kernels
                if other != name
            }
            least = min(ranks.values())
            bars.append(Bar(f"{what}, {name}, least rank correlation", least, None, details=ranks))
    return bars


@benchmark
def quality_ranks() -> list[Bar]:
    """Compute rank correlations of quality measures with the test error."""
    rules = ["uniform", "k-means", "DBH", "leverage", "RPCholesky"]
    bars = []
    for name, data, kernel, sizes in (
        ("MNIST", _mnist(), RBF, (20, 60, 180, 540)),
        ("appliances_energy", _appliances(), Gaussian(gamma=0.02), (25, 100, 400, 1600)),
    ):
        X, y, _, _ = data
        found: dict[int, list[Any]] = {size: [] for size in sizes}
        for rule in rules:
            for size in sizes:
                for seed in range(2):
                    budget, _ = _choose(SELECTORS[rule], size, seed, X, y, kernel)
                    before = budget_quality(budget, kernel, X, y)
                    after = _error(budget, data, kernel, 1e-6)
                    found[size].append((before.residual_trace, before.sample_error, after))
        # a larger budget misses less and errs less: within a size the rule and the seed are left
        everything = [numbers for some in found.values() for numbers in some]
        for column, (measure, limit) in enumerate(
            (("residual trace", 0.9), ("sample error", None))
        ):
            within = {f"{size} points": _ranks(some, column) for size, some in found.items()}
            title = f"Spearman, {measure}, {name}, {len(everything)} budgets"
            bars.append(Bar(title, _ranks(everything, column), limit, True, within))
    return bars


def _ranks(found: list[Any], column: int) -> float:
    numbers = np.array(found)
    return float(spearmanr(numbers[:, column], numbers[:, -1]).statistic)
