"""Benchmarks of random features: binning and boosted trees, Fourier maps and RBFSampler."""

from functools import partial
from typing import Any

import numpy as np

from benchmarks.datasets import train_test, whole
from benchmarks.harness import Bar, benchmark, best_times, in_fresh_process

_COVTYPE = """
import json, time
import numpy as np
from sklearn.model_selection import train_test_split
from benchmarks.datasets import whole
from benchmarks.harness import peak_bytes

X, y = whole("covtype")
X = X.astype(np.float32)
X -= X.min(axis=0)
X /= X.max(axis=0)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, random_state=0)
"""

_BINNING = """
from skimp import KernelClassifier
from skimp.features import RandomBinning
from skimp.kernels import Laplacian

def make():
    return KernelClassifier(
        Laplacian(10.0), approximation=RandomBinning(n_grids=100), alpha=3e-7, max_iter=4,
        random_state=0
    )
make().fit(X[:2000], y[:2000]).predict(X[:10])
before = peak_bytes()
seconds, predicting = [], []
for _ in range(REPEATS):
    start = time.perf_counter()
    model = make().fit(X, y)
    seconds.append(time.perf_counter() - start)
    peak = peak_bytes()
    start = time.perf_counter()
    accuracy = model.score(X_test, y_test)
    predicting.append(time.perf_counter() - start)
print(json.dumps({"seconds": min(seconds), "predicting": min(predicting), "accuracy": accuracy,
                  "peak": peak, "before": before,
                  "data": X.nbytes + y.nbytes + X_test.nbytes + y_test.nbytes,
                  "message": model.solution_.message}))
"""

_TREES = """
from sklearn.ensemble import HistGradientBoostingClassifier

model = HistGradientBoostingClassifier(max_iter=500, max_leaf_nodes=127, random_state=0)
start = time.perf_counter()
model.fit(X, y)
print(json.dumps({"seconds": time.perf_counter() - start,
                  "accuracy": model.score(X_test, y_test), "trees": model.n_iter_}))
"""


@benchmark
def binning_covtype() -> list[Bar]:
    """Compare random binning with boosted trees on covtype: 100 grids, squared hinge, dual_cd."""
    ours = in_fresh_process(f"REPEATS = 3\n{_COVTYPE}{_BINNING}")
    once = in_fresh_process(f"REPEATS = 1\n{_COVTYPE}{_BINNING}")
    trees = in_fresh_process(f"{_COVTYPE}{_TREES}")
    return [
        Bar(
            "covtype accuracy, %",
            100 * ours["accuracy"],
            96.0,
            at_least=True,
            details={"trees": 100 * trees["accuracy"], "solution": ours["message"]},
        ),
        Bar(
            "covtype fit / HistGradientBoosting",
            ours["seconds"] / trees["seconds"],
            1 / 4,
            details={"skimp s": ours["seconds"], "trees s": trees["seconds"], "n": trees["trees"]},
        ),
        Bar("covtype predict 116,203 rows, s", ours["predicting"], 1.0),
        Bar(
            "covtype peak beyond the data, imports included, MB",
            (once["peak"] - once["data"]) / 1e6,
            600,
            details={
                "data MB": once["data"] / 1e6,
                "before the fit, beyond the data": (once["before"] - once["data"]) / 1e6,
            },
        ),
    ]


