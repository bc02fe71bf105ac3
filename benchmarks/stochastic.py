"""Streams of rows, and solvers that visit one row after another."""

import time
import warnings
from itertools import product
from typing import Any

import numpy as np

from benchmarks.datasets import train_test
from benchmarks.harness import Bar, benchmark, in_fresh_process

_SMOOTH = {
    "a9a": ("squared_hinge", "log"),
    "ijcnn1": ("squared_hinge", "log"),
    "mnist 3 vs 8": ("squared_hinge", "log"),
    "mnist": ("softmax",),
}
"""Losses on each set for SARAH; of the ten digits, the first 10,000 rows."""


@benchmark
def partial_fit_exact() -> list[Bar]:
    """100 blocks against one fit with the same map, kernel and penalty, squared loss, float64."""
    from sklearn.base import clone

    from skimp import KernelClassifier, KernelRegressor
    from skimp.budgets import Fixed
    from skimp.features import Nystroem, RandomFourier
    from skimp.kernels import Gaussian

    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 8))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=len(X)) + 10
    labels = np.digitize(y, [9.5, 10.5])
    weight = rng.random(len(X))
    maps = {
        "300 landmarks": Nystroem(budget=300, selector=Fixed(X[:300])),
        "500 Fourier features": RandomFourier(n_components=500, random_state=0),
    }
    bars = []
    for name, approximation in maps.items():
        for alpha in (1e-4, 1e-7):
            parts: dict[str, Any] = {"approximation": approximation, "alpha": alpha}
            number = KernelRegressor(Gaussian(0.05), solver="direct", **parts)
            label = KernelClassifier(Gaussian(0.05), loss="squared", solver="direct", **parts)
            expected = (
                number.fit(X, y, weight).predict(X),
                label.fit(X, labels).decision_function(X),
            )
            number, label = clone(number), clone(label)
            for part in np.array_split(np.arange(len(X)), 100):
                number.partial_fit(X[part], y[part], sample_weight=weight[part])
                label.partial_fit(X[part], labels[part], classes=[0, 1, 2])
            found = number.predict(X), label.decision_function(X)
            differences = [
                float(np.abs(a - b).max() / np.abs(b).max())
                for a, b in zip(found, expected, strict=True)
            ]
            details = dict(zip(("regression", "classification"), differences, strict=True))
            bars.append(
                Bar(
                    f"100 blocks, {name}, alpha {alpha:g}: difference to one fit",
                    max(differences),
                    1e-8,
                    details=details,
                )
            )
    return bars


_LEARNERS = {
    "direct": "loss='squared', solver='direct'",
    "sgd": "loss='squared_hinge', solver='sgd'",
    "pegasos": "loss='hinge', solver='pegasos'",
}
_STREAM = """
import json, time
import numpy as np
from benchmarks.harness import peak_bytes
from skimp import KernelClassifier
from skimp.features import RandomFourier
from skimp.kernels import Gaussian

rng = np.random.default_rng(0)
features = RandomFourier(Gaussian(0.05), n_components=500, random_state=0)
model = KernelClassifier(approximation=features, alpha=1e-6, {parts})
peaks, scores, began = [], [], time.perf_counter()
for block in range(100):
    X = rng.normal(size=(10_000, 20))
    y = X[:, 0] + X[:, 1] * X[:, 2] > 0
    if block:
        scores.append(model.score(X, y))
    model.partial_fit(X, y, classes=[False, True])
    peaks.append(peak_bytes())
seconds = time.perf_counter() - began
found = {{"early": peaks[9], "late": peaks[-1], "seconds": seconds, "score": scores[-1]}}
print(json.dumps(found))
"""


