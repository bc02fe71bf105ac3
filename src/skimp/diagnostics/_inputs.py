"""Rules for arguments that several diagnostics share."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from skimp._params._rules import Rule, instance, integer
from skimp.data import Rows
from skimp.effects import KRLS
from skimp.estimators import KernelClassifier, KernelRegressor
from skimp.kernels import Kernel


def sequence_of(rule: Rule, wording: str) -> Rule:
    """Return a rule for nonempty sequences whose values all satisfy another rule."""

    def test(value: Any) -> bool:
        sequence = isinstance(value, Sequence | np.ndarray) and np.ndim(value) == 1
        return sequence and len(value) > 0 and all(map(rule.test, value))

    return Rule(wording, test)


POSITIVE = integer(at_least=1)
SIZES = sequence_of(POSITIVE, "a sequence of integers >= 1")
KERNEL = instance(Kernel, "a kernel object with numeric parameters")
MODEL = instance(
    (KernelClassifier, KernelRegressor, KRLS), "a KernelClassifier, a KernelRegressor or a KRLS"
)


def is_data(value: Any) -> bool:
    """Return whether a value can hold rows; their contents are checked later."""
    return isinstance(value, Rows) or (not isinstance(value, type) and np.ndim(value) > 0)
