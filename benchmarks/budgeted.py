"""Kernelized Pegasos, and stochastic gradients on a budget of points."""

import pickle
import time
from typing import Any

import numpy as np

from benchmarks.datasets import train_test, whole
from benchmarks.harness import Bar, benchmark

_CACHE = "1GB"


@benchmark
def kernel_pegasos() -> list[Bar]:
    """Error of kernelized Pegasos with C = 1 and the bandwidths of its paper, in per cent.

    USPS is the task 8 against the rest, beside `SVC` with the same bandwidth and C.
    """
    from sklearn.svm import SVC

    from skimp import BudgetedSGDClassifier
    from skimp.kernels import Gaussian

    bars = []
    for name, digit, gamma, passes, limit in (
        ("a9a", None, 0.05, 5, 15.6),
        ("usps", 8, 0.01, 10, 0.1),
        ("mnist", 8, 0.02, 5, 0.7),
    ):
        X, y, X_test, y_test = train_test(name)
        X, X_test = (np.float32(part) if name != "a9a" else part for part in (X, X_test))
        if name == "mnist":
            X, X_test = X / 255, X_test / 255
        if digit is not None:
            y, y_test = y == digit, y_test == digit
        model = BudgetedSGDClassifier(
            Gaussian(gamma), budget=None, max_iter=passes, cache_size=_CACHE, random_state=0
        )
        began = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - began
        error = 100 * (1 - model.score(X_test, y_test))
        details: dict[str, Any] = {"passes": passes, "seconds": seconds, "error": error}
        details |= {"points": len(model.coef_), "cache": str(model.cache_)}
        title = (
            f"kernel Pegasos, {name}{'' if digit is None else ' 8 against the rest'}, error in %"
        )
        if name == "usps":
            svm = 100 * (1 - SVC(C=1, gamma=gamma).fit(X, y).score(X_test, y_test))
            details["SVC"] = svm
            title, error = "kernel Pegasos, usps 8: distance to SVC in points", abs(error - svm)
        bars.append(Bar(title, error, limit, details=details))
    return bars


@benchmark
def bsgd_covtype() -> list[Bar]:
    """Seconds and error of one pass over covtype with 500 points, for each kind of maintenance.

    Beside the same number of landmarks, with the squared hinge and the same penalty, in batch.
    """
    from skimp import BudgetedSGDClassifier, KernelClassifier
    from skimp.kernels import Gaussian

    X, y = whole("covtype")
    X = np.float32(X)
    X = (X - X.min(axis=0)) / np.maximum(np.ptp(X, axis=0), 1)
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[:464_810], order[464_810:]
    kernel, alpha = Gaussian(8.0), 1e-5
    X_train, y_train = X[train], y[train]
    bars = []
    for kind, limit in (("merging", 40.0), ("removal", None), ("projection", None)):
        model = BudgetedSGDClassifier(
            kernel, budget=500, maintenance=kind, alpha=alpha, max_iter=1, random_state=0
        )
        # compile the loops first
        model.fit(X_train[:2000], y_train[:2000])
        began = time.perf_counter()
        model.fit(X_train, y_train)
        seconds = time.perf_counter() - began
        error = 100 * (1 - model.score(X[test], y[test]))
        name = f"BSGD, 500 points, one pass over covtype, {kind}: seconds"
        bars.append(Bar(name, seconds, limit, details={"error in %": error}))
    batch = KernelClassifier(
        kernel, approximation=500, loss="squared_hinge", alpha=alpha, random_state=0
    )
    began = time.perf_counter()
    batch.fit(X_train, y_train)
    details = {"seconds": time.perf_counter() - began}
    error = 100 * (1 - batch.score(X[test], y[test]))
    bars.append(
        Bar("500 landmarks in batch, squared hinge: error in %", error, None, details=details)
    )
    return bars


