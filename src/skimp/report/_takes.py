"""What a display takes: an error that names the class and where to get it from."""

from typing import Any


def require_kind(owner: str, name: str, value: Any, kind: type, wording: str) -> None:
    """Raise a `TypeError` unless a value is of a kind; the wording says which, and its source."""
    if not isinstance(value, kind):
        found = f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
        raise TypeError(f"{owner}: {name} must be {wording}, got {found}.")
