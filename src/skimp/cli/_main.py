"""Arguments in, exit code out."""

import argparse
import sys
from collections.abc import Sequence

import skimp


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the ``skimp`` command.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after ``skimp``. By default those of the command line.

    Returns
    -------
    int
        0 for success, 1 for failure, 130 if interrupted. Unknown arguments exit with 2.
    """
    options = _parser().parse_args(arguments)
    from skimp.cli._demo import run_demo

    try:
        run_demo(options.quick)
    except (MemoryError, OSError) as error:
        sys.stderr.write(f"skimp demo: error: {error}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="skimp", description="Kernel machines on a budget: skimp on compute, not on accuracy."
    )
    parser.add_argument("--version", action="version", version=f"skimp {skimp.__version__}")
    commands = parser.add_subparsers(metavar="command", required=True)
    demo = commands.add_parser(
        "demo",
        help="show in about a minute what skimp is for, on generated data",
        description="Compare skimp with trees and SVC, estimate effects on a million rows, and fit "
        "a model that chooses its parameters. All data are generated.",
    )
    demo.add_argument("--quick", action="store_true", help="few rows, to check an installation")
    return parser
