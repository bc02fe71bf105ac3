"""Fits from files larger than their memory limit: seconds, peak memory and killed processes.

``python -m benchmarks.beyond_memory FILE ROWS`` writes the data set alone.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Bar, benchmark, in_fresh_process

COLUMNS = 28
_PART = 2**17
_LIMIT = "400MB"
_SIZES = (1_000_000, 10_000_000)


def write_rows(path: Path, n_rows: int) -> None:
    """Write a Parquet file of float32 columns, a number and a label that depend on four of them."""
    import pyarrow as pa
    from pyarrow import parquet

    names = [f"x{j}" for j in range(COLUMNS)]
    schema = pa.schema([(name, pa.float32()) for name in [*names, "y"]] + [("label", pa.int8())])
    aside = path.with_suffix(".part")
    with parquet.ParquetWriter(aside, schema, compression="none", use_dictionary=False) as writer:
        for start in range(0, n_rows, _PART):
            rng, n = np.random.default_rng([0, start]), min(_PART, n_rows - start)
            X = rng.standard_normal((n, COLUMNS), dtype=np.float32)
            signal = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + np.cos(3 * X[:, 3]) / 2
            noise = rng.standard_normal((2, n), dtype=np.float32)
            y, label = signal + 0.3 * noise[0], signal + 0.3 * noise[1] > 0
            columns = [*np.ascontiguousarray(X.T), y.astype(np.float32), label.astype(np.int8)]
            writer.write_table(pa.table(columns, schema=schema))
    aside.replace(path)


def rows_of(n_rows: int) -> Path:
    """Return the path of the data set, which is written if it is missing."""
    folder = Path(os.environ.get("SKIMP_BIG", Path(tempfile.gettempdir()) / "skimp-rows"))
    folder.mkdir(exist_ok=True)
    path = folder / f"rows-{n_rows}.parquet"
    if not path.exists():
        write_rows(path, n_rows)
    return path


_FIT = """
import json, time
import numpy as np
from benchmarks.harness import peak_bytes
from skimp import KernelClassifier, KernelRegressor
from skimp.data import Checkpoint, open_rows
from skimp.features import Nystroem, RandomBinning, RandomFourier
from skimp.kernels import Gaussian, Laplacian

smooth, rough = Gaussian(gamma=0.05), Laplacian(gamma=0.05)
MAPS = {
    "fourier": RandomFourier(smooth, n_components=1000),
    "landmarks": Nystroem(smooth, budget=1000),
    "binning": RandomBinning(rough, n_grids=100),
}

def model(kind, limit):
    name, loss = kind.split("-")
    options = dict(approximation=MAPS[name], loss=loss, memory_limit=limit)
    options |= dict(alpha=1e-6, random_state=0)
    return KernelRegressor(**options) if loss == "squared" else KernelClassifier(**options)

def source(path, kind, n=None):
    target = "y" if kind.endswith("squared") else "label"
    columns = [f"x{j}" for j in range(28)]
    rows = open_rows(path, target=target, columns=columns)
    if not IN_MEMORY:
        return rows
    X, y = np.empty((rows.n_rows, 28), np.float32), []
    for block in rows.blocks():
        X[block.start : block.start + block.size] = block.X
        y.append(block.y)
    return open_rows(X, target=np.concatenate(y))

# compile first
few = np.random.default_rng(0).normal(size=(3000, 28)).astype(np.float32)
model(KIND, LIMIT).fit(few, few[:, 0] if KIND.endswith("squared") else few[:, 0] > 0)
warm, rows = peak_bytes(), source(PATH, KIND)
began = time.perf_counter()
fitted = model(KIND, LIMIT).fit(rows)
seconds = time.perf_counter() - began
print(json.dumps({"seconds": seconds, "peak MB": peak_bytes() / 1e6, "warm MB": warm / 1e6,
                  "message": fitted.solution_.message, "size": float(np.abs(fitted.coef_).sum())}))
