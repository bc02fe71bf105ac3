import re
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from skimp.solvers import Direct, Solution, as_solver


@pytest.mark.parametrize("name", ["auto", "direct"])
def test_names(name):
    assert isinstance(as_solver(name, owner="Model"), Direct)


def test_an_object_passes_through():
    solver = Direct()
    assert as_solver(solver, owner="Model") is solver


@pytest.mark.parametrize("solver", ["sgd", None, Direct, 1])
def test_what_is_no_solver(solver):
    message = f"Model: solver must be a solver object or one of 'auto', 'direct', got {solver!r}."
    with pytest.raises(ValueError, match=re.escape(message)):
        as_solver(solver, owner="Model")


def test_a_solution_is_frozen():
    solution = Solution(np.zeros((2, 1)), np.zeros(1), 1, True, "done")
    assert solution.history.size == 0
    with pytest.raises(FrozenInstanceError):
        solution.n_iter = 2
