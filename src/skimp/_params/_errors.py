"""Exception classes that callers catch separately."""


class MemoryLimitError(MemoryError):
    """A computation needs more memory than ``memory_limit``."""


class UnsupportedError(ValueError):
    """An operation that an object does not support, such as random grids of a Matern kernel."""
