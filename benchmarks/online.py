"""Models that learn one row after another."""

import time
from itertools import product
from typing import Any

import numpy as np

from benchmarks.datasets import train_test
from benchmarks.harness import Bar, benchmark

_AMM_LIMITS = {
    ("a9a", "batch"): 15.2,
    ("a9a", "online"): 16.5,
    ("ijcnn1", "batch"): 2.6,
    ("ijcnn1", "online"): 3.1,
}
"""Largest mean test errors of the adaptive multi-hyperplane machine, in percent."""


@benchmark
def amm_errors() -> list[Bar]:
    """Test errors of the adaptive multi-hyperplane machine on official splits, five seeds.

    ``alpha`` and ``max_iter`` are those with the least mean error of three seeds on a fifth of the
    training part. The error without averaging is that of the publication's last weights, with the
    same parameters.
    """
    from skimp import AMMClassifier

    bars = []
    for (name, method), limit in _AMM_LIMITS.items():
        X, y, X_test, y_test = train_test(name)
        place = np.random.default_rng(0).permutation(len(y))
        held, rest = place[: len(y) // 5], place[len(y) // 5 :]

        def error(rows: Any, others: Any, seeds: int, method: str = method, **options: Any) -> Any:
            models = [AMMClassifier(method=method, random_state=s, **options) for s in range(seeds)]
            scores = [model.fit(*rows).score(*others) for model in models]
            return 100 * (1 - np.array(scores)), models[0]

        grid = [
            {"alpha": float(alpha), "max_iter": passes}
            for alpha, passes in product(10.0 ** np.arange(-6.5, -2.4, 0.5), (5, 20, 60))
        ]
        trials = [error((X[rest], y[rest]), (X[held], y[held]), 3, **o)[0].mean() for o in grid]
        chosen = grid[int(np.argmin(trials))]
        start = time.perf_counter()
        errors, model = error((X, y), (X_test, y_test), 5, **chosen)
        seconds = (time.perf_counter() - start) / 5
        last, _ = error((X, y), (X_test, y_test), 5, average=False, **chosen)
        untuned, _ = error((X, y), (X_test, y_test), 5)
        bars.append(
            Bar(
                f"AMM {method}, {name}: test error in %",
                float(errors.mean()),
                limit,
                details={
                    "std": float(errors.std()),
                    "last weights": float(last.mean()),
                    "default parameters": float(untuned.mean()),
                    "s": seconds,
                    "weights": model.n_weights_.tolist(),
                    "held-out error": float(min(trials)),
                    **chosen,
                },
            )
        )
    return bars
