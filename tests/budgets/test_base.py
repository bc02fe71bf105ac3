import re
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from skimp.budgets import Budget, Fixed, Uniform, as_selector


def test_names_and_objects():
    assert isinstance(as_selector("uniform", owner="Nystroem"), Uniform)
    selector = Fixed(np.ones((2, 2)))
    assert as_selector(selector, owner="Nystroem") is selector


@pytest.mark.parametrize("selector", ["kmeans++", None, Uniform, 3])
def test_what_is_no_selector(selector):
    first, last = "Nystroem: selector must be a selector object or one of 'uniform', ", selector
    with pytest.raises(ValueError, match=re.escape(first) + f".*got {re.escape(repr(last))}"):
        as_selector(selector, owner="Nystroem")


def test_a_budget_is_frozen_and_needs_points_only():
    budget = Budget(np.ones((2, 2)))
    assert budget.indices is None
    assert budget.weights is None
    with pytest.raises(FrozenInstanceError):
        budget.indices = np.arange(2)
