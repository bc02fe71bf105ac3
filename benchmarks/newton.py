"""Benchmarks of newton: many classes, default landmarks, small data."""

from typing import Any

import numpy as np

from benchmarks.datasets import train_test
from benchmarks.harness import Bar, benchmark, best_times


def _seconds(model: Any) -> list[tuple[str, float]]:
    """Return the seconds of each phase of a fit."""
    return [(phase.name, phase.seconds) for phase in model.fitted_.phases]


def _peer(budget: int, **kernel: float) -> Any:
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import RidgeClassifier
    from sklearn.pipeline import make_pipeline

    return make_pipeline(Nystroem(n_components=budget, random_state=0, **kernel), RidgeClassifier())


def _bars(
    name: str,
    limit: float,
    models: dict[str, Any],
    data: tuple[Any, ...],
    *,
    repeat: int = 1,
    least: float | None = None,
) -> list[Bar]:
    """Compare the fits of models with the one named "peer", and their accuracies with its own."""
    X, y, X_test, y_test = data
    seconds = best_times(
        repeat, **{key: (lambda model=model: model.fit(X, y)) for key, model in models.items()}
    )
    right = {key: 100 * model.score(X_test, y_test) for key, model in models.items()}
    bars = []
    for key, model in models.items():
        if key == "peer":
            continue
        spent = {phase: round(s, 3) for phase, s in _seconds(model)}
        details = {"s": seconds[key], "peer s": seconds["peer"], **spent}
        details["solver"] = model.solution_.message
        bars += [
            Bar(
                f"{name}, {key}: fit / peer", seconds[key] / seconds["peer"], limit, details=details
            ),
            Bar(
                f"{name}, {key}: accuracy, %",
                right[key],
                right["peer"] if least is None else least,
                at_least=True,
                details={"peer": right["peer"]},
            ),
        ]
    return bars


def _warm(X: Any, y: Any) -> None:
    from skimp import KernelClassifier

    KernelClassifier("rbf", approximation=20, random_state=0).fit(X[:500], y[:500])


@benchmark
def newton_mnist() -> list[Bar]:
    """MNIST, 4,096 default landmarks, squared hinge, against Nystroem and RidgeClassifier."""
    from skimp import KernelClassifier
    from skimp.kernels import Gaussian

    X, y, X_test, y_test = train_test("mnist")
    data = X.astype(np.float32) / 255, y, X_test.astype(np.float32) / 255, y_test
    _warm(data[0], y)
    models = {
        "alpha 1e-7": KernelClassifier(
            Gaussian(0.03), approximation=4096, alpha=1e-7, random_state=0
        ),
        "peer": _peer(4096, gamma=0.03),
    }
    return _bars("MNIST, 4,096 landmarks", 0.45, models, data, least=98.4)


@benchmark
def newton_classes() -> list[Bar]:
    """26 classes, 2,048 landmarks, squared hinge, against Nystroem and RidgeClassifier."""
    from sklearn.base import clone
    from sklearn.datasets import make_classification
    from sklearn.model_selection import train_test_split

    from skimp import KernelClassifier

    X, y = make_classification(
        25_000,
        16,
        n_informative=16,
        n_redundant=0,
        n_clusters_per_class=2,
        n_classes=26,
        random_state=0,
    )
    X, X_test, y, y_test = train_test_split(
        X.astype(np.float32), y, train_size=20_000, random_state=0
    )
    _warm(X, y)
    found = KernelClassifier("rbf", approximation=2048, random_state=0)
    given = clone(found).set_params(alpha=found.fit(X, y).alpha_)
    models = {"alpha auto": found, f"alpha {given.alpha:.1e}": given, "peer": _peer(2048)}
    return _bars("26 classes, 2,048 landmarks", 1.5, models, (X, y, X_test, y_test))


@benchmark
def newton_digits() -> list[Bar]:
    """Digits, 200 landmarks, against the fit and the predictions of SVC."""
    from sklearn.base import clone
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split
    from sklearn.svm import SVC

    from skimp import KernelClassifier

    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(
        X.astype(np.float32) / 16, y, train_size=1297, random_state=0
    )
    found = KernelClassifier("rbf", approximation=200, random_state=0).fit(X, y)
    given = clone(found).set_params(alpha=found.alpha_)
    models = {"auto": found, "given": given, "svc": SVC()}
    seconds = best_times(
        10,
        **{
            key: (lambda model=model: model.fit(X, y).predict(X_test))
            for key, model in models.items()
        },
    )
    right = {key: 100 * model.score(X_test, y_test) for key, model in models.items()}
    return [
        Bar(
            f"digits, 200 landmarks, alpha {key}: fit and predict / SVC",
            seconds[key] / seconds["svc"],
            5.0,
            details={
                "s": seconds[key],
                "svc s": seconds["svc"],
                **{phase: round(s, 4) for phase, s in _seconds(models[key])},
                "%": right[key],
                "svc %": right["svc"],
                "solver": models[key].solution_.message,
            },
        )
        for key in ("auto", "given")
    ]
