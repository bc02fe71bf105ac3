"""Fits that go on where the last one ended."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from skimp import KernelRegressor
from skimp.budgets import Fixed
from skimp.features import Nystroem, RandomFourier
from skimp.kernels import FunctionKernel, Gaussian
from tests.models import classifier, regressor
from tests.problems import difference, labelled, regression

MODES = [20, Nystroem(budget=20, rank=8), RandomFourier(n_components=21)]

every_mode = pytest.mark.parametrize("approximation", MODES)


@pytest.mark.parametrize(
    ("approximation", "loss"),
    [(20, "squared_hinge"), (MODES[1], "log"), (MODES[2], "softmax")],
)
def test_another_penalty_takes_fewer_steps_to_the_same_solution(approximation, loss):
    X, y, weight = labelled(150)
    model = classifier(approximation, loss=loss, warm_start=True).fit(X, y, weight)
    kept = model.approximation_
    model.set_params(alpha=1.1e-4).fit(X, y, weight)
    assert model.approximation_ is kept
    cold = clone(model).fit(X, y, weight)
    assert model.n_iter_ < cold.n_iter_
    # a constant that is added to the functions of all classes changes nothing for softmax
    found, expected = (
        F - F.mean(axis=1, keepdims=True) if loss == "softmax" else F
        for F in (model.decision_function(X), cold.decision_function(X))
    )
    assert difference(found, expected) <= 1e-5


@every_mode
def test_a_fit_that_ended_has_nothing_left_to_do(approximation):
    X, y, weight = regression(150)
    # the mean of y is subtracted in a fit: a start has to be shifted by it, too
    model = regressor(approximation, loss="huber", warm_start=True, tol=1e-8)
    model.fit(X, y + 100, weight)
    expected = model.predict(X)
    model.fit(X, y + 100, weight)
    assert model.n_iter_ == 1
    assert difference(model.predict(X), expected) <= 1e-6


@pytest.mark.parametrize(
    ("approximation", "loss"),
    [
        (Nystroem(budget=20, selector="uniform"), "hinge"),
        (RandomFourier(n_components=21), "multiclass_hinge"),
    ],
    ids=repr,
)
def test_dual_coordinate_descent_goes_on(approximation, loss):
    X, y, _ = labelled(80)
    params = {"alpha": 0.03, "tol": 1e-6, "solver": "dual_cd", "warm_start": True}
    model = classifier(approximation, Gaussian(0.5), loss=loss, **params).fit(X, y)
    expected, sweeps = model.decision_function(X), model.n_iter_
    model.fit(X, y)
    assert model.n_iter_ < sweeps
    assert difference(model.decision_function(X), expected) <= 1e-2


@pytest.mark.parametrize(
    "change",
    [
        {"kernel": "laplacian"},
        {"kernel": Gaussian(0.3)},
        {"approximation": 21},
        {"approximation": RandomFourier(n_components=20)},
        {"random_state": 1},
        {"warm_start": False},
    ],
    ids=str,
)
def test_changes_of_the_features_start_anew(change):
    X, y, _ = regression(100)
    loss = "squared_epsilon_insensitive"
    model = KernelRegressor(
        "rbf", approximation=20, loss=loss, warm_start=True, random_state=0, n_jobs=1
    )
    changed = clone(model).set_params(**change).fit(X, y)
    model.fit(X, y).set_params(**change).fit(X, y)
    assert np.array_equal(model.coef_, changed.coef_)


@pytest.mark.parametrize(
    "between",
    [
        {"kernel": Gaussian(0.3), "warm_start": False},
        {"random_state": 1, "warm_start": False},
        {"approximation": RandomFourier(n_components=20), "warm_start": False},
        {"approximation": None},
    ],
    ids=str,
)
def test_other_fits_in_between_are_no_start(between):
    X, y, _ = regression(100)
    params = {"kernel": Gaussian(0.5), "approximation": 20, "random_state": 0, "warm_start": True}
    model = KernelRegressor(loss="squared_epsilon_insensitive", n_jobs=1, **params)
    fresh = clone(model).fit(X, y)
    model.fit(X, y).set_params(**between).fit(X, y)
    assert not np.array_equal(model.coef_, fresh.coef_)
    model.set_params(**params).fit(X, y)
    assert np.array_equal(model.coef_, fresh.coef_)
    assert np.array_equal(model.predict(X), fresh.predict(X))


def test_other_functions_of_the_same_name_start_anew():
    X, y, _ = regression(60)
    options = {"approximation": 20, "loss": "squared_epsilon_insensitive", "random_state": 0}
    model = KernelRegressor(warm_start=True, n_jobs=1, **options)
    for power in (2, 2, 3):
        kernel = FunctionKernel(lambda x, b, power=power: (1 + x @ b) ** power)
        cold = KernelRegressor(kernel, n_jobs=1, **options).fit(X, y)
        model.set_params(kernel=kernel).fit(X, y)
        assert np.array_equal(model.coef_, cold.coef_)
    solution = model.solution_
    assert model.fit(X, y).solution_.n_iter <= solution.n_iter


def test_changes_of_the_rows_start_anew_where_they_do_not_fit():
    X, y, _ = labelled(100)
    model = classifier(20, loss="log", warm_start=True, tol=1e-8).fit(X, y)
    for other, labels in (
        (X[:, :2], y),
        (X[:, :2].astype(np.float32), y),
        (X, y),
        (X, np.minimum(y, 1)),
    ):
        cold = classifier(20, loss="log", tol=1e-8).fit(other, labels)
        assert np.array_equal(model.fit(other, labels).coef_, cold.coef_)


def test_further_rows_keep_the_landmarks():
    X, y, _ = labelled(200)
    model = classifier(20, Gaussian(0.5), loss="log", warm_start=True).fit(X[:100], y[:100])
    points = model.approximation_.budget_.points
    model.fit(X, y)
    fixed = classifier(Nystroem(selector=Fixed(points)), Gaussian(0.5), loss="log").fit(X, y)
    assert difference(model.decision_function(X), fixed.decision_function(X)) <= 1e-5


def test_a_copy_goes_on_and_a_clone_does_not():
    X, y, _ = labelled(100)
    model = classifier(20, loss="log", warm_start=True).fit(X, y)
    assert pickle.loads(pickle.dumps(model)).fit(X, y).n_iter_ == 1
    assert clone(model).fit(X, y).n_iter_ > 1


def test_a_failed_fit_changes_nothing():
    X, y, _ = labelled(100)
    model = classifier(20, Gaussian(0.5), loss="log", warm_start=True).fit(X, y)
    with pytest.raises(MemoryError):
        model.set_params(kernel=Gaussian(2.0), memory_limit=1).fit(X, y)
    model.set_params(kernel=Gaussian(0.5), memory_limit=None).fit(X, y)
    assert model.n_iter_ == 1


def test_long_arrays_that_differ_in_the_middle_start_anew():
    X, y, _ = regression(50)
    first = np.random.default_rng(0).normal(size=(600, 3))
    second = first.copy()
    second[300] += 1
    model = regressor(Nystroem(selector=Fixed(first)), loss="huber", warm_start=True).fit(X, y)
    model.set_params(approximation__selector=Fixed(second)).fit(X, y)
    assert np.array_equal(model.approximation_.budget_.points, second)


def test_an_exact_model_of_other_rows_is_exact():
    X, y, _ = regression(60)
    model = regressor(None, loss="huber", warm_start=True, alpha=1e-6).fit(X[:30], y[:30])
    model.fit(X, y)
    cold = regressor(None, loss="huber", alpha=1e-6).fit(X, y)
    assert difference(model.predict(X), cold.predict(X)) <= 1e-2