@benchmark
def stream_memory() -> list[Bar]:
    """Peak memory of a stream of 10^6 generated rows, in blocks of 10,000, in a fresh process.

    With several threads, how many blocks are in work at once depends on their timing, so the peak
    differs from run to run by tens of MB. Only the one with a single thread has a limit.
    """
    bars = []
    for name, parts in _LEARNERS.items():
        for threads, limit in ((1, 5.0), (2, None)):
            found = in_fresh_process(_STREAM.format(parts=f"{parts}, n_jobs={threads}"))
            bars.append(
                Bar(
                    f"{name}, {threads} threads: growth of the peak from 10^5 to 10^6 rows, MB",
                    (found["late"] - found["early"]) / 1e6,
                    limit,
                    details={
                        "peak MB": found["late"] / 1e6,
                        "seconds": found["seconds"],
                        "accuracy": found["score"],
                    },
                )
            )
    return bars


def _passes(solution: Any) -> float:
    return float(solution.message.split(" passes")[0].split()[-1])


@benchmark
def sarah_objective() -> list[Bar]:
    """SARAH after at most 30 passes against the optimum of newton."""
    from skimp.data import open_rows
    from skimp.features import Nystroem
    from skimp.kernels import Gaussian
    from skimp.losses import as_loss
    from skimp.solvers import SARAH, Newton, Problem

    bars = []
    for name, losses in _SMOOTH.items():
        if name == "mnist":
            X, digits, *_ = train_test(name)
            X, digits = X[:10_000] / 255.0, digits[:10_000].astype(int)
            Y = np.where(digits[:, None] == np.arange(10), 1.0, -1.0)
        else:
            X, y = _two_classes(name)
            Y = y[:, None]
        gamma = 0.02 if "mnist" in name else 0.05
        basis = Nystroem(Gaussian(gamma), budget=512, random_state=0).fit(X).basis()
        plain = open_rows(X, target=Y)
        rows = {"linear": (plain, None), "rbf": (plain.mapped(basis), basis.penalty)}
        for (kernel, (features, penalty)), loss in product(rows.items(), losses):
            for alpha in (1e-3, 1e-4):
                problem = Problem(features, as_loss(loss, owner="benchmark"), alpha, penalty)
                best = Newton(tol=1e-9).solve(problem).history[-1]
                SARAH(max_iter=1).solve(problem)
                details: dict[str, Any] = {}
                for solver in (SARAH(), Newton()):
                    start = time.perf_counter()
                    found = solver.solve(problem)
                    details[f"{found.solver} s"] = time.perf_counter() - start
                    if found.solver == "sarah":
                        details["passes to converge"] = _passes(found)
                        limited = found
                while _passes(limited) > 30:
                    limited = SARAH(max_iter=limited.n_iter - 1).solve(problem)
                excess = float(limited.history[-1] / best - 1)
                about = f"{name}, {kernel}, {loss}, alpha {alpha:g}: above the optimum"
                bars.append(Bar(about, excess, 1e-3, details=details))
    return bars


