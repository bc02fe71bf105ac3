"""Rules for parameters, and the message for a value that breaks one.

A class lists its rules in ``rules``, a dict from parameter name to `Rule`. `check_params` tests
all of them at the start of ``fit``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Rule:
    """A test and its wording, which completes the sentence "<parameter> must be ..."."""

    wording: str
    test: Callable[[Any], bool]

    def __or__(self, other: "Rule") -> "Rule":
        """Return a rule that accepts values that either rule accepts."""
        return Rule(
            f"{self.wording} or {other.wording}",
            lambda value: self.test(value) or other.test(value),
        )


def is_number(value: Any, kind: type) -> bool:
    """Return whether a value is an instance of a number class, and not a boolean."""
    return isinstance(value, kind) and not isinstance(value, bool | np.bool_)


def integer(at_least: int, at_most: int | None = None) -> Rule:
    """Accept integers within bounds."""
    bounds = f">= {at_least}" if at_most is None else f"from {at_least} to {at_most}"

    def test(value: Any) -> bool:
        within = is_number(value, Integral) and value >= at_least
        return within and (at_most is None or value <= at_most)

    return Rule(f"an integer {bounds}", test)


def number(
    *, above: float | None = None, at_least: float | None = None, at_most: float | None = None
) -> Rule:
    """Accept finite numbers > ``above``, >= ``at_least`` and <= ``at_most``."""
    bound = "" if above is None else f" > {above:g}"
    bound += "" if at_least is None else f" >= {at_least:g}"
    bound += "" if at_most is None else f" and <= {at_most:g}"

    def test(value: Any) -> bool:
        return (
            is_number(value, Real)
            and bool(np.isfinite(value))
            and (above is None or value > above)
            and (at_least is None or value >= at_least)
            and (at_most is None or value <= at_most)
        )

    return Rule(f"a number{bound}", test)


def numbers(wording: str) -> Rule:
    """Accept a sequence of finite, nonnegative numbers that are not all zero."""

    def allowed(value: Any) -> bool:
        return is_number(value, Real) and bool(np.isfinite(value)) and value >= 0

    def test(value: Any) -> bool:
        sequence = isinstance(value, list | tuple) or (
            isinstance(value, np.ndarray) and value.ndim == 1
        )
        return sequence and all(map(allowed, value)) and any(value)

    return Rule(wording, test)


def one_of(*values: str) -> Rule:
    """Accept these strings."""
    return Rule(
        " or ".join(repr(value) for value in values),
        lambda v: isinstance(v, str) and v in values,
    )


def instance(kind: type | tuple[type, ...], wording: str) -> Rule:
    """Accept instances of a class, but not the class itself."""
    return Rule(wording, lambda v: isinstance(v, kind))


def is_auto(value: object) -> bool:
    """Return whether a value is the string "auto"; an array would compare elementwise."""
    return isinstance(value, str) and value == "auto"


FRACTION = Rule("a number between 0 and 1", lambda v: is_number(v, Real) and 0 < v < 1)
NONE = Rule("None", lambda v: v is None)
BOOLEAN = Rule("True or False", lambda v: isinstance(v, bool | np.bool_))
N_JOBS = NONE | Rule("an integer other than 0", lambda v: is_number(v, Integral) and v != 0)
RANDOM_STATE = (
    NONE
    | integer(at_least=0)
    | instance((np.random.Generator, np.random.RandomState), "a NumPy random generator")
)


def broken(owner: str, name: str, wording: str, value: object) -> ValueError:
    """Return the error for a parameter that breaks its rule."""
    return ValueError(f"{owner}: {name} must be {wording}, got {value!r}.")


def check_values(owner: str, rules: Mapping[str, Rule], **values: Any) -> None:
    """Raise a `ValueError` for the first value that breaks its rule."""
    for name, value in values.items():
        if not rules[name].test(value):
            raise broken(owner, name, rules[name].wording, value)


def check_params(obj: Any) -> None:
    """Raise a `ValueError` for the first parameter of ``obj`` that breaks its rule."""
    values = {name: getattr(obj, name) for name in obj.rules}
    check_values(type(obj).__name__, obj.rules, **values)
