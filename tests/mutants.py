"""Measure how many small errors in the code the tests find.

    python -m tests.mutants [--only FOLDER|NUMBER ...] [--workers N] [--list]

A mutant is one wrong line. ``mutants.txt`` lists them: a path in ``src/skimp`` and the kind of
error, then the code as it is and the code with the error. Each mutant is applied alone, to a copy
of the repository, and the tests that concern it run until one fails. That test must pass without
the mutant. The script prints one line for each mutant, and at the end the share that was caught.
"""

import argparse
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

import pytest

ROOT = Path(__file__).parents[1]
TABLE = Path(__file__).with_suffix(".txt")

# Patterns of the tests that concern a folder, in the order in which they run: cheap ones first.
TESTS = {
    "_core": ["contracts/test_kernels.py", "_core", "contracts/test_features.py", "features"],
    "_core/loops": [
        "contracts/test_kernels.py",
        "_core/loops",
        "contracts/test_[fls]*s.py",
        "estimators",
    ],
    "_params": ["_params", "contracts/test_kernels.py", "losses", "estimators"],
    "data": ["data", "contracts/test_block_sources.py", "budgets", "effects"],
    "kernels": ["contracts/test_kernels.py", "kernels", "features"],
    "losses": ["losses", "contracts/test_losses.py", "contracts/test_solvers.py"],
    "budgets": ["contracts/test_selectors.py", "budgets", "contracts/test_budgets*.py"],
    "features": ["contracts/test_features.py", "features", "contracts/test_block_sources.py"],
    "solvers": ["contracts/test_solvers.py", "solvers", "estimators"],
    "solvers/ridge": ["solvers/ridge", "effects", "choice"],
    "choice": ["choice", "estimators"],
    "estimators": ["estimators", "contracts/test_block_sources.py", "contracts/test_sklearn.py"],
    "effects": ["effects", "recipes"],
    "diagnostics": ["diagnostics", "report"],
    "recipes": ["recipes"],
    "report": ["report"],
    "testing": ["**/test_testing.py", "**/test_check_*.py", "contracts/test_[flks]*s.py"],
    "cli": ["cli"],
    "nn": ["nn"],
}
OPTIONS = ["-q", "-p", "no:cacheprovider", "-m", "not thorough"]  # with tests of PyTorch
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

    def tests(self) -> list[list[str]]:
        """Groups of tests; first the file of the same name, the most likely one to fail."""
        source = Path(self.path)
        patterns = COSTS if self.kind == "cost" else TESTS[self.folder]
        same = source.with_name(f"test{source.name}").as_posix()
        found = [sorted((ROOT / "tests").glob(pattern)) for pattern in (same, *patterns)]
        return [[str(path.relative_to(ROOT)) for path in paths] for paths in found if paths]


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

    def failing_with(self, mutant: Mutant, tests: list[str], limit: float) -> str:
        place = self.root / "src/skimp" / mutant.path
        original = place.with_suffix(".original")
        shutil.copy2(place, original)
        place.write_text(mutant.apply(place.read_text()))
        try:
            return next(iter(self.failing(["-x", *tests], limit)), "")
        except subprocess.TimeoutExpired:
            return "time limit"
        finally:
            original.replace(place)

    def failing(self, arguments: list[str], limit: float | None = None) -> list[str]:
        changed = {
            "PYTHONPATH": "src",
            "PYTHONDONTWRITEBYTECODE": "",
            "CI": "1",  # Hypothesis then draws the same examples each time, without a time limit
        }
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *OPTIONS, *arguments],
            cwd=self.root,
            env=os.environ | changed,
            timeout=limit,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            return []
        if done.returncode == pytest.ExitCode.USAGE_ERROR:
            raise SystemExit(done.stdout)
        failed = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
        return failed or [f"exit code {done.returncode}"]


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
    """One mutant of each folder in turn; loops last: the tests cache one version of them."""
    folders = defaultdict(list)
    for mutant in mutants:
        folders[mutant.folder].append(mutant)
    loops = folders.pop("_core/loops", [])
    return [m for row in zip_longest(*folders.values()) for m in row if m is not None] + loops


def run(mutants: list[Mutant], workers: int, limit: float) -> dict[Mutant, str]:
    """Find a test that fails for each mutant; the first group of tests of all mutants first."""
    found = dict.fromkeys(mutants, "")
    copies: SimpleQueue[Copy] = SimpleQueue()

    def judge(mutant: Mutant, groups: list[list[str]], level: int) -> None:
        start, copy = monotonic(), copies.get()
        found[mutant] = copy.failing_with(mutant, groups[level], limit)
        copies.put(copy)
        seconds[mutant] += monotonic() - start
        if found[mutant] or level == len(groups) - 1:
            print(f"{mutant}  ::  {verdict(found[mutant])}, {seconds[mutant]:.0f} s", flush=True)

    seconds = dict.fromkeys(mutants, 0.0)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(workers) as pool:
        for number in range(workers):
            copies.put(Copy(Path(folder, str(number))))
        groups = {mutant: mutant.tests() for mutant in mutants}
        for level in range(max(map(len, groups.values()))):
            waiting = [m for m in mutants if not found[m] and level < len(groups[m])]
            list(pool.map(lambda m, level=level: judge(m, groups[m], level), waiting))
        tests = sorted({test for test in found.values() if test.startswith("tests/")})
        broken = copies.get().failing(tests) if tests else []
    for test in broken:
        print(f"fails without a mutant, and counts as passed: {test}")
    return {mutant: "" if test in broken else test for mutant, test in found.items()}


def verdict(test: str) -> str:
    return f"caught by {test}" if test else "SURVIVED"


def report(found: dict[Mutant, str]) -> None:
    folders = defaultdict(list)
    for mutant, test in found.items():
        for name in (mutant.folder, "all"):
            folders[name].append(bool(test))
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
