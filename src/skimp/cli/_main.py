"""Arguments in, exit code out."""

import argparse
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile

import skimp

_NEEDED = ("rich", "matplotlib")
_FEWEST_ROWS = 1000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the ``skimp`` command.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows ``skimp`` on the command line; by default, the command line.

    Returns
    -------
    int
        0 for success, 1 for failure, 130 when interrupted. Nonsense exits with 2.
    """
    options = _parser().parse_args(arguments)
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        return _fail(f'skimp demo needs {" and ".join(missing)}: pip install "skimp[cli]"')
    from concurrent.futures.process import BrokenProcessPool

    from skimp.cli._demo import run_demo

    try:
        run_demo(options.rows, options.output)
    except (BrokenProcessPool, MemoryError, OSError) as error:
        return _fail(f"skimp demo: error: {error}")
    except KeyboardInterrupt:
        return 130
    return 0


def _fail(message: str) -> int:
    sys.stderr.write(f"{message}\n")
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="skimp", description="Kernel machines on a budget: skimp on compute, not on accuracy."
    )
    parser.add_argument("--version", action="version", version=f"skimp {skimp.__version__}")
    commands = parser.add_subparsers(metavar="command", required=True)
    demo = commands.add_parser(
        "demo",
        help="compare a linear model, an exact SVC and skimp on generated rows and on digits",
        description="Fit a linear model, an exact SVC and skimp to generated rows and to digits; "
        "print accuracy, time and memory, and draw accuracy against time.",
    )
    demo.add_argument(
        "--rows",
        type=_row_count,
        default=200_000,
        metavar="N",
        help="training rows to generate (default: 200000)",
    )
    demo.add_argument(
        "--output",
        type=_png_path,
        default="skimp-demo.png",
        metavar="PATH",
        help="where to write the plot, a PNG file (default: skimp-demo.png)",
    )
    return parser


def _row_count(text: str) -> int:
    try:
        rows = int(text)
    except ValueError:
        rows = 0
    if rows < _FEWEST_ROWS:
        message = f"must be a whole number of at least {_FEWEST_ROWS}, got {text!r}"
        raise argparse.ArgumentTypeError(message)
    return rows


def _png_path(text: str) -> Path:
    """Return the path; a plot that cannot be written fails here, not after a minute of work."""
    path = Path(text)
    if not path.name or path.is_dir():
        raise argparse.ArgumentTypeError(f"must be the name of a file, got the folder {text!r}")
    try:
        with TemporaryFile(dir=path.parent):
            return path
    except OSError as error:
        message = f"cannot write into the folder '{path.parent}': {error.strerror}"
        raise argparse.ArgumentTypeError(message) from error
