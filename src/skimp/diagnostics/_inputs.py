"""What several diagnostics take: data, sizes, a kernel, a model."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from skimp._params._rules import Rule, instance, integer
from skimp.data import Rows
from skimp.effects import KRLS
from skimp.estimators import KernelClassifier, KernelRegressor
from skimp.kernels import Kernel


def sequence_of(rule: Rule, wording: str) -> Rule:
    """Allow sequences of at least one value, which all keep to a rule."""

    def test(value: Any) -> bool:
        sequence = isinstance(value, Sequence | np.ndarray) and np.ndim(value) == 1
        return sequence and len(value) > 0 and all(map(rule.test, value))

    return Rule(wording, test)


POSITIVE = integer(at_least=1)
SIZES = sequence_of(POSITIVE, "a sequence of integers >= 1")
KERNEL = instance(Kernel, "a kernel object, with numbers for parameters")
MODEL = instance(
    (KernelClassifier, KernelRegressor, KRLS), "a KernelClassifier, a KernelRegressor or a KRLS"
)


def is_data(value: Any) -> bool:
    """Return whether a value has rows; what is wrong with them is for checks of arrays to say."""
    return isinstance(value, Rows) or (not isinstance(value, type) and np.ndim(value) > 0)