@benchmark
def binning_tables() -> list[Bar]:
    """Compare accuracy and time of random binning and boosted trees on other tables."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import MinMaxScaler

    from skimp import KernelClassifier
    from skimp.features import RandomBinning
    from skimp.kernels import Laplacian

    def model(gamma: float) -> KernelClassifier:
        grids = RandomBinning(n_grids=200)
        return KernelClassifier(Laplacian(gamma), approximation=grids, tol=1e-2, random_state=0)

    bars = []
    for name in ("ijcnn1", "a9a", "w8a", "usps", "isolet"):
        X, y, X_test, y_test = train_test(name)
        X, X_test = (Z.toarray() if hasattr(Z, "toarray") else Z for Z in (X, X_test))
        scaler = MinMaxScaler().fit(X.astype(np.float32))
        X, X_test = (scaler.transform(Z.astype(np.float32)) for Z in (X, X_test))
        # the width that is best for a fifth of the training rows
        centre = 1 / float(np.abs(X[:300, None] - X[None, 300:600]).sum(axis=2).mean())
        parts = train_test_split(X, y, test_size=0.2, random_state=0)
        gammas = [factor * centre for factor in (0.3, 1.0, 3.0)]
        scores = [model(gamma).fit(*parts[::2]).score(*parts[1::2]) for gamma in gammas]
        made = model(gammas[int(np.argmax(scores))])
        trees = HistGradientBoostingClassifier(random_state=0)
        times = best_times(1, skimp=partial(made.fit, X, y), trees=partial(trees.fit, X, y))
        accuracy = 100 * float(made.score(X_test, y_test))
        gain = accuracy - 100 * float(trees.score(X_test, y_test))
        details: dict[str, Any] = {"accuracy": accuracy, "best gamma": made.kernel.gamma, **times}
        bars.append(Bar(f"{name}: binning minus trees, points", gain, None, details=details))
    return bars


@benchmark
def fourier_speed() -> list[Bar]:
    """Compare with RBFSampler: 8,192 rows of 54 columns to 2,000 features, one thread."""
    from sklearn.kernel_approximation import RBFSampler

    from skimp._core._threads import single_threaded_blas
    from skimp.features import RandomFourier
    from skimp.kernels import Gaussian

    X, _ = whole("covtype")
    X = X[:8192].astype(np.float64)
    X /= np.maximum(1, np.abs(X).max(axis=0))
    bars = []
    with single_threaded_blas():
        for dtype, limit in ((np.float64, 1 / 6), (np.float32, 1 / 2)):
            A = X.astype(dtype)
            ours = RandomFourier(Gaussian(2.0), n_components=2000, random_state=0).fit(A)
            theirs = RBFSampler(gamma=2.0, n_components=2000, random_state=0).fit(A)
            out = np.empty((len(A), 2000), dtype)
            times = best_times(
                15,
                skimp=lambda ours=ours, A=A, out=out: ours.map_block(A, out),
                sampler=lambda theirs=theirs, A=A: theirs.transform(A),
            )
            ratio = times["skimp"] / times["sampler"]
            name = f"map_block / RBFSampler.transform, {np.dtype(dtype)}"
            bars.append(Bar(name, ratio, limit, details=times))
    return bars


@benchmark
def structured_speed() -> list[Bar]:
    """Compare structured with independent frequencies: 784 columns to 4,096 features."""
    from skimp._core._threads import single_threaded_blas
    from skimp.diagnostics import compare_maps
    from skimp.features import RandomFourier
    from skimp.kernels import Gaussian

    X = train_test("mnist")[0][:4096].astype(np.float32) / 255
    kinds = ("iid", "structured", "fastfood")
    maps = {kind: RandomFourier(Gaussian(0.02), n_components=4096, sampling=kind) for kind in kinds}
    frame = compare_maps(maps, X, sizes=[4096], repeats=10).to_frame()
    errors = frame.groupby("map")["frobenius"].mean()
    bars = [Bar("structured / iid, kernel error", float(errors["structured"] / errors["iid"]), 1.0)]
    with single_threaded_blas():
        for dtype in (np.float32, np.float64):
            A = X.astype(dtype)
            out = np.empty((len(A), 4096), dtype)
            fitted = {kind: made.set_params(random_state=0).fit(A) for kind, made in maps.items()}
            times = best_times(
                7, **{k: lambda m=m, A=A, out=out: m.map_block(A, out) for k, m in fitted.items()}
            )
            speed = times["iid"] / times["structured"]
            name = f"structured, times faster than iid, {np.dtype(dtype)}"
            bars.append(Bar(name, speed, 2.5, at_least=True, details=times))
    return bars


@benchmark
def sampling_errors() -> list[Bar]:
    """Divide the kernel error of each sampling by that of independent frequencies, 20 seeds."""
    from skimp.diagnostics import compare_maps
    from skimp.features import RandomFourier
    from skimp.kernels import Gaussian

    bars = []
    kinds = ("iid", "orthogonal", "qmc", "structured", "fastfood")
    for name in ("mnist", "usps", "ijcnn1", "covtype", "airfoil"):
        X = whole(name)[0] if name in ("covtype", "airfoil") else train_test(name)[0]
        rows = np.random.default_rng(0).permutation(len(X))[:4000]
        X = X[rows].astype(np.float64)
        X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)
        maps = {kind: RandomFourier(Gaussian("median"), sampling=kind) for kind in kinds}
        frame = compare_maps(maps, X, sizes=[1024], repeats=20, sample=500).to_frame()
        found = frame.groupby("map")["frobenius"].agg(["mean", "sem"])
        for kind in kinds[1:]:
            ratio = found["mean"][kind] / found["mean"]["iid"]
            spread = np.hypot(found["sem"][kind], ratio * found["sem"]["iid"])
            limit = 1.0 if kind in ("orthogonal", "qmc") else None
            iid = float(found["mean"]["iid"])
            details = {"iid": iid, "standard error": float(spread) / iid}
            title = f"{name}: {kind} / iid, kernel error"
            bars.append(Bar(title, float(ratio), limit, details=details))
    return bars


@benchmark
def hadamard_speed() -> Bar:
    """Time the Walsh-Hadamard transform of rows relative to a copy of them."""
    from numba import njit

    from skimp._core.loops._hadamard import hadamard

    @njit
    def transform(X: Any, buffer: Any) -> None:
        for i in range(len(X)):
            hadamard(X[i], buffer)

    X = np.random.default_rng(0).normal(size=(50_000, 1024)).astype(np.float32)
    Y = np.empty_like(X)
    buffer = np.empty(1024, np.float32)
    transform(Y[:1], buffer)
    times = best_times(5, copy=lambda: np.copyto(Y, X), transform=lambda: transform(Y, buffer))
    details = {**times, "GB/s": 2 * X.nbytes / times["transform"] / 1e9}
    ratio = times["transform"] / times["copy"]
    return Bar("Walsh-Hadamard transform / copy of the rows", ratio, None, details=details)
