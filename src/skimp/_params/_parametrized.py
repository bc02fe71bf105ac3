"""The base of all classes with parameters, and a context for all-or-nothing fits."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from inspect import signature
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from skimp._params._rules import Rule, broken

_SHORT = 6
"""Arrays with more entries are abbreviated."""
_LINE = 88
"""A longer repr is split into one line per parameter."""


def _text(value: Any) -> str:
    """Return the repr of a value, with long arrays abbreviated."""
    if not isinstance(value, np.ndarray) or value.size <= _SHORT:
        return repr(value)
    shown = np.array2string(value, precision=4, threshold=_SHORT, edgeitems=2, separator=", ")
    return f"array({shown})"


@contextmanager
def all_or_nothing(obj: Any) -> Iterator[None]:
    """Restore all attributes of an object if the block raises."""
    before = dict(vars(obj))
    try:
        yield
    except BaseException:
        vars(obj).clear()
        vars(obj).update(before)
        raise


class Parametrized(BaseEstimator):
    """A scikit-learn estimator with a `Rule` for each parameter."""

    rules: ClassVar[Mapping[str, Rule]]

    def set_params(self, **params: Any) -> Self:
        """Set parameters, including nested ones such as ``kernel__gamma``.

        Parameters
        ----------
        **params
            Names and values of the parameters.

        Returns
        -------
        self
        """
        own = {**self.get_params(deep=False), **params}
        for name in params:
            outer, nested, inner = name.partition("__")
            value = own.get(outer)
            if nested and outer in own and isinstance(value, str | int | None):
                raise broken(
                    type(self).__name__, outer, f"an object for its {inner!r} to be set", value
                )
        super().set_params(**params)
        return self

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return the constructor call without defaults.

        Nested objects print their own repr, such as ``kernel=Gaussian() + Linear()``, which
        scikit-learn would print as ``kernel=Sum(k1=..., k2=...)``.
        """
        defaults = {name: p.default for name, p in signature(type(self)).parameters.items()}
        changed = [
            f"{name}={_text(value)}"
            for name, value in self.get_params(deep=False).items()
            if repr(value) != repr(defaults[name])
        ]
        name = type(self).__name__
        line = ", ".join(changed)
        if len(name) + len(line) > _LINE:
            line = (",\n" + " " * (len(name) + 1)).join(changed)
        return f"{name}({line})"


def same_params(one: Parametrized, other: Any) -> bool:
    """Return whether two objects of one class have equal parameters; arrays equal lists."""
    ours, theirs = (part.get_params(deep=False).values() for part in (one, other))
    return all(map(_equal, ours, theirs))


def hash_params(part: Parametrized) -> int:
    """Return a hash of the class and the parameters; arrays count by their shape."""
    params = part.get_params(deep=False).values()
    return hash((type(part), *(np.shape(p) if np.ndim(p) else p for p in params)))


def _equal(a: Any, b: Any) -> bool:
    if a is b or isinstance(a, Parametrized) or callable(a):
        return bool(a is b or a == b)
    return np.shape(a) == np.shape(b) and bool(np.all(np.asarray(a) == np.asarray(b)))
