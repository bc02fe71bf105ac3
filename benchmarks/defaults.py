"""Compare default fits on many tables with ridge regression and nearest neighbors.

A fit is unsound if it raises, if its R2 or accuracy is more than 0.02 or 0.01 plus two paired
standard errors below the better of a penalized linear model and ten nearest neighbours (both on
standardized columns), or if it predicts beyond the range of y by more than half of that range.
"""

import hashlib
import json
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import benchmarks.class_tables
import benchmarks.regression_tables  # noqa: F401
from benchmarks.harness import Bar, benchmark
from benchmarks.tables import TABLES, Array, Case

_RESULTS = Path(__file__).parent / "results"
_SHARED = {
    *("usps", "isolet", "mnist", "a9a", "w8a", "ijcnn1", "covtype", "covtype_seven", "good_wine"),
    *("airfoil", "concrete", "wine_quality_white", "appliances_energy", "appliances_logarithm"),
    *("naval_compressor", "naval_turbine", "naval_both"),
}
"""Tables that are left out if ``SKIMP_DATA`` is not set."""


def chosen_cases() -> list[Case]:
    """Return all fits, or those whose name matches ``SKIMP_CASES`` (``regr/*``, ``*wine*``)."""
    pattern = os.environ.get("SKIMP_CASES", "*")
    stored = "SKIMP_DATA" in os.environ
    return [
        case
        for table in TABLES.values()
        if stored or table.name not in _SHARED
        for case in table.cases()
        if any(fnmatch(str(case), f"{one}*") for one in pattern.split(","))
    ]


# what a fit is judged against


def _standardized(X: Any, X_test: Any) -> tuple[Array, Array]:
    """Return columns of mean 0 and variance 1 without the constant ones."""
    X, X_test = (
        np.asarray(A.toarray() if sparse.issparse(A) else A, dtype=float) for A in (X, X_test)
    )
    mean, spread = X.mean(axis=0), X.std(axis=0)
    kept = spread > 1e-7 * np.abs(mean)
    if not kept.any():
        return np.zeros((len(X), 1)), np.zeros((len(X_test), 1))
    return ((A[:, kept] - mean[kept]) / spread[kept] for A in (X, X_test))  # type: ignore[return-value]


def linear(X: Any, y: Array, X_test: Any, classes: bool) -> Array:
    from sklearn.linear_model import LogisticRegression, RidgeCV
    from sklearn.model_selection import KFold, cross_val_score

    X, X_test = _standardized(X, X_test)
    if not classes:
        return RidgeCV(alphas=np.logspace(-3, 5, 17)).fit(X, y).predict(X_test)  # type: ignore[no-any-return]
    grid = 10.0 ** np.arange(-4, 2)
    models = [LogisticRegression(C=C, max_iter=100, tol=1e-3) for C in grid]
    folds = KFold(3, shuffle=True, random_state=0)
    scores = [cross_val_score(model, X, y, cv=folds, error_score=0).mean() for model in models]
    return models[int(np.argmax(scores))].fit(X, y).predict(X_test)  # type: ignore[no-any-return]


def neighbours(X: Any, y: Array, X_test: Any, classes: bool) -> Array:
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

    X, X_test = _standardized(X, X_test)
    model = (KNeighborsClassifier if classes else KNeighborsRegressor)(min(10, len(X)))
    return model.fit(X, y).predict(X_test)  # type: ignore[no-any-return]


def boosted(X: Any, y: Array, X_test: Any, classes: bool) -> Array:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    X, X_test = (A.toarray() if sparse.issparse(A) else A for A in (X, X_test))
    if classes:
        return HistGradientBoostingClassifier(random_state=0).fit(X, y).predict(X_test)  # type: ignore[no-any-return]
    columns = [
        HistGradientBoostingRegressor(random_state=0).fit(X, column).predict(X_test)
        for column in y.reshape(len(y), -1).T
    ]
    return np.squeeze(np.transpose(columns))


def skimp(X: Any, y: Array, X_test: Any, classes: bool) -> Array:
    from skimp import KernelClassifier, KernelRegressor

    model = (KernelClassifier if classes else KernelRegressor)(random_state=0)
    return np.asarray(model.fit(X, y).predict(X_test))


_KEPT = (linear, neighbours, boosted)


def _predicted(method: Callable[..., Array], case: Case, data: tuple[Any, ...]) -> Array:
    """Return a baseline's predictions, from the folder of results if the data are the same."""
    digest = hashlib.sha1()
    for part in data:
        digest.update(repr(part.shape).encode())
        digest.update(np.ascontiguousarray(part.data if sparse.issparse(part) else part).tobytes())
    name = f"{str(case).replace('/', '-')}-{method.__name__}-{digest.hexdigest()[:12]}.npy"
    file = _RESULTS / "baselines" / name
    if file.exists():
        return np.load(file)  # type: ignore[no-any-return]
    X, y, X_test, _ = data
    predicted = np.asarray(method(X, y, X_test, case.table.classes))
    file.parent.mkdir(parents=True, exist_ok=True)
    aside = file.with_suffix(f".{os.getpid()}.part")
    with aside.open("wb") as out:
        np.save(out, predicted)
    aside.replace(file)
    return predicted


# judging


