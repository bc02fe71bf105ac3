"""``python -m benchmarks [name ...]``: run all or some benchmarks and save the results."""

import argparse
import os
import sys
from importlib import import_module
from pathlib import Path

from benchmarks.harness import REGISTRY, run

for file in sorted(Path(__file__).parent.glob("[a-z]*.py")):
    import_module(f"benchmarks.{file.stem}")

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"any of {', '.join(REGISTRY)}; all by default")
    parser.add_argument("--data", help="folder of .npz data sets (or the variable SKIMP_DATA)")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results/latest.json"))
    parser.add_argument("--only", help="fits of defaults, like 'regr/*' (or SKIMP_CASES)")
    given = parser.parse_args()
    if given.data:
        os.environ["SKIMP_DATA"] = given.data
    if given.only:
        os.environ["SKIMP_CASES"] = given.only
    sys.exit(0 if run(given.names, given.output) else 1)
