"""Structured prediction: the multi-class machine beside liblinear."""

import warnings
from typing import Any

import numpy as np

from benchmarks.datasets import train_test
from benchmarks.harness import Bar, benchmark, best_times


def _objective(coef: Any, X: Any, codes: Any, alpha: float) -> float:
    """Return the objective of the multi-class hinge loss; the last column of X is a constant."""
    F = X @ coef.T
    rows = np.arange(len(X))
    own = F[rows, codes]
    F += 1.0
    F[rows, codes] -= 1.0
    return float(np.mean(F.max(axis=1) - own) + alpha * np.sum(coef**2))


@benchmark
def structured_usps() -> list[Bar]:
    """Digits of ten classes, 256 pixels."""
    return _beside_liblinear("usps")


@benchmark
def structured_isolet() -> list[Bar]:
    """Spoken letters of 26 classes, 617 columns."""
    return _beside_liblinear("isolet")


def _beside_liblinear(name: str) -> list[Bar]:
    """Seconds, objective and accuracy beside ``LinearSVC(multi_class="crammer_singer")``.

    Both minimize the same objective, with a penalized intercept: C is 1 / (2 n alpha). Tolerances
    are the defaults.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    from skimp import StructuredSVM

    warnings.simplefilter("ignore", ConvergenceWarning)
    bars = []
    X, y, X_test, y_test = train_test(name)
    X, X_test = X.astype(np.float64), X_test.astype(np.float64)
    codes, n = np.unique(y, return_inverse=True)[1], len(X)
    with_constant = np.hstack([X, np.ones((n, 1))])
    for alpha in (1e-2, 1e-3):
        ours = StructuredSVM(alpha=alpha)
        theirs = LinearSVC(
            multi_class="crammer_singer", C=1 / (2 * n * alpha), max_iter=20_000, random_state=0
        )
        seconds = best_times(
            2,
            skimp=lambda model=ours: model.fit(X, y),
            liblinear=lambda model=theirs: model.fit(X, y),
        )
        coefs = {
            "skimp": ours.coef_.reshape(len(ours.classes_), -1),
            "liblinear": np.column_stack([theirs.coef_, theirs.intercept_]),
        }
        found = {key: _objective(W, with_constant, codes, alpha) for key, W in coefs.items()}
        accuracy = {"skimp": ours.score(X_test, y_test), "liblinear": theirs.score(X_test, y_test)}
        about = f"{name}, alpha {alpha:g}"
        bars += [
            Bar(
                f"{about}: seconds / seconds of liblinear",
                seconds["skimp"] / seconds["liblinear"],
                1.0,
                details={**{f"{k} s": v for k, v in seconds.items()}, "cuts": ours.n_iter_},
            ),
            Bar(
                f"{about}: objective / objective of liblinear - 1",
                found["skimp"] / found["liblinear"] - 1,
                2e-3,
                details=found,
            ),
            Bar(
                f"{about}: accuracy - accuracy of liblinear",
                accuracy["skimp"] - accuracy["liblinear"],
                -0.005,
                at_least=True,
                details=accuracy,
            ),
        ]
    return bars
