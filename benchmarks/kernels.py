"""Benchmarks of kernel blocks, relative to scikit-learn."""

from typing import Any

import numpy as np

from benchmarks.harness import Bar, benchmark, best_times


@benchmark
def kernel_blocks() -> list[Bar]:
    """Time 20,000 x 2,000 float32 blocks relative to ``pairwise_kernels``."""
    from skimp.kernels import Chi2, Gaussian, Laplacian

    return [
        bar
        for d in (54, 784)
        for bar in (
            _contest(Gaussian(1 / d), "rbf", d, limit=1 / 4, repeat=12),
            _contest(Laplacian(1 / d), "laplacian", d, limit=1 / 5, repeat=2),
            _contest(Chi2(1 / d), "chi2", d, limit=1 / 5, repeat=2),
        )
    ]


def _contest(kernel: Any, name: str, d: int, *, limit: float, repeat: int) -> Bar:
    from sklearn.metrics.pairwise import pairwise_kernels

    X, B = _blocks(d)
    K = np.empty((len(X), len(B)), np.float32)
    kernel(X[:600], B)  # compiles
    seconds = best_times(
        repeat,
        skimp=lambda: kernel(X, B),
        sklearn=lambda: pairwise_kernels(X, B, metric=name, gamma=1 / d),
        product=lambda: np.matmul(X, B.T, out=K),
    )
    share = {who: value / seconds["sklearn"] for who, value in seconds.items()}
    details = {f"{who} s": value for who, value in seconds.items()}
    details["float32 product / sklearn"] = share["product"]
    return Bar(f"{name}, d = {d}, skimp / sklearn", share["skimp"], limit, details=details)


@benchmark
def kernel_family() -> list[Bar]:
    """Time 20,000 x 2,000 float32 blocks of every kernel relative to the Gaussian kernel."""
    from skimp import kernels as k

    family = (
        k.Matern(1.5, 0.1),
        k.Cauchy(0.1),
        k.Linear(),
        k.Polynomial(3, 0.1),
        k.Tanh(0.1),
        k.Cosine(),
        k.ArcCosine(),
        k.NeuralTangent(),
        k.Gaussian(0.1) + 2.0 * k.Linear(),
        k.Gaussian(0.1).on(range(27)) * k.Cauchy(0.1).on(range(27, 54)),
    )
    return [_in_gaussians(kernel) for kernel in family]


def _in_gaussians(kernel: Any) -> Bar:
    from skimp.kernels import Gaussian

    X, B = _blocks(54)
    kernel(X[:600], B)
    gaussian = Gaussian(0.1)
    seconds = best_times(5, gaussian=lambda: gaussian(X, B), other=lambda: kernel(X, B))
    ratio = seconds["other"] / seconds["gaussian"]
    return Bar(f"{kernel!r:.60}, time / Gaussian", ratio, 2.0)


@benchmark
def distance_digits() -> Bar:
    """Measure the largest error of float32 Gaussian kernels on distant clusters."""
    from skimp.kernels import Gaussian

    rng = np.random.default_rng(0)
    worst = 0.0
    for d in (1, 5, 54):
        noise = rng.normal(size=(400, d))
        clusters = noise + 1e4 * rng.integers(0, 3, (400, 1))
        spread = np.sort(rng.uniform(0, 1e4, (400, 1)), axis=0) + 0.1 * noise
        for rows in (clusters, spread, noise + 1e6):
            X = rows.astype(np.float32)
            exact = np.exp(-((X.astype(float)[:, None] - X) ** 2).sum(axis=2))
            worst = max(worst, float(np.abs(Gaussian(1.0)(X) - exact).max()))
    return Bar("float32 Gaussian kernel, largest error on far clusters", worst, 1e-5)


def _blocks(d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.random((20_000, d), dtype=np.float32), rng.random((2_000, d), dtype=np.float32)
