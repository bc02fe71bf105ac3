"""Methods that exist only for some parameters."""

from collections.abc import Callable
from types import MethodType
from typing import Any


def available_unless(obstacle: Callable[[Any], str]) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator for a method that exists only if nothing prevents it.

    Otherwise ``hasattr`` is False, as with scikit-learn's `available_if`, but the error message
    says what to do. ``obstacle(model)`` returns what a model lacks, or ''. A `ValueError` for an
    invalid parameter counts as an obstacle.
    """
    return lambda method: _Method(method, obstacle)


class _Method:
    """A method with its obstacle, as an attribute of the class."""

    def __init__(self, method: Callable[..., Any], obstacle: Callable[[Any], str]):
        self._method = method
        self._obstacle = obstacle

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        if model is None:
            return self._method
        try:
            reason = self._obstacle(model)
        except ValueError as error:
            raise AttributeError(str(error)) from error
        if reason:
            raise AttributeError(f"{self._method.__name__} {reason}")
        return MethodType(self._method, model)
