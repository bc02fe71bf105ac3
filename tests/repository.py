"""Where the repository's files are, and Python in a process of its own."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "skimp"


def run_python(*arguments, python=sys.executable, cwd=ROOT, **options):
    """Run Python, and return what it wrote to standard output; fail where it failed."""
    done = subprocess.run(
        [python, *arguments], cwd=cwd, capture_output=True, text=True, timeout=300, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
