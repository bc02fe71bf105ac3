import pytest

from skimp import solvers
from skimp.solvers import Solver
from skimp.testing import check_solver
from tests.catalog import SOLVERS, parts


@pytest.mark.parametrize(("solver", "options"), SOLVERS)
def test_solver(solver, options):
    check_solver(solver, **options)


def test_every_solver_has_a_row():
    public = [part for part in vars(solvers).values() if isinstance(part, Solver)]
    assert {type(part) for part in public} == {type(solver) for solver in parts(SOLVERS)}
