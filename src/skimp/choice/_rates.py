"""Measured speeds of this machine, cached in a small file."""

import json
import os
import platform
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from math import isfinite
from pathlib import Path

import numpy as np
from scipy import linalg

from skimp._core._blocks import fold
from skimp._core._threads import single_threaded_blas, thread_count
from skimp._core._types import Array
from skimp.choice._plan import NOMINAL, Rates

_REPEATS = 3


def measured_rates(n_jobs: int | None = None) -> Rates:
    """Return the speeds of this machine, for a number of threads.

    The first call measures them in about a second and stores them in the user's cache folder
    (``XDG_CACHE_HOME``, or ``.cache`` in the home folder). Later calls read that file. If it cannot
    be read or written, speeds are measured again.
    """
    given = os.environ.get("XDG_CACHE_HOME")
    folder = Path(given) if given else Path.home() / ".cache"
    return _known_rates(thread_count(n_jobs), folder / "skimp" / "rates.json")


@cache
def _known_rates(n_threads: int, file: Path) -> Rates:
    key, stored = _key(n_threads), {}
    with suppress(OSError, ValueError, RecursionError):
        stored = json.loads(file.read_text())
    stored = stored if isinstance(stored, dict) else {}
    record = stored.get(key)
    if isinstance(record, dict) and set(record) == set(asdict(NOMINAL)):
        values = record.values()
        if all(type(v) in (int, float) and isfinite(v) and v > 0 for v in values):
            return Rates(**{name: float(value) for name, value in record.items()})
    rates = calibrate(n_threads)
    with suppress(OSError):
        _write_whole(file, json.dumps({**stored, key: asdict(rates)}, indent=2))
    return rates


def _key(n_threads: int) -> str:
    model = platform.processor() or platform.machine()
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line for line in lines if line.startswith("model name")), model)
    model = model.partition(":")[2].strip() or model
    return f"{model}, {n_threads} threads, numpy {np.__version__}"


def _write_whole(file: Path, text: str) -> None:
    """Write a file under another name, then rename it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, aside = tempfile.mkstemp(dir=file.parent, suffix=".part")
    try:
        with os.fdopen(handle, "w") as stream:
            stream.write(text)
        Path(aside).replace(file)
    except OSError:
        Path(aside).unlink(missing_ok=True)
        raise


def calibrate(n_threads: int) -> Rates:
    """Measure the speeds of this machine with a number of threads."""
    from skimp._core.loops._profiles import negative_exp

    rng, blocks = np.random.default_rng(0), range(4 * n_threads)

    def by_threads(units: float, run: Callable[[int], object]) -> float:
        def run_all() -> None:
            fold(blocks, lambda block, _: run(block), lambda total, _: total, None, n_threads)

        return _per_second(units * len(blocks), run_all)

    def gemm(dtype: type) -> float:
        A: Array = rng.standard_normal((512, 512)).astype(dtype)
        places = [np.empty_like(A) for _ in blocks]
        return by_threads(2 * 512**3, lambda b: np.matmul(A, A, out=places[b]))

    size = 768
    G = rng.standard_normal((size, size))
    definite = np.asfortranarray(G @ G.T + size * np.eye(size))
    with single_threaded_blas():
        factor64 = _per_second(size**3 / 3, lambda: linalg.lapack.dpotrf(definite))
    arguments = rng.random((len(blocks), 256, 1000))
    ones, small = np.ones((len(blocks), 2**20)), np.ones(4)
    return Rates(
        gemm32=gemm(np.float32),
        gemm64=gemm(np.float64),
        factor64=factor64,
        values=by_threads(256 * 1000, lambda b: negative_exp(arguments[b])),
        bytes=by_threads(ones[0].nbytes, lambda b: ones[b].sum()),
        gathers=_gathers(rng),
        sweeps=_sweeps(rng),
        calls=_per_second(10_000, lambda: [np.add(small, small) for _ in range(10_000)]),
    )


def _per_second(units: float, run: Callable[[], object]) -> float:
    """Return the best speed of several runs, after a first one that compiles loops."""
    run()
    best = float("inf")
    for _ in range(_REPEATS):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return units / max(best, 1e-9)


def _gathers(rng: np.random.Generator) -> float:
    """Measure products of codes, and of their transpose, with 32 MB of coefficients."""
    from skimp._core.loops._codes import gather, scatter

    n_rows, groups, n_bins = 4096, 64, 2**16
    # a few bins hold most rows, as in real data
    codes = (n_bins * rng.random((n_rows, groups)) ** 4).astype(np.uint16)
    offsets = np.arange(groups) * n_bins
    coef, out = np.zeros((groups * n_bins, 1)), np.empty((n_rows, 1))
    value = np.float64(1.0)

    def run() -> None:
        gather(codes, offsets, value, 0, coef, out)
        scatter(codes, offsets, value, 0, out, coef)

    return _per_second(codes.size, run)


def _sweeps(rng: np.random.Generator) -> float:
    """Measure inner products of rows in random order, with updates of the coefficients."""
    from skimp._core.loops._dual import piecewise_sweep

    n_rows, width = 20_000, 400
    X: Array = rng.standard_normal((n_rows, width), dtype=np.float32)
    order = rng.permutation(n_rows)
    Q, C, Y = np.full(n_rows, float(width)), np.ones(n_rows), np.ones((n_rows, 1))
    limits = np.zeros(2), np.ones(2)

    def run() -> None:
        slopes, active = np.zeros((n_rows, 1)), np.ones((n_rows, 1), bool)
        V, b = np.zeros((1, width)), np.zeros(1)
        worst, largest = np.full(1, np.inf), np.zeros(1)
        state = slopes, active, 1.0, V, b, worst, largest
        piecewise_sweep(X, order, (0, 1), Q, C, Y, *state, *limits, 0.0, 0.0)

    return _per_second(X.size, run)
