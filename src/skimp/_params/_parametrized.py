"""Objects with parameters: scikit-learn's, with clear errors and texts, and safe fits."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from inspect import signature
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from skimp._params._rules import Rule, broken

_SHORT = 6
"""Numbers of an array that are written out."""
_LINE = 88
"""Characters of a line, beyond which a text has a line for each parameter."""


def _text(value: Any) -> str:
    """Return how a value is written; long arrays are shortened."""
    if not isinstance(value, np.ndarray) or value.size <= _SHORT:
        return repr(value)
    shown = np.array2string(value, precision=4, threshold=_SHORT, edgeitems=2, separator=", ")
    return f"array({shown})"


@contextmanager
def whole_or_nothing(obj: Any) -> Iterator[None]:
    """Give an object its attributes back if the block, a fit, does not come to its end."""
    before = dict(vars(obj))
    try:
        yield
    except BaseException:
        vars(obj).clear()
        vars(obj).update(before)
        raise


class Parametrized(BaseEstimator):
    """An estimator whose parameters have rules, and may be objects with parameters themselves."""

    rules: ClassVar[Mapping[str, Rule]]

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, ``kernel__gamma`` being the gamma of the kernel.

        Parameters
        ----------
        **params
            Names and values.

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
        """Return the call that makes it, without defaults, and with parts as they write themselves.

        Scikit-learn's printer takes parts apart instead: ``kernel=Sum(k1=..., k2=...)``.
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