"""


def fit(kind: str, n_rows: int, *, in_memory: bool) -> dict[str, Any]:
    """Fit a model in a fresh process; return its seconds and its peak memory."""
    path = rows_of(n_rows)
    about = f"PATH, KIND, IN_MEMORY, LIMIT = {str(path)!r}, {kind!r}, {in_memory}, {_LIMIT!r}\n"
    return in_fresh_process(about + _FIT)


def measure(kind: str) -> list[Bar]:
    """Fit to 1 and 10 million rows from Parquet, and to 10 million rows in memory."""
    few, many = (fit(kind, n, in_memory=False) for n in _SIZES)
    held = fit(kind, _SIZES[1], in_memory=True)
    notes = {"solver": many["message"], "equal": many["size"] == held["size"]}
    return [
        Bar(f"{kind}: peak GB", many["peak MB"] / 1e3, 1.5, details={"warm": few["warm MB"]}),
        Bar(f"{kind}: file / memory", many["seconds"] / held["seconds"], 1.3, details=notes),
        Bar(
            f"{kind}: seconds, 10 times the rows",
            many["seconds"] / few["seconds"],
            11.5,
            details={"1 million": few["seconds"], "10 million": many["seconds"]},
        ),
        Bar(f"{kind}: MB more for 10 times the rows", many["peak MB"] - few["peak MB"], 20.0),
    ]


@benchmark
def beyond_fourier() -> list[Bar]:
    """1,000 Fourier features: squared and logistic loss."""
    return [*measure("fourier-squared"), *measure("fourier-log")]


@benchmark
def beyond_landmarks() -> list[Bar]:
    """1,000 landmarks: squared and logistic loss."""
    return [*measure("landmarks-squared"), *measure("landmarks-log")]


@benchmark
def beyond_binning() -> list[Bar]:
    """100 grids of random binning, squared loss."""
    return measure("binning-squared")


_KILLED = """
rows = open_rows(PATH, target="label", columns=[f"x{j}" for j in range(28)])
fitted = model("fourier-log", LIMIT).set_params(
    checkpoint=None if FOLDER is None else Checkpoint(FOLDER, every=EVERY))
began = time.perf_counter()
fitted.fit(rows)
seconds = time.perf_counter() - began
np.save(RESULT, fitted.coef_)
print(json.dumps({"seconds": seconds}))
"""


@benchmark
def killed_fits() -> list[Bar]:
    """Kill a fit to a million rows at ten random moments, and resume it each time."""
    every, n_rows = 5.0, _SIZES[0]
    head = _FIT.partition("# compile first")[0]
    with tempfile.TemporaryDirectory() as folder:

        def code(checkpoint: str | None, result: str) -> str:
            about = {"PATH": str(rows_of(n_rows)), "FOLDER": checkpoint, "RESULT": result}
            about |= {"LIMIT": _LIMIT, "EVERY": every, "IN_MEMORY": False}
            lines = [f"{name} = {value!r}" for name, value in about.items()]
            return "\n".join([*lines, head, _KILLED])

        whole = in_fresh_process(code(None, f"{folder}/whole.npy"))["seconds"]
        expected = np.load(f"{folder}/whole.npy")
        # the same steps with a checkpoint, which keeps no predictions in memory
        stored = in_fresh_process(code(f"{folder}/0", f"{folder}/stored.npy"))["seconds"]
        draw, equal, repeated = random.Random(0), 0, []
        for number in range(1, 11):
            checkpoint, result = f"{folder}/{number}", f"{folder}/{number}.npy"
            moment = draw.uniform(0.05, 0.95) * stored
            with subprocess.Popen(
                [sys.executable, "-c", code(checkpoint, result)], stdout=subprocess.PIPE
            ) as process:
                # imports come before the fit; the folder appears when it begins
                while not Path(checkpoint).exists():
                    time.sleep(0.01)
                began = time.perf_counter()
                time.sleep(max(0.0, moment))
                process.kill()
                process.wait()
                spent = time.perf_counter() - began
            resumed = in_fresh_process(code(checkpoint, result))["seconds"]
            repeated.append(spent + resumed - stored)
            equal += np.array_equal(np.load(result), expected)
    return [
        Bar("killed fits: equal models", equal, 10, at_least=True),
        Bar(
            "killed fits: most seconds repeated, in intervals",
            max(repeated) / every,
            1.0,
            details={"without": whole, "with checkpoint": stored, "repeated": repeated},
        ),
    ]


if __name__ == "__main__":
    write_rows(Path(sys.argv[1]), int(sys.argv[2]))
    print(json.dumps({"path": sys.argv[1], "rows": int(sys.argv[2])}))
