"""Measure and record benchmarks, together with the state of the machine."""

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

OPTIONAL = {"torch", "PIL", "kmedoids"}
"""Packages without which some benchmarks are skipped."""
REGISTRY: dict[str, Callable[[], "Bar | list[Bar]"]] = {}


class MissingData(Exception):
    """A benchmark needs data that are not there."""


@dataclass
class Bar:
    """A measured number and its limit; None if there is no limit."""

    name: str
    measured: float
    limit: float | None
    at_least: bool = False
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def reached(self) -> bool:
        if self.limit is None:
            return True
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit

    def __str__(self) -> str:
        notes = ", ".join(f"{name} {_short(value)}" for name, value in self.details.items())
        if self.limit is None:
            return f"{'':>6}  {self.name}: {self.measured:.4g}  {notes}"
        sign, verdict = (">=" if self.at_least else "<="), ("ok" if self.reached else "MISSED")
        return f"{verdict:>6}  {self.name}: {self.measured:.4g} ({sign} {self.limit:g})  {notes}"


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def benchmark(fn: Callable[[], "Bar | list[Bar]"]) -> Callable[[], "Bar | list[Bar]"]:
    """Register a function that returns one or several bars, under its name."""
    REGISTRY[fn.__name__] = fn
    return fn


def best_times(repeat: int, **contestants: Callable[[], Any]) -> dict[str, float]:
    """Return the shortest time of each function. They take turns, so the load affects all alike."""
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(repeat):
        for name, run in contestants.items():
            time.sleep(0.2)  # threads of BLAS go on spinning after a product: not in the next turn
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def in_fresh_process(code: str, **environment: str) -> dict[str, Any]:
    """Run code in a new interpreter; it prints one JSON object as its last line."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def peak_bytes() -> int:
    """Return the largest resident size of this process so far.

    From the kernel's status file where there is one: what ``getrusage`` says of a process includes
    the size of the one that started it.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return 1024 * int(line.split()[1])
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )


def machine() -> dict[str, Any]:
    """Describe the hardware, the libraries and the load."""
    import numpy
    import scipy
    import sklearn
    from joblib import cpu_count

    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = lines[0].partition(":")[2].strip() if lines else model
    return {
        "processor": model,
        "cores": cpu_count(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


def run(names: list[str], output: Path) -> bool:
    """Run benchmarks by name, print and save their bars, and return whether all limits hold.

    Without names all are run, except those that lack a package or a file.
    """
    unknown = set(names) - set(REGISTRY)
    if unknown:
        raise SystemExit(f"no such benchmark: {sorted(unknown)}; there are {sorted(REGISTRY)}")
    record: dict[str, Any] = {"machine": machine(), "bars": []}
    reached = True
    for name in names or list(REGISTRY):
        try:
            measured = REGISTRY[name]()
        except (ModuleNotFoundError, MissingData) as error:
            optional = isinstance(error, MissingData) or error.name in OPTIONAL
            if names or not optional:
                raise
            print(f"skipped {name}: {error}", flush=True)
            continue
        for bar in measured if isinstance(measured, list) else [measured]:
            print(bar, flush=True)
            reached &= bar.reached
            record["bars"].append({**asdict(bar), "reached": bar.reached, "benchmark": name})
    record["load at the end"] = machine()["load"]
    output.parent.mkdir(parents=True, exist_ok=True)
    aside = output.with_suffix(".part")
    aside.write_text(json.dumps(record, indent=2) + "\n")
    aside.replace(output)
    print(f"saved {output}; load {record['machine']['load']} -> {record['load at the end']}")
    return reached