@benchmark
def free_intercept() -> list[Bar]:
    """Hinge loss with an intercept that is not penalized, against libsvm, on 2,000 rows.

    The objective is ``a^T K a + C sum_i max(0, 1 - y_i f_i)``, where f = K a + b and
    C = 1 / (n alpha). The C of `SVC`, which has a factor 1/2 before the penalty, is half of that.
    """
    from sklearn.svm import SVC

    from benchmarks.solvers import labelled_rows
    from skimp.data import open_rows
    from skimp.features import RandomFourier
    from skimp.kernels import Gaussian
    from skimp.losses import hinge
    from skimp.solvers import DualCD, Problem

    def objective(K: Any, y: Any, C: float, a: Any, b: float) -> float:
        return float(a @ K @ a + C * np.sum(np.maximum(0, 1 - y * (K @ a + b))))

    bars, n = [], 2000
    for name in ("a9a", "ijcnn1", "mnist 3 vs 8"):
        X, labels, gamma = labelled_rows(name)
        Z = RandomFourier(Gaussian(gamma), n_components=300, random_state=0).fit_transform(X)
        features = open_rows(Z.astype(np.float64), target=labels[:, None])
        sample = np.random.default_rng(0).permutation(len(labels))[:n]
        K, y = Gaussian(gamma)(X[sample]).astype(np.float64), labels[sample]
        for alpha in (1e-3, 1e-4, 1e-5, 1e-6):
            C = 1 / (n * alpha)
            svc = SVC(C=C / 2, kernel="precomputed", tol=1e-8).fit(K, y)
            dual = np.zeros(n)
            dual[svc.support_] = svc.dual_coef_[0]
            best = objective(K, y, C, dual, svc.intercept_[0])
            problem = Problem(open_rows(K, target=y[:, None]), hinge, alpha, penalty=K)
            ours = DualCD(tol=5e-5, max_iter=100_000).solve(problem)
            found = objective(K, y, C, ours.coef[:, 0], ours.intercept[0])
            sweeps = [
                DualCD(penalize_intercept=penalize).solve(Problem(features, hinge, alpha)).n_iter
                for penalize in (False, True)
            ]
            bars.append(
                Bar(
                    f"{name}, alpha {alpha:g}: objective, free intercept, over SVC's - 1",
                    found / best - 1,
                    1e-4,
                    details={
                        "objective": found,
                        "SVC's": best,
                        "intercept": float(ours.intercept[0]),
                        "SVC's intercept": float(svc.intercept_[0]),
                        "sweeps": ours.n_iter,
                        "sweeps on 300 features of all rows": sweeps[0],
                        "penalized": sweeps[1],
                    },
                )
            )
    return bars


@benchmark
def l1_objective() -> list[Bar]:
    """L1 penalty without an intercept: objective and seconds against LIBLINEAR, tight tolerance."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    from skimp.data import open_rows
    from skimp.losses import log, squared_hinge
    from skimp.solvers import Problem, l1_cd

    bars = []
    for name in ("a9a", "ijcnn1", "mnist 3 vs 8"):
        X, y = _two_classes(name)
        rows = open_rows(X, target=y[:, None])
        for loss in (log, squared_hinge):
            l1_cd.solve(Problem(open_rows(X[:99], target=y[:99, None]), loss, 0.01))
            for alpha in (1e-2, 1e-3, 1e-4):
                options = {"C": 1 / (len(y) * alpha), "fit_intercept": False, "random_state": 0}
                options |= {"tol": 1e-6, "max_iter": 5000}
                theirs = LinearSVC(penalty="l1", dual=False, **options)
                if loss is log:
                    theirs = LogisticRegression(l1_ratio=1, solver="liblinear", **options)
                start = time.perf_counter()
                found = l1_cd.solve(Problem(rows, loss, alpha, fit_intercept=False))
                middle = time.perf_counter()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    theirs.fit(X, y)
                end = time.perf_counter()
                ours, best = (
                    float(loss.value(y, X @ c).mean() + alpha * np.abs(c).sum())
                    for c in (found.coef[:, 0], theirs.coef_[0])
                )
                bars.append(
                    Bar(
                        f"{name}, {loss!r}, alpha {alpha:g}: objective / LIBLINEAR's - 1",
                        ours / best - 1,
                        1e-4,
                        details={
                            "seconds / LIBLINEAR's": (middle - start) / (end - middle),
                            "s": middle - start,
                            "steps": found.n_iter,
                            "features in use": int(np.count_nonzero(found.coef)),
                            "LIBLINEAR's": int(np.count_nonzero(theirs.coef_)),
                        },
                    )
                )
    return bars


def _two_classes(name: str) -> tuple[Any, Any]:
    """Return the training rows of a set in float64, and labels 1 and -1."""
    X, y, *_ = train_test(name.split()[0])
    if name == "mnist 3 vs 8":
        digit = y.astype(int)
        chosen = (digit == 3) | (digit == 8)
        X, y = X[chosen] / 255, np.where(digit[chosen] == 3, 1.0, -1.0)
    return X.astype(np.float64), np.where(y > 0, 1.0, -1.0)
