"""Warnings that point at the user's code."""

import sys
import warnings
from types import FrameType


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the line outside this package that led here."""
    frame: FrameType | None = sys._getframe()
    level = 1
    while frame is not None and frame.f_globals.get("__name__", "").startswith("skimp."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
