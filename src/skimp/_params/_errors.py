"""Errors that callers tell apart."""


class MemoryLimitError(MemoryError):
    """Something needs more than ``memory_limit``."""


class UnsupportedError(ValueError):
    """A part cannot do what it was asked for, such as grids for a kernel that has none."""
