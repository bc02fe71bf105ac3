"""What several diagnostics take: data, sizes, a kernel, parts by name."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from skimp._params._rules import Rule, broken, instance, integer
from skimp.data import Rows
from skimp.effects import KRLS
from skimp.estimators import KernelClassifier, KernelRegressor
from skimp.kernels import Kernel

POSITIVE = integer(at_least=1)
SIZES = Rule(
    "a sequence of integers >= 1",
    lambda v: (
        isinstance(v, Sequence | np.ndarray)
        and np.size(v) > 0
        and np.ndim(v) == 1
        and all(map(POSITIVE.test, v))
    ),
)
KERNEL = instance(Kernel, "a kernel object, with numbers for parameters")
MODEL = instance(
    (KernelClassifier, KernelRegressor, KRLS), "a KernelClassifier, a KernelRegressor or a KRLS"
)


def is_data(value: Any) -> bool:
    """Return whether a value has rows; what is wrong with them is for checks of arrays to say."""
    return isinstance(value, Rows) or (not isinstance(value, type) and np.ndim(value) > 0)


def name_parts(owner: str, name: str, given: Any, kind: Any, wording: str) -> dict[str, Any]:
    """Return parts by name: one, a mapping, or a sequence, named by what its members print as."""
    if isinstance(given, kind):
        given = [given]
    if not isinstance(given, Mapping | Sequence) or not given:
        wording = f"{wording}, at least one, in a mapping or a sequence"
        raise broken(owner, name, wording, given)
    if isinstance(given, Mapping):
        return dict(given)
    names = [part if isinstance(part, str) else repr(part) for part in given]
    counts = [names[:i].count(text) for i, text in enumerate(names)]
    numbered = [
        f"{n} ({count + 1})" if count else n for n, count in zip(names, counts, strict=True)
    ]
    return dict(zip(numbered, given, strict=True))
