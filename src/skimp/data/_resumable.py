"""Loops of solvers that can continue where an earlier run has stopped."""

from collections.abc import Callable
from typing import Any


class Loop:
    """What a solver needs to continue: the state to start from, and where to keep later ones.

    A state is a dictionary of numbers, strings, arrays, and lists and dictionaries of these. It
    determines all later iterations, bit by bit. Arrays may be `FileArray`, and may change after
    ``keep`` returns.

    Attributes
    ----------
    state : dict or None
        The state to start from; None to start anew.
    """

    state: Any = None

    def keep(self, make_state: Callable[[], dict[str, Any]]) -> None:
        """Receive the state after an iteration; this class keeps none."""
