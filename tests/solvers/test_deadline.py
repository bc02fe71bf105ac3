import numpy as np
import pytest

from skimp.data import open_rows
from skimp.losses import log
from skimp.solvers import Deadline, Newton, Problem, Solution, Status, _monitors
from tests.problems import regression

COEF, CONSTANT = np.zeros((1, 1)), np.zeros(1)


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(_monitors, "monotonic", lambda: now[0])
    return now


def solution():
    return Solution(COEF, CONSTANT, 3, Status.CONVERGED, "newton: converged")


@pytest.mark.parametrize("other", [False, True])
@pytest.mark.parametrize("over", [False, True])
def test_either_of_two_monitors_stops(clock, other, over):
    seen = []

    def asked(coef, intercept):
        seen.append((coef, intercept))
        return other

    deadline = Deadline(100.0 if over else 101.0, asked)
    assert deadline(COEF, CONSTANT) == (other or over)
    assert len(seen) == 1
    assert seen[0][0] is COEF
    assert seen[0][1] is CONSTANT


def test_a_solution_says_that_its_time_was_over(clock):
    deadline = Deadline(100.0)
    deadline(COEF, CONSTANT)
    noted = deadline.noted(solution())
    assert "time limit" in noted.message
    assert noted.status is Status.TIME_LIMIT
    assert not noted.converged
    assert noted.coef is COEF
    assert noted.n_iter == 3


@pytest.mark.parametrize("asked", [False, True])
def test_a_solution_in_time_is_as_it_was(clock, asked):
    deadline = Deadline(101.0, lambda coef, intercept: True)
    if asked:
        assert deadline(COEF, CONSTANT)
    given = solution()
    assert deadline.noted(given) is given


def test_a_solver_stops_after_its_first_iteration():
    X, y, _ = regression(100)
    Y = np.where(y > np.median(y), 1.0, -1.0)[:, None]
    rows = open_rows(X, target=Y)
    free = Newton().solve(Problem(rows, log, 1e-4))
    assert free.n_iter > 1
    deadline = Deadline(0.0)
    stopped = deadline.noted(Newton().solve(Problem(rows, log, 1e-4, monitor=deadline)))
    assert stopped.n_iter == 1
    assert not stopped.converged
    never = Newton().solve(Problem(rows, log, 1e-4, monitor=Deadline(np.inf)))
    assert np.array_equal(never.coef, free.coef)
