"""Benchmarks of imports, speed, memory, determinism and compile time."""

import tempfile
from typing import Any

import numpy as np

from benchmarks.datasets import train_test
from benchmarks.harness import Bar, benchmark, best_times, in_fresh_process


@benchmark
def import_time() -> list[Bar]:
    """Measure the import time on top of scikit-learn, and list the heavy modules loaded."""
    code = """
import json, sys, time
import sklearn
start = time.perf_counter()
import skimp
skimp.KernelClassifier
seconds = time.perf_counter() - start
heavy = [name for name in ("numba", "dask", "torch", "matplotlib") if name in sys.modules]
print(json.dumps({"seconds": seconds, "heavy": heavy}))
"""
    runs = [in_fresh_process(code) for _ in range(5)]
    return [
        Bar("import skimp on top of sklearn, s", min(run["seconds"] for run in runs), 0.3),
        Bar("heavy modules loaded by import skimp", len(runs[0]["heavy"]), 0),
    ]


@benchmark
def mnist_nystroem() -> list[Bar]:
    """Compare with scikit-learn's Nystroem and Ridge: MNIST, 1,280 landmarks, squared loss."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import RidgeClassifier
    from sklearn.pipeline import make_pipeline

    from skimp import KernelClassifier
    from skimp.features import Nystroem as Landmarked
    from skimp.kernels import Gaussian

    X, y, X_test, y_test = train_test("mnist")
    X, X_test = X.astype(np.float32) / 255, X_test.astype(np.float32) / 255
    models: dict[str, list[Any]] = {"skimp": [], "sklearn": []}

    def fit_skimp() -> None:
        seed = len(models["skimp"])
        # uniform rows, as scikit-learn chooses them
        landmarks = Landmarked(budget=1280, selector="uniform")
        model = KernelClassifier(
            Gaussian(0.02), approximation=landmarks, loss="squared", random_state=seed
        )
        models["skimp"].append(model.fit(X, y))

    def fit_sklearn() -> None:
        seed = len(models["sklearn"])
        features = Nystroem(gamma=0.02, n_components=1280, random_state=seed)
        # the same penalty: n alpha = 0.06
        models["sklearn"].append(make_pipeline(features, RidgeClassifier(alpha=0.06)).fit(X, y))

    KernelClassifier(approximation=10).fit(X[:100], y[:100])
    seconds = best_times(5, skimp=fit_skimp, sklearn=fit_sklearn)
    accuracy = {
        name: [round(100 * float(model.score(X_test, y_test)), 2) for model in fitted]
        for name, fitted in models.items()
    }
    mean = {name: float(np.mean(values)) for name, values in accuracy.items()}
    return [
        Bar(
            "MNIST fit, skimp / sklearn",
            seconds["skimp"] / seconds["sklearn"],
            0.40,
            details={f"{name} s": value for name, value in seconds.items()},
        ),
        Bar(
            "MNIST accuracy, skimp, % (mean of 5 seeds)",
            mean["skimp"],
            mean["sklearn"] - 0.1,
            at_least=True,
            details={"sklearn": mean["sklearn"], "seeds": accuracy},
        ),
    ]


@benchmark
def fourier_rate() -> Bar:
    """Compare the rate of a fit with that of SYRK: 200,000 x 54 float32, 2,000 features."""
    from skimp import KernelRegressor
    from skimp.features import RandomFourier

    n, d, D = 200_000, 54, 2000
    rng = np.random.default_rng(0)
    X = rng.random((n, d), dtype=np.float32)
    y = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2]
    A = rng.random((16_384, D), dtype=np.float32)
    G = np.empty((D, D), np.float32)
    model = KernelRegressor(approximation=RandomFourier(n_components=D), random_state=0)
    model.fit(X[:5000], y[:5000])
    seconds = best_times(3, syrk=lambda: np.matmul(A.T, A, out=G), fit=lambda: model.fit(X, y))
    syrk_rate = len(A) * D**2 / seconds["syrk"]
    fit_rate = (2 * n * d * D + n * D**2) / seconds["fit"]
    return Bar(
        "Fourier fit, share of the SYRK rate",
        fit_rate / syrk_rate,
        0.70,
        at_least=True,
        details={
            "fit s": seconds["fit"],
            "fit Gflop/s": fit_rate / 1e9,
            "syrk Gflop/s": syrk_rate / 1e9,
            "solution": model.solution_.message,
        },
    )


@benchmark
def peak_memory() -> Bar:
    """Measure the peak memory besides the data: 2,000,000 x 28 float32, 1,000 features."""
    code = """
