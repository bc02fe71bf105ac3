"""Measure how many small errors in the code the tests find.

    python -m tests.mutants [--only FOLDER|NUMBER ...] [--workers N] [--list]

A mutant is one wrong line. ``mutants.txt`` lists them: a path in ``src/skimp`` and the kind of
error, then the code as it is and the code with the error. Each mutant is applied alone, to a copy
of the repository, and the tests that concern it run until one fails. That test must pass without
the mutant. The script prints one line for each mutant, and at the end the share that was caught.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from queue import SimpleQueue
from time import monotonic

ROOT = Path(__file__).parents[1]
TABLE = Path(__file__).with_suffix(".txt")

# Patterns of the tests that concern a folder: its own, the contracts, a dependent.
TESTS = {
    "_core": ["_core", "contracts/test_kernels.py", "contracts/test_features.py", "features"],
    "_core/loops": ["_core", "contracts/test_kernels.py", "contracts/test_[fls]*s.py", "solvers"],
    "_params": ["_params", "contracts/test_kernels.py", "losses", "estimators"],
    "data": ["data", "contracts/test_block_sources.py", "budgets", "effects"],
    "kernels": ["kernels", "contracts/test_kernels.py", "features"],
    "losses": ["losses", "contracts/test_losses.py", "contracts/test_solvers.py"],
    "budgets": ["budgets", "contracts/test_selectors.py", "contracts/test_budgets*.py"],
    "features": ["features", "contracts/test_features.py", "contracts/test_block_sources.py"],
    "solvers": ["solvers", "contracts/test_solvers.py", "estimators"],
    "solvers/ridge": ["solvers/ridge", "effects", "choice"],
    "choice": ["choice", "estimators"],
    "estimators": ["estimators", "contracts/test_block_sources.py", "contracts/test_sklearn.py"],
    "effects": ["effects", "recipes"],
    "diagnostics": ["diagnostics", "report"],
    "recipes": ["recipes"],
    "report": ["report"],
    "testing": ["**/test_testing.py", "**/test_check_*.py", "contracts/test_[flks]*s.py"],
    "cli": ["cli"],
}
COSTS = ["**/test_cost*.py", "choice", "**/test_plan*.py", "contracts/test_selectors.py"]


@dataclass(frozen=True)
class Mutant:
    number: int
    path: str
    kind: str
    old: str
    new: str

    @property
    def folder(self) -> str:
        found = [name for name in TESTS if self.path.startswith(f"{name}/")]
        return max(found, key=len)

    def __str__(self) -> str:
        return f"{self.number:3} {self.path}: {self.kind}: {self.old}  ->  {self.new}"

    def apply(self, text: str) -> str:
        if text.count(self.old) != 1:
            raise SystemExit(f"occurs {text.count(self.old)} times instead of once: {self}")
        return text.replace(self.old, self.new)

    def tests(self, root: Path) -> list[list[str]]:
        """Groups of tests; first the file of the same name, the most likely one to fail."""
        source = Path(self.path)
        patterns = COSTS if self.kind == "cost" else TESTS[self.folder]
        same = source.with_name(f"test{source.name}").as_posix()
        found = [sorted((root / "tests").glob(pattern)) for pattern in (same, *patterns)]
        return [[str(path.relative_to(root)) for path in paths] for paths in found if paths]


@dataclass(frozen=True)
class Result:
    mutant: Mutant
    verdict: str
    seconds: float
    test: str = ""

    def __str__(self) -> str:
        return f"{self.mutant}  ::  {self.verdict}, {self.seconds:.0f} s  {self.test}"


class Copy:
    """A copy of the repository, with its time stamps: a restored file is one that is known."""

    def __init__(self, root: Path):
        self.root = root
        listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        found = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True)
        for name in found.stdout.splitlines():
            if (ROOT / name).is_file():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, root / name)

    def judge(self, mutant: Mutant, limit: float) -> Result:
        place = self.root / "src/skimp" / mutant.path
        original = place.with_suffix(".original")
        shutil.copy2(place, original)
        start = monotonic()
        place.write_text(mutant.apply(place.read_text()))
        try:
            code, test = self._run_groups(mutant.tests(self.root), limit)
        except subprocess.TimeoutExpired:
            return Result(mutant, "caught by the time limit", monotonic() - start)
        finally:
            original.replace(place)
        seconds = monotonic() - start
        if code == 0:
            return Result(mutant, "SURVIVED", seconds)
        if not test or self._pytest([test], limit)[0] != 0:
            return Result(mutant, "BROKEN without the mutant", seconds, test or f"exit code {code}")
        return Result(mutant, "caught", seconds, test)

    def _run_groups(self, groups: list[list[str]], limit: float) -> tuple[int, str]:
        results = (self._pytest(tests, limit) for tests in groups)
        return next(((code, test) for code, test in results if code != 0), (0, ""))

    def _pytest(self, tests: list[str], limit: float) -> tuple[int, str]:
        # Numba's own key misses edits in the functions that a cached function calls
        loops = sorted((self.root / "src/skimp/_core/loops").glob("*.py"))
        key = hashlib.sha256(b"".join(path.read_bytes() for path in loops)).hexdigest()
        # CI: Hypothesis then draws the same examples each time, without a time limit
        changed = {"PYTHONPATH": "src", "NUMBA_CACHE_DIR": f"{self.root}/.numba/{key}", "CI": "1"}
        options = ["-x", "-q", "-p", "no:cacheprovider"]
        command = [sys.executable, "-m", "pytest", *options, *tests]
        done = subprocess.run(
            command,
            cwd=self.root,
            env=os.environ | changed,
            timeout=limit,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
        return done.returncode, failed[1] if failed else ""


def read_table() -> list[Mutant]:
    mutants = []
    for number, entry in enumerate(TABLE.read_text().strip().split("\n\n"), start=1):
        head, old, new = entry.splitlines()
        path, _, kind = head.partition(": ")
        mutant = Mutant(number, path, kind, old.removeprefix("- "), new.removeprefix("+ "))
        mutant.apply((ROOT / "src/skimp" / path).read_text())
        mutants.append(mutant)
    return mutants


def alternate(mutants: list[Mutant]) -> list[Mutant]:
    """One mutant of each folder in turn: the first results are of all folders."""
    folders = defaultdict(list)
    for mutant in mutants:
        folders[mutant.folder].append(mutant)
    return [m for row in zip_longest(*folders.values()) for m in row if m is not None]


def run(mutants: list[Mutant], workers: int, limit: float) -> list[Result]:
    copies: SimpleQueue[Copy] = SimpleQueue()

    def judge(mutant: Mutant) -> Result:
        copy = copies.get()
        try:
            result = copy.judge(mutant, limit)
        finally:
            copies.put(copy)
        print(result, flush=True)
        return result

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(workers) as pool:
        for number in range(workers):
            copies.put(Copy(Path(folder, str(number))))
        return list(pool.map(judge, mutants))


def report(results: list[Result]) -> None:
    folders = defaultdict(list)
    for result in results:
        for name in (result.mutant.folder, "all"):
            folders[name].append(result.verdict.startswith("caught"))
    print("\nfolder          caught")
    for name, caught in sorted(folders.items(), key=lambda item: (item[0] == "all", item[0])):
        print(f"{name:<15} {sum(caught)} of {len(caught)}, {sum(caught) / len(caught):.0%}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("--only", nargs="+", default=[], metavar="FOLDER|NUMBER")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--limit", type=float, default=1800, help="seconds for a group of tests")
    parser.add_argument("--list", action="store_true", help="check and print the table, run none")
    options = parser.parse_args()
    only = options.only
    mutants = [m for m in read_table() if not only or {m.folder, str(m.number)} & set(only)]
    if options.list:
        print(*mutants, sep="\n")
    else:
        report(run(alternate(mutants), options.workers, options.limit))


if __name__ == "__main__":
    main()
