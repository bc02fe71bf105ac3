import numpy as np
import pytest

from skimp.data import ArrayRows, Codes, open_rows
from skimp.losses import hinge, huber, log, multiclass_hinge, softmax, squared, squared_hinge
from skimp.solvers import PCG, Auto, Direct, DualCD, Newton, Problem, _auto, auto
from tests.problems import labelled


def problem(loss, **options):
    X, y, _ = labelled(60, 4)
    Y = np.where(y[:, None] == np.arange(3), 1.0, -1.0)
    return Problem(open_rows(X, target=Y), loss, 0.05, **options)


@pytest.mark.parametrize(
    ("loss", "solver", "why"),
    [
        (squared, Direct(), "auto chose direct, since the loss is squared and 4 features are few"),
        (log, Newton(), "auto chose newton, since the loss is smooth"),
        (softmax, Newton(), "auto chose newton, since the loss is smooth"),
        (hinge, DualCD(), "auto chose dual_cd, since the loss has kinks"),
    ],
    ids=repr,
)
def test_it_says_which_solver_and_why(loss, solver, why):
    found, expected = auto.solve(problem(loss)), solver.solve(problem(loss))
    assert found.message == f"{why}; {expected.message}"
    assert np.array_equal(found.coef, expected.coef)
    assert found.n_iter == expected.n_iter


def test_many_features_go_to_conjugate_gradients(monkeypatch):
    monkeypatch.setattr(_auto, "DIRECT_FEATURES", 3)
    found = auto.solve(problem(squared))
    why = "auto chose pcg, since the loss is squared and 4 features are many; pcg: "
    assert found.message.startswith(why)
    assert np.array_equal(found.coef, PCG().solve(problem(squared)).coef)


def test_normal_equations_that_do_not_fit():
    limit = Direct().needed_bytes(problem(squared).outline()) - 1
    assert auto.solve(problem(squared, memory_limit=limit + 1)).message.startswith("auto chose dir")
    found = auto.solve(problem(squared, memory_limit=limit))
    why = "auto chose pcg, since normal equations of 4 features do not fit the memory limit; pcg: "
    assert found.message.startswith(why)


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


@pytest.mark.parametrize(("name", "value"), [("tol", 0), ("max_iter", 0), ("tol", "small")])
def test_bad_parameters(name, value):
    with pytest.raises(ValueError, match=f"Auto: {name} must be None or "):
        Auto(**{name: value}).solve(problem(squared))


def coded(n, loss, **options):
    codes = np.random.default_rng(0).integers(0, 6, (60, n)).astype(np.uint8)
    rows = Codes(codes, 6 * np.arange(n), np.float64(1 / np.sqrt(n)), 6 * n, first=1)
    Y = np.where(labelled(60, 4)[1][:, None] == np.arange(3), 1.0, -1.0)
    return Problem(ArrayRows(rows, Y), loss, 0.05, **options)


@pytest.mark.parametrize(
    "loss", [squared, hinge, squared_hinge, log, multiclass_hinge, huber], ids=repr
)
def test_many_features_that_are_codes_go_to_dual_coordinate_descent(loss):
    found, expected = auto.solve(coded(501, loss)), DualCD().solve(coded(501, loss))
    why = "auto chose dual_cd, since rows are codes of 3006 features, few of which a row has; "
    assert found.message == why + expected.message
    assert np.array_equal(found.coef, expected.coef)


@pytest.mark.parametrize(
    ("n", "loss", "why"),
    [
        (10, squared, "auto chose direct, since the loss is squared and 60 features are few; "),
        (10, log, "auto chose dual_cd, since rows are codes of 60 features, few of which a row "),
        (10, hinge, "auto chose dual_cd, since rows are codes of 60 features, few of which a row "),
        (501, softmax, "auto chose newton, since the loss is smooth; "),
    ],
)
def test_codes_of_few_features_and_losses_without_a_dual(n, loss, why):
    assert auto.solve(coded(n, loss)).message.startswith(why)


def test_codes_of_as_many_features_as_are_few(monkeypatch):
    monkeypatch.setattr(_auto, "DIRECT_FEATURES", 60)
    assert auto.solve(coded(10, squared)).message.startswith("auto chose direct")
    assert auto.solve(coded(11, squared)).message.startswith("auto chose dual_cd")
