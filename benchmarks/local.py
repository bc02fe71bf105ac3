"""Locally linear classifiers beside linear and kernel machines."""

import time
import warnings

import numpy as np

from benchmarks.datasets import Array, train_test
from benchmarks.harness import Bar, benchmark

_ROWS = {"ijcnn1": None, "usps": None, "mnist": 10_000}
"""Data sets, and how many of their training rows to use; None uses all."""


@benchmark
def locally_linear() -> list[Bar]:
    """100 anchors against a linear SVM and a kernel SVM with 100 landmarks: error and seconds."""
    from skimp import KernelClassifier, LocallyLinearClassifier

    machines = {
        "linear": LocallyLinearClassifier(1, random_state=0),
        "local": LocallyLinearClassifier(random_state=0),
        "kernel": KernelClassifier("rbf", approximation=100, random_state=0),
    }
    bars = []
    for name, n in _ROWS.items():
        X, y, X_test, y_test = _scaled(name, n)
        errors, details = {}, {}
        for kind, machine in machines.items():
            start = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                machine.fit(X, y)
            details[f"{kind} seconds"] = time.perf_counter() - start
            errors[kind] = 100 * float(np.mean(machine.predict(X_test) != y_test))
            details[f"{kind} error in percent"] = errors[kind]
        start = time.perf_counter()
        machines["local"].predict(X_test)
        details["local predict seconds"] = time.perf_counter() - start
        bars.append(
            Bar(
                f"{name}, {len(X):,} rows: error of 100 anchors / error of a linear SVM",
                errors["local"] / errors["linear"],
                0.8,
                details=details,
            )
        )
    return bars


def _scaled(name: str, n: int | None) -> tuple[Array, Array, Array, Array]:
    """Return the first n training rows and all test rows, divided by the largest entry."""
    X, y, X_test, y_test = train_test(name)
    largest = np.float32(np.abs(X).max())
    return X[:n].astype(np.float32) / largest, y[:n], X_test.astype(np.float32) / largest, y_test