@benchmark
def kernel_cache() -> list[Bar]:
    """Effect of kernel caching: seconds of five passes over 20,000 digits by the cache's size."""
    from skimp import BudgetedSGDClassifier
    from skimp.kernels import Gaussian

    X, y, *_ = train_test("mnist")
    X, y = np.float32(X[:20_000]) / 255, y[:20_000] == 8
    bars = []
    for size in ("1MB", "10MB", "100MB", "1GB"):
        model = BudgetedSGDClassifier(
            Gaussian(0.02), budget=None, cache_size=size, max_iter=5, random_state=0
        )
        began = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - began
        cache = model.cache_
        details = {"hits in %": 100 * cache.share, "kernel values": f"{cache.seconds:.1f} s"}
        bars.append(Bar(f"kernel cache of {size}: seconds", seconds, None, details=details))
    return bars


def _drifting(n_rows: int, seed: int) -> tuple[Any, Any]:
    """Return rows inside or outside of a ball whose centre moves around once."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    turn = np.linspace(0, 2 * np.pi, n_rows)
    centre = np.zeros_like(X)
    centre[:, 0], centre[:, 1] = np.cos(turn), np.sin(turn)
    y = np.sum((X - centre) ** 2, axis=1) < 5
    return X, y ^ (rng.random(n_rows) < 0.05)


@benchmark
def prequential() -> list[Bar]:
    """Accuracy on the next rows of a stream with drift, 5 % of whose labels are noise.

    All models see the same rows. Blocks of 20 are predicted, then learnt. The size of a model is
    that of its pickle at the end; river's forest has as many trees as fit into the size of skimp's.
    """
    from river.forest import AMFClassifier
    from sklearn.base import clone
    from sklearn.linear_model import SGDClassifier

    from skimp import AMMClassifier, BudgetedSGDClassifier, KernelClassifier
    from skimp.features import RandomFourier
    from skimp.kernels import Gaussian

    n_rows, size = 20_000, 20
    X, y = _drifting(n_rows, 0)
    budgeted = BudgetedSGDClassifier(Gaussian(0.1), budget=300, alpha=1e-3, random_state=0)
    fourier = RandomFourier(Gaussian(0.1), n_components=300)
    models: dict[str, Any] = {
        "BSGD, window of 1,000 rows": clone(budgeted).set_params(window=1000),
        "BSGD without a window": clone(budgeted).set_params(window=None),
        "AMM": AMMClassifier(random_state=0),
        "Fourier features, sgd": KernelClassifier(
            approximation=fourier, alpha=1e-4, loss="hinge", solver="sgd", random_state=0
        ),
        "SGDClassifier": SGDClassifier(random_state=0),
    }
    bars, sizes = [], []
    for name, model in models.items():
        right, began = 0, time.perf_counter()
        for start in range(0, n_rows, size):
            rows, labels = X[start : start + size], y[start : start + size]
            right += int(np.sum(model.predict(rows) == labels)) if start else 0
            model.partial_fit(rows, labels, classes=[False, True])
        sizes.append(len(pickle.dumps(model)))
        details = {"seconds": time.perf_counter() - began, "kB": sizes[-1] / 1e3}
        title = f"{name}: prequential accuracy in %"
        bars.append(Bar(title, 100 * right / n_rows, None, details=details))
    n_trees = 1
    while n_trees:
        forest, right, began = AMFClassifier(n_estimators=n_trees, seed=0), 0, time.perf_counter()
        for number, row in enumerate(X):
            features = dict(enumerate(row.tolist()))
            right += forest.predict_one(features) == y[number] if number else 0
            forest.learn_one(features, bool(y[number]))
        bytes_ = len(pickle.dumps(forest))
        details = {"seconds": time.perf_counter() - began, "kB": bytes_ / 1e3}
        title = f"river's AMFClassifier, trees {n_trees}: prequential accuracy in %"
        bars.append(Bar(title, 100 * right / n_rows, None, details=details))
        # at the memory of the first model, if that allows for more trees
        fitting = sizes[0] // bytes_
        n_trees = fitting if fitting > n_trees else 0
    return bars