@dataclass(frozen=True)
class Verdict:
    """A fit and its faults: "" or any of raises, worse, far."""

    case: str
    wrong: str
    score: float
    best: float
    better: str
    allowed: float
    beyond: float
    seconds: float
    error: str

    def __str__(self) -> str:
        lost = f"{self.best - self.score:.4f}"
        return (
            f"{self.case:<56}{self.wrong:<11}{self.score:>10.4f}{self.best:>9.4f} "
            f"{self.better:<11}{lost:>10}{self.allowed:>10.4f}{self.beyond:>10.2f}"
            f"{self.seconds:>8.2f}  {self.error}"
        )


_HEADER = (
    f"{'fit':<56}{'fault':<11}{'score':>10}{'best':>9} {'baseline':<11}{'loss':>10}{'allowed':>10}"
    f"{'outside':>10}{'seconds':>8}"
)


def _losses(predicted: Array, y: Array, classes: bool) -> Array:
    """Return each row's share of 1 - score: the mean is 1 - R2 or 1 - accuracy."""
    if classes:
        return np.asarray(predicted.astype(str) != y.astype(str), dtype=float)
    y = y.reshape(len(y), -1).astype(float)
    variance = y.var(axis=0)
    missed = (predicted.reshape(y.shape).astype(float) - y) ** 2
    # what is left of a constant target in rounding counts as nothing
    floor = (1e-6 * np.abs(y).max(axis=0)) ** 2
    shares = np.where(variance > floor, missed / np.maximum(variance, 1e-300), missed > floor)
    return np.asarray(shares.mean(axis=1))


def _beyond(predicted: Array, y: Array, y_test: Array) -> float:
    """Return how far predictions are outside the range of y, relative to the range."""
    both = np.concatenate([y, y_test]).astype(float)
    low, high = both.min(axis=0), both.max(axis=0)
    predicted = predicted.reshape(y_test.shape).astype(float)
    past = np.maximum(predicted - high, low - predicted).max(axis=0)
    span = np.maximum(high - low, 1e-6 * np.abs(both).max(axis=0))
    return float(np.max(np.maximum(past, 0) / np.maximum(span, 1e-300)))


def judge(method: Callable[..., Array], case: Case) -> Verdict:
    """Fit, predict and compare with the better baseline."""
    data = case.data()
    X, y, X_test, y_test = data
    classes = case.table.classes
    rivals = {
        rival.__name__: _losses(_predicted(rival, case, data), y_test, classes)
        for rival in (linear, neighbours)
    }
    better = min(rivals, key=lambda name: rivals[name].mean())
    best = 1 - rivals[better].mean()
    start = time.perf_counter()
    try:
        predicted = (
            _predicted(method, case, data)
            if method in _KEPT
            else method(X, y, X_test, case.table.classes)
        )
    except Exception as error:
        seconds = time.perf_counter() - start
        message = f"{type(error).__name__}: {error}".splitlines()[0][:100]
        return Verdict(str(case), "raises", np.nan, best, better, np.nan, np.nan, seconds, message)
    seconds = time.perf_counter() - start
    losses = _losses(predicted, y_test, classes)
    beyond = 0.0 if classes else _beyond(predicted, y, y_test)
    paired = float(np.std(losses - rivals[better], ddof=1) / np.sqrt(len(losses)))
    allowed = (0.01 if classes else 0.02) + 2 * paired
    score = float(1 - losses.mean())
    wrong = [] if best - score <= allowed else ["worse"]  # also if the score is not a number
    wrong += [] if beyond <= 0.5 else ["far"]
    return Verdict(str(case), " ".join(wrong), score, best, better, allowed, beyond, seconds, "")


def _bars(method: Callable[..., Array]) -> list[Bar]:
    """Judge all fits. Print those with faults at once, and the slowest ones at the end."""
    cases = chosen_cases()
    print(f"{len(cases)} fits of {method.__name__}", _HEADER, sep="\n", flush=True)
    verdicts = []
    file = _RESULTS / f"defaults_{method.__name__}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings(), file.open("w", buffering=1) as out:
        warnings.simplefilter("ignore")
        for case in cases:
            verdicts.append(judge(method, case))
            print(json.dumps(asdict(verdicts[-1])), file=out)
            if verdicts[-1].wrong:
                print(verdicts[-1], flush=True)
    print("slowest", *sorted(verdicts, key=lambda v: -v.seconds)[:10], sep="\n")
    bars = []
    for kind in ("regr", "class"):
        mine = [v for v in verdicts if v.case.startswith(kind)]
        if mine:
            details = {
                "fits": len(mine),
                **{what: sum(what in v.wrong for v in mine) for what in ("raises", "worse", "far")},
                "seconds": sum(v.seconds for v in mine),
                "slowest": max(v.seconds for v in mine),
            }
            name = f"unsound fits of {method.__name__}, {kind}"
            bars.append(Bar(name, sum(bool(v.wrong) for v in mine), 0, details=details))
    return bars


@benchmark
def defaults() -> list[Bar]:
    """Default fits of KernelRegressor and KernelClassifier."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    for dtype in (np.float32, np.float64):  # compile first
        for classes in (False, True):
            skimp(X.astype(dtype), X[:, 0] > 0 if classes else X[:, 0] ** 2, X, classes)
    return _bars(skimp)


@benchmark
def defaults_boosted() -> list[Bar]:
    """Default fits of HistGradientBoosting, judged by the same rule."""
    return [Bar(bar.name, bar.measured, None, details=bar.details) for bar in _bars(boosted)]
