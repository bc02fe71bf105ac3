"""Memory limits: parse them, find the memory of the machine, and reject what does not fit."""

import os
import re
from pathlib import Path

from skimp._params._errors import MemoryLimitError
from skimp._params._rules import NONE, Rule, integer

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


SIZE = integer(at_least=1) | Rule(
    "a size such as '2GB'", lambda v: isinstance(v, str) and _size(v) is not None
)
"""The rule for a number of bytes."""
MEMORY_LIMIT = NONE | SIZE
"""The rule for ``memory_limit``."""


def parse_bytes(limit: int | str | None) -> int:
    """Return a limit in bytes; ``None`` means half of the machine's memory."""
    if limit is None:
        return _physical_bytes() // 2
    if not isinstance(limit, str):
        return int(limit)
    size = _size(limit)
    if size is None:
        raise ValueError(f"memory_limit must be {MEMORY_LIMIT.wording}, got {limit!r}.")
    return size


def _size(text: str) -> int | None:
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([KMGT]?)B\s*", text.upper())
    return None if match is None else int(float(match[1]) * _UNITS[match[2]])


def _physical_bytes() -> int:
    """Return the memory of the machine, or of its container if that is smaller."""
    try:
        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 16 * 10**9
    try:
        container = int(Path("/sys/fs/cgroup/memory.max").read_text())
    except (OSError, ValueError):
        return machine
    return min(machine, container)


def require_memory(needed: int, limit: int | str | None, what: str, remedy: str) -> None:
    """Raise a `MemoryLimitError` that names a remedy if ``needed`` bytes exceed the limit."""
    allowed = parse_bytes(limit)
    if needed > allowed:
        raise MemoryLimitError(
            f"{what} needs {readable(needed)}, more than the memory limit of "
            f"{readable(allowed)}: {remedy}, or raise memory_limit."
        )


def readable(size: int) -> str:
    """Format a number of bytes with a unit."""
    unit = next(unit for unit in reversed(_UNITS) if size >= _UNITS[unit] or unit == "")
    return f"{size / _UNITS[unit]:.3g} {unit}B"
