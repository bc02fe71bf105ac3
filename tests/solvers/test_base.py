import re
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from skimp.solvers import PCG, Auto, Direct, DualCD, Newton, Solution, Status, as_solver

NAMES = {"auto": Auto, "direct": Direct, "newton": Newton, "pcg": PCG, "dual_cd": DualCD}


def test_names():
    assert {name: type(as_solver(name, owner="Model")) for name in NAMES} == NAMES


def test_an_object_passes_through():
    solver = Direct()
    assert as_solver(solver, owner="Model") is solver


@pytest.mark.parametrize("solver", ["lbfgs", Direct])
def test_what_is_no_solver(solver):
    found = re.escape(f"got {solver!r}")
    with pytest.raises(ValueError, match=f"Model: solver .*'dual_cd'.*{found}"):
        as_solver(solver, owner="Model")


def test_a_solution_is_frozen():
    solution = Solution(np.zeros((2, 1)), np.zeros(1), 1, Status.CONVERGED, "done")
    assert solution.history.size == 0
    with pytest.raises(FrozenInstanceError):
        solution.n_iter = 2
