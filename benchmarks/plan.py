"""Compare predicted with measured seconds and bytes of twelve fits."""

from benchmarks.harness import Bar, benchmark, in_fresh_process

_SET_UP = """
import ctypes, json, time
from pathlib import Path
import numpy as np
from benchmarks.datasets import train_test, whole
from benchmarks.harness import peak_bytes
from skimp import KernelClassifier, KernelRegressor
from skimp.choice._rates import Rates, calibrate
from skimp._core._threads import thread_count
from skimp.diagnostics import plan
from skimp.features import Nystroem, RandomBinning, RandomFourier
from skimp.kernels import Gaussian, Laplacian

def standard(X, dtype):
    X = X.astype(dtype)
    X -= X.mean(axis=0)
    return X / np.maximum(X.std(axis=0), 1e-6).astype(dtype)

def mnist(dtype, n):
    X, y, *_ = train_test("mnist")
    return X[:n].astype(dtype) / dtype(255), y[:n]

def covtype(dtype, n):
    X, y = whole("covtype")
    rows = np.random.default_rng(0).permutation(len(X))[:n]
    X = X[rows].astype(dtype)
    X -= X.min(axis=0)
    return X / np.maximum(1, X.max(axis=0)), y[rows]

def ijcnn1(dtype, n):
    X, y, *_ = train_test("ijcnn1")
    return standard(X, dtype)[:n], y[:n]

def a9a(dtype, n):
    X, y, *_ = train_test("a9a")
    return X.astype(dtype)[:n], y[:n]

def appliances(dtype, n):
    X, y = whole("appliances_energy")
    return standard(X, dtype)[:n], np.log(y[:n].astype(float))

def wine(dtype, n):
    X, y = whole("wine_quality_white")
    return standard(X, dtype)[:n], y[:n].astype(float)

def uniform(m):
    return Nystroem(budget=m, selector="uniform")

def pivoted(m):
    return Nystroem(budget=m, selector="rpcholesky")

def fourier(m):
    return RandomFourier(n_components=m)

def structured(m):
    return RandomFourier(n_components=m, sampling="structured")

f32, f64 = np.float32, np.float64
"""

_MEASURE = """
def resident():
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmRSS")).split()[1])

def rates():
    return calibrate(thread_count(None))

# libraries are loaded and loops are compiled by a small fit of the same kind
few = np.random.default_rng(1).permutation(X.shape[0])[:SMALL]
make(TINY).fit(X[few], y[few])
# memory that was freed goes back to the system, and the peak is forgotten
ctypes.CDLL(None).malloc_trim(0)
Path("/proc/self/clear_refs").write_text("5")
before = resident()
runs = []
for _ in range(REPEATS):
    start = time.perf_counter()
    model = make(SIZE).fit(X, y)
    runs.append(time.perf_counter() - start)
    if len(runs) == 1:
        peak = peak_bytes()
        rates()
        first = rates()
seconds = min(runs)
last = rates()
# the better of two measurements, as the best of several fits is taken
best = Rates(**{name: max(value, vars(last)[name]) for name, value in vars(first).items()})
start = time.perf_counter()
planned = plan(make(SIZE), X, y, rates=best)
planning = time.perf_counter() - start
print(json.dumps({"seconds": seconds, "bytes": peak - before, "plan": planned.to_dict(),
                  "planning": planning, "message": model.solution_.message}))
"""

_CASES = {
    "wine, exact": (
        "wine(f64, None)",
        "KernelRegressor('rbf', approximation=m, alpha=1e-3)",
        None,
        None,
    ),
    "wine, uniform, direct": (
        "wine(f64, None)",
        "KernelRegressor('rbf', approximation=uniform(m), alpha=1e-3)",
        600,
        50,
    ),
    "mnist, auto, squared hinge": (
        "mnist(f32, 60_000)",
        "KernelClassifier(Gaussian(0.02), alpha=1e-6, approximation=m)",
        1000,
        700,
    ),
    "mnist, structured, direct": (
        "mnist(f32, 60_000)",
        "KernelClassifier('rbf', alpha=1e-6, loss='squared', approximation=structured(m))",
        2000,
        50,
    ),
    "covtype, Fourier, log": (
        "covtype(f32, 200_000)",
        "KernelClassifier(Gaussian(2.0), alpha=1e-6, approximation=fourier(m), loss='log')",
        500,
        50,
    ),
    "covtype, binning, squared hinge": (
        "covtype(f32, 300_000)",
        "KernelClassifier(Laplacian(10.0), alpha=1e-6, approximation=RandomBinning(n_grids=m))",
        32,
        8,
    ),
    "ijcnn1, uniform, hinge": (
        "ijcnn1(f64, None)",
        "KernelClassifier('rbf', approximation=uniform(m), loss='hinge', alpha=1e-5)",
        400,
        50,
    ),
    "a9a, sparse, uniform, direct": (
        "a9a(f64, None)",
        "KernelClassifier('rbf', approximation=uniform(m), loss='squared', alpha=1e-6)",
        1200,
        50,
    ),
    "a9a, sparse, uniform, squared hinge": (
        "a9a(f32, None)",
        "KernelClassifier('rbf', approximation=uniform(m), alpha=1e-6)",
        600,
        50,
    ),
    "appliances, rpcholesky, direct": (
        "appliances(f64, None)",
        "KernelRegressor('rbf', approximation=pivoted(m), alpha=1e-6)",
        1000,
        50,
    ),
    "ijcnn1, Fourier, pcg": (
        "ijcnn1(f32, None)",
        "KernelRegressor('rbf', approximation=fourier(m), alpha=1e-6, solver='pcg')",
        1500,
        50,
    ),
    "covtype, auto, log": (
        "covtype(f64, 100_000)",
        "KernelClassifier(Gaussian(2.0), alpha=1e-6, approximation=m, loss='log')",
        500,
        140,
    ),
}
"""Data, model, its size, and that of a small one."""


@benchmark
def plans() -> list[Bar]:
    """Return the ratio of predicted to measured values, or its inverse if that is larger."""
    bars = []
    for name, (data, model, size, tiny) in _CASES.items():
        sizes = f"SIZE, TINY, SMALL, REPEATS = {size}, {tiny}, {6000 if size else 1000}, 3\n"
        made = f"def make(m):\n    return {model}.set_params(random_state=0)\n"
        found = in_fresh_process(f"{_SET_UP}X, y = {data}\n{sizes}{made}{_MEASURE}")
        for what, limit in (("seconds", 2.0), ("bytes", 1.25)):
            ratio = found["plan"][what] / found[what]
            unit = 1e6 if what == "bytes" else 1.0
            details = {
                "planned": found["plan"][what] / unit,
                "measured": found[what] / unit,
                "phases": " ".join(
                    f"{phase['name']} {phase[what] / unit:.3g}" for phase in found["plan"]["phases"]
                ),
                "planning s": found["planning"],
                "message": found["message"],
            }
            bars.append(Bar(f"{name}: {what}", max(ratio, 1 / ratio), limit, details=details))
    return bars
