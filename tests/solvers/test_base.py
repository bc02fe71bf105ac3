import re
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from skimp.solvers import PCG, Auto, Direct, DualCD, Newton, Solution, Status, as_solver

NAMES = {"auto": Auto, "direct": Direct, "newton": Newton, "pcg": PCG, "dual_cd": DualCD}


@pytest.mark.parametrize("name", NAMES)
def test_names(name):
    assert isinstance(as_solver(name, owner="Model"), NAMES[name])


def test_an_object_passes_through():
    solver = Direct()
    assert as_solver(solver, owner="Model") is solver


@pytest.mark.parametrize("solver", ["sgd", None, Direct, 1])
def test_what_is_no_solver(solver):
    names = ", ".join(map(repr, NAMES))
    message = f"Model: solver must be a solver object or one of {names}, got {solver!r}."
    with pytest.raises(ValueError, match=re.escape(message)):
        as_solver(solver, owner="Model")


def test_a_solution_is_frozen():
    solution = Solution(np.zeros((2, 1)), np.zeros(1), 1, Status.CONVERGED, "done")
    assert solution.history.size == 0
    with pytest.raises(FrozenInstanceError):
        solution.n_iter = 2
