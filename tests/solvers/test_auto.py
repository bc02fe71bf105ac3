import numpy as np
import pytest

from skimp._core._work import MapCost, Size, Work
from skimp.data import ArrayRows, Codes, open_rows
from skimp.losses import hinge, huber, log, multiclass_hinge, softmax, squared
from skimp.solvers import DIRECT_FEATURES, PCG, Auto, Direct, DualCD, Newton, Problem, auto
from tests.problems import labelled


def problem(loss, width=4, **options):
    X, y, _ = labelled(60, width)
    Y = np.where(y[:, None] == np.arange(3), 1.0, -1.0)
    return Problem(open_rows(X, target=Y), loss, 0.05, **options)


def coded(n, loss):
    codes = np.random.default_rng(0).integers(0, 6, (60, n)).astype(np.uint8)
    rows = Codes(codes, 6 * np.arange(n), np.float64(1 / np.sqrt(n)), 6 * n, first=1)
    Y = np.where(labelled(60, 4)[1][:, None] == np.arange(3), 1.0, -1.0)
    return Problem(ArrayRows(rows, Y), loss, 0.05)


@pytest.mark.parametrize(
    ("given", "solver", "why"),
    [
        (problem(squared), Direct(), "4 features"),
        (problem(squared, DIRECT_FEATURES + 1), PCG(), "3001 features"),
        (problem(log), Newton(), "smooth"),
        (problem(softmax), Newton(), "smooth"),
        (problem(hinge), DualCD(), "not smooth"),
        (coded(10, squared), Direct(), "60 features"),
        (coded(10, log), DualCD(), "60 features"),
        (coded(501, squared), DualCD(), "3006 features"),
        (coded(501, huber), DualCD(), "3006 features"),
        (coded(501, multiclass_hinge), DualCD(), "3006 features"),
        (coded(501, softmax), Newton(), "smooth"),
    ],
)
def test_it_says_which_solver_and_why(given, solver, why):
    found, expected = auto.solve(given), solver.solve(given)
    chosen, _, rest = found.message.partition("; ")
    assert chosen.startswith(f"auto chose {expected.message.partition(':')[0]}")
    assert why in chosen
    assert rest == expected.message
    assert np.array_equal(found.coef, expected.coef)
    assert found.n_iter == expected.n_iter


def test_normal_equations_that_do_not_fit():
    limit = Direct().needed_bytes(problem(squared).outline())
    assert "chose direct" in auto.solve(problem(squared, memory_limit=limit)).message
    found = auto.solve(problem(squared, memory_limit=limit - 1))
    assert "chose pcg" in found.message
    assert "memory limit" in found.message


@pytest.mark.parametrize(("loss", "solver"), [(log, Newton), (hinge, DualCD)], ids=repr)
def test_parameters_are_passed_on(loss, solver):
    found = Auto(tol=1e-6, max_iter=2).solve(problem(loss))
    expected = solver(tol=1e-6, max_iter=2).solve(problem(loss))
    assert found.n_iter == 2
    assert not found.converged
    assert np.array_equal(found.coef, expected.coef)


def test_a_solver_without_parameters():
    found = Auto(tol=1e-3, max_iter=1).solve(problem(squared))
    assert np.array_equal(found.coef, Direct().solve(problem(squared)).coef)


@pytest.mark.parametrize(("name", "value"), [("tol", 0), ("max_iter", 0)])
def test_bad_parameters(name, value):
    with pytest.raises(ValueError, match=f"Auto: {name} .* got 0"):
        Auto(**{name: value}).solve(problem(squared))


def test_it_costs_what_the_solver_costs_that_it_chooses():
    size = Size(100_000, 50, n_outputs=10, memory=10**10)
    mapped = MapCost((), 1000, size.dtype, Work(values=1e8), 2e5, 1e5)
    found = Auto(tol=1e-5, max_iter=3).cost(mapped, size, log, 1e-6)
    assert found == Newton(tol=1e-5, max_iter=3).cost(mapped, size, log, 1e-6)
    assert found.work.gemm64 < Auto(tol=1e-5).cost(mapped, size, log, 1e-6).work.gemm64
