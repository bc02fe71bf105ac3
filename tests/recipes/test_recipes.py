import pickle
import re
from inspect import signature

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from skimp import KernelClassifier, recipes
from skimp.features import RandomFourier
from skimp.kernels import Gaussian, Laplacian
from skimp.solvers import SGD
from tests.recipes.table import RECIPES

every_recipe = pytest.mark.parametrize("row", RECIPES)
# grids need the Laplacian; wide enough for clusters of the other recipes
KERNEL = Laplacian(0.3)


def problem(task, n=120, *, units=(1.0, 1.0, 1.0)):
    """Return columns in these units, and a target that is roughly linear in all of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = X.sum(axis=1) + np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=n)
    return X * units, y if task == "regression" else np.digitize(y, [-0.8, 0.8])


def outputs(model, X):
    for name in ("decision_function", "predict_proba", "predict", "transform"):
        if hasattr(model, name):
            return getattr(model, name)(X)
    raise AssertionError(model)


def values(model, name):
    """Return the values of all parameters of a name."""
    params = model.get_params().items()
    return [value for key, value in params if key.rpartition("__")[2] == name]


@every_recipe
def test_fits_raw_data_from_a_seed(row):
    X, y = problem(row.task, units=(1.0, 1e-3, 1e4))
    model = row.build(random_state=0)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    found = outputs(model.fit(X, y), X)
    assert np.isfinite(found).all()
    assert len(found) == len(X)
    if row.task in ("classification", "regression"):
        assert model.score(X, y) > 0.6
    again = row.build(random_state=0).fit(X, y)
    np.testing.assert_array_equal(outputs(again, X), found)
    np.testing.assert_array_equal(outputs(pickle.loads(pickle.dumps(model)), X), found)


@every_recipe
def test_returns_a_new_estimator_that_can_be_cloned(row):
    model = row.build()
    assert repr(clone(model)) == repr(model)
    assert row.build() is not model
    parts = {id(part) for part in model.get_params().values() if hasattr(part, "get_params")}
    others = {id(part) for part in row.build().get_params().values() if hasattr(part, "get_params")}
    assert not parts & others


@every_recipe
@pytest.mark.parametrize(
    ("name", "value"), [("kernel", KERNEL), ("alpha", 0.03), ("random_state", 7)]
)
def test_takes_common_overrides(row, name, value):
    if name in row.lacks:
        with pytest.raises(ValueError, match=f"{row.name}: an override must be .*got '{name}'"):
            row.build(**{name: value})
        return
    assert value in values(row.build(**{name: value}), name)


@pytest.mark.thorough
@every_recipe
def test_kernel_and_penalty_are_used(row):
    given = {"kernel": KERNEL, "alpha": 0.05}
    given = {name: value for name, value in given.items() if name not in row.lacks}
    X, y = problem(row.task)
    model = row.build(random_state=0, **given).fit(X, y)
    assert np.isfinite(outputs(model, X)).all()
    named = getattr(model, "named_steps", {}).values()
    parts = [model, *named, *(getattr(part, "estimator_", None) for part in [model, *named])]
    for name, value in given.items():
        # a penalty that cannot be "auto" has no fitted attribute
        found = [getattr(part, f"{name}_", getattr(part, name, None)) for part in parts]
        assert [part for part in found if repr(part) == repr(value)], name


@every_recipe
def test_refuses_unknown_names_and_lists_the_valid_ones(row):
    with pytest.raises(ValueError, match=rf"{row.name}: .*\brandom_state\b.*, got 'n_landmark'"):
        row.build(n_landmark=3)
    with pytest.raises(ValueError, match=r"nothing"):
        row.build(nothing__deeper=3)


@every_recipe
def test_refuses_unknown_tasks(row):
    for task in ("ranking", None, 3):
        with pytest.raises(ValueError, match=f"{row.name}: task must be .*'{row.task}'.*{task}"):
            getattr(recipes, row.name)(task)


@pytest.mark.thorough
@every_recipe
def test_fits_sparse_rows(row):
    if row.name == "krls":
        pytest.skip("effects need dense rows")
    X, y = problem(row.task)
    X[np.abs(X) < 0.5] = 0
    given = {} if not values(row.build(), "with_mean") else {"with_mean": False}
    model = row.build(random_state=0, **given).fit(sparse.csr_array(X), y)
    assert np.isfinite(outputs(model, sparse.csr_array(X))).all()


def test_every_recipe_is_in_the_table():
    public = {name for name in recipes.__all__ if callable(getattr(recipes, name))}
    assert {row.values[0].name for row in RECIPES} == public - {"alpha_from_C"}


def test_every_recipe_cites_its_source():
    for name in {row.values[0].name for row in RECIPES}:
        recipe = getattr(recipes, name)
        assert re.search(r"\.\. \[1\].*\((19|20)\d\d\)|lecture", recipe.__doc__, re.S), name
        assert next(iter(signature(recipe).parameters)) == "task"


def test_names_reach_the_first_level_that_has_them():
    model = recipes.kernel_kmeans(random_state=3, kernel=Gaussian(2.0), gamma=0.5, map__budget=7)
    assert values(model, "random_state") == [3, 3]
    assert model["map"].kernel == Gaussian(0.5)
    assert model["map"].budget == 7
    svm = recipes.budgeted_svm(random_state=3)
    assert svm.random_state == 3
    assert svm.approximation.random_state is None


@pytest.mark.parametrize("order", [1, -1])
def test_parts_are_replaced_before_their_parameters_are_set(order):
    given = {
        "batch_size": 8,
        "solver": SGD(coordinates="raw"),
        "n_components": 5,
        "approximation": RandomFourier(),
    }
    model = recipes.budgeted_svm(**dict(list(given.items())[::order]))
    assert model.solver.batch_size == 8
    assert model.solver.coordinates == "raw"
    assert model.approximation.n_components == 5


def test_names_of_several_parts_are_refused():
    with pytest.raises(ValueError, match="must be 'map__n_components' or "):
        recipes.kernel_pca(map=RandomFourier(), n_components=5)


def test_objects_of_the_user_stay_as_they_are():
    kernel, solver, logistic = Gaussian(2.0), SGD(), KernelClassifier(loss="log")
    recipes.kernel_kmeans(kernel=kernel, gamma=0.5)
    models = [recipes.budgeted_svm(solver=solver, batch_size=size) for size in (8, 16)]
    assert [model.solver.batch_size for model in models] == [8, 16]
    recipes.classification_with_reject(estimator=logistic, alpha=0.5)
    parts = (kernel, solver, logistic)
    assert list(map(repr, parts)) == [
        "Gaussian(gamma=2.0)",
        "SGD()",
        "KernelClassifier(loss='log')",
    ]


def test_an_override_does_not_change_the_next_model():
    recipes.elm(n_components=3, alpha=1.0)
    assert recipes.elm()["model"].approximation.n_components == 1000
    assert recipes.elm()["model"].alpha == "auto"


@pytest.mark.parametrize("row", [row for row in RECIPES if row.values[0].task == "regression"])
@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_predictions_follow_the_unit_of_the_target(row, scale):
    X, y = problem("regression")
    found = row.build(random_state=0).fit(X, y).predict(X)
    scaled = row.build(random_state=0).fit(X, scale * y).predict(X)
    # stochastic steps stop near the same minimum
    np.testing.assert_allclose(scaled / scale, found, atol=0.05 * y.std())


@pytest.mark.parametrize("name", ["pegasos_svm", "sarah_svm", "sdca_svm", "budgeted_svm"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_low_noise_does_not_stop_solvers_far_from_the_target(name):
    X, _ = problem("regression")
    smooth = X.sum(axis=1) + np.sin(2 * X[:, 0])
    model = getattr(recipes, name)("regression", kernel=Gaussian("auto"), random_state=0)
    assert model.fit(X, smooth).score(X, smooth) > 0.95
