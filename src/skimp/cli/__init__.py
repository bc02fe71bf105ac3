"""The `skimp` command: parse, call, exit code; the only folder that prints."""

from skimp.cli._main import main

__all__ = ["main"]