import json
import numpy as np
from benchmarks.harness import peak_bytes
from skimp import KernelRegressor
from skimp.features import RandomFourier

rng = np.random.default_rng(0)
X = np.empty((2_000_000, 28), np.float32)
for part in np.array_split(X, 100):
    rng.random(part.shape, dtype=np.float32, out=part)
y = X[:, 0] * X[:, 1]
model = KernelRegressor(approximation=RandomFourier(n_components=1000), random_state=0).fit(X, y)
model.predict(X)
print(json.dumps({"peak": peak_bytes(), "data": X.nbytes + y.nbytes}))
"""
    run = in_fresh_process(code)
    return Bar(
        "peak memory beyond the data, MB",
        (run["peak"] - run["data"]) / 1e6,
        400,
        details={"data MB": run["data"] / 1e6, "peak MB": run["peak"] / 1e6},
    )


@benchmark
def determinism() -> list[Bar]:
    """Compare predictions between 1 and 2 threads and between block sizes."""
    from skimp import KernelRegressor
    from skimp.data import open_rows
    from skimp.features import RandomFourier

    rng = np.random.default_rng(0)
    differing, spread, dtypes = 0, {np.float32: 0.0, np.float64: 0.0}, set()
    for dtype in spread:
        for d in (2, 8, 54):
            X = rng.normal(size=(30_000, d)).astype(dtype)
            y = np.sin(X[:, 0]) * X[:, -1] + 0.1 * rng.normal(size=len(X))
            for approximation in (500, RandomFourier(n_components=500)):
                model = KernelRegressor(approximation=approximation, random_state=0)
                one, two = (model.set_params(n_jobs=k).fit(X, y).predict(X) for k in (1, 2))
                dtypes.add((X.dtype, two.dtype))
                differing += int(np.sum(one != two))
                for block_rows in (500, 1111, 4096):
                    rows = open_rows(X, target=y, block_rows=block_rows)
                    other = model.fit(rows).predict(rows)
                    worst = np.abs(other - two).max() / np.abs(two).max()
                    spread[dtype] = max(spread[dtype], float(worst))
    return [
        Bar("predictions that differ between 1 and 2 threads", differing, 0),
        Bar("dtypes that changed", sum(a != b for a, b in dtypes), 0),
        Bar("spread over block sizes, float32, relative", spread[np.float32], 1e-4),
        Bar("spread over block sizes, float64, relative", spread[np.float64], 1e-8),
    ]


@benchmark
def compile_time() -> Bar:
    """Measure the compile time of the first fit in a new process with an empty Numba cache."""
    code = """
import json, time
import numpy as np
from skimp import KernelClassifier
from skimp.features import RandomFourier

X = np.random.default_rng(0).normal(size=(2000, 5))
y = X[:, 0] > 0
start = time.perf_counter()
for dtype in (np.float32, np.float64):
    for approximation in (50, RandomFourier(n_components=50)):
        KernelClassifier(approximation=approximation).fit(X.astype(dtype), y).predict(X)
first = time.perf_counter() - start
start = time.perf_counter()
for dtype in (np.float32, np.float64):
    for approximation in (50, RandomFourier(n_components=50)):
        KernelClassifier(approximation=approximation).fit(X.astype(dtype), y).predict(X)
print(json.dumps({"compiling": first - (time.perf_counter() - start)}))
"""
    with tempfile.TemporaryDirectory() as empty:
        run = in_fresh_process(code, NUMBA_CACHE_DIR=empty)
    return Bar("compiling for four fits (two maps, two dtypes), s", run["compiling"], 10)
