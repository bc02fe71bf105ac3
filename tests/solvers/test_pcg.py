import pytest

from skimp.data import open_rows
from skimp.features import Nystroem
from skimp.kernels import Gaussian
from skimp.losses import squared
from skimp.solvers import PCG, Problem, direct, pcg
from tests.problems import regression


def problem(X, y, **options):
    rows = open_rows(X, target=y.reshape(len(X), -1))
    return Problem(rows, **{"loss": squared, "alpha": 1e-3, **options})


@pytest.mark.parametrize("alpha", [1e-8, 1e-4])
def test_landmarks(alpha):
    X, y, _ = regression(300, 3)
    basis = Nystroem(Gaussian(0.5), budget=40, random_state=0).fit(X).basis()
    rows = open_rows(X, target=y[:, None]).mapped(basis)
    given = Problem(rows, squared, alpha, basis.penalty)
    found, expected = pcg.solve(given), direct.solve(given)
    assert found.converged
    assert found.history[-1] <= expected.history[-1] * (1 + 1e-4)


def test_a_single_step_does_where_the_sample_is_everything():
    X, y, _ = regression(20, 4)
    found = pcg.solve(problem(X, y))
    assert found.converged
    assert found.n_iter <= 2


def test_it_says_where_steps_ran_out():
    X, y, _ = regression(300, 6)
    found = PCG(tol=1e-30, max_iter=1).solve(problem(X, y))
    assert not found.converged
    assert found.n_iter == 1
