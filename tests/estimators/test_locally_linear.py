import pickle
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skimp import LocallyLinearClassifier
from skimp.budgets import Fixed
from skimp.data import ArrayRows
from skimp.losses import squared_hinge
from skimp.solvers import L1CD, DualCD, Newton, Problem
from tests.reference import local as naive
from tests.sources import ChunkedRows

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)) * (RNG.random((300, 4)) < 0.8)
RADII = np.linalg.norm(X, axis=1)
CIRCLE = RADII > 1.7
RINGS = np.array(["centre", "middle", "outside"])[np.digitize(RADII, [1.3, 2.1])]
ANCHORS = X[np.flatnonzero(RADII)[:12]] + 0.01


def machine(n_anchors=12, *, alpha=1e-3, **options):
    given = {"n_neighbors": 4, "selector": Fixed(ANCHORS), "random_state": 0, "tol": 1e-10}
    return LocallyLinearClassifier(n_anchors, alpha=alpha, **(given | options))


def test_predictions_are_those_of_the_formula():
    model = machine().fit(X, RINGS)
    assert model.coef_.shape == (12, 4, 3)
    assert model.intercept_.shape == (12, 3)
    expected = naive.predict(X, ANCHORS, 4, model.coef_, model.intercept_)
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-9)
    assert np.array_equal(model.predict(X), model.classes_[expected.argmax(axis=1)])


@pytest.mark.parametrize("solver", [Newton(tol=1e-12), DualCD(tol=1e-10)])
def test_the_models_minimize_the_objective_of_all_products(solver):
    model = machine(solver=solver, tol=None).fit(X, CIRCLE)
    scale = 1 / np.sqrt(np.mean(np.sum(X**2, axis=1)))
    Z, y = naive.features(X, ANCHORS, 4, scale), np.where(CIRCLE, 1.0, -1.0)[:, None]
    dense = Newton(tol=1e-14).solve(Problem(ArrayRows(Z, y), squared_hinge, 1e-3))
    np.testing.assert_allclose(
        model.decision_function(X), (Z @ dense.coef)[:, 0] + dense.intercept, atol=1e-4
    )


def test_one_anchor_is_a_linear_model():
    model = machine(1, loss="log", tol=1e-14).fit(X, RINGS == "middle")
    square = np.mean(np.sum(X**2, axis=1))
    C = 1 / (2 * len(X) * 1e-3 * square)
    linear = LogisticRegression(C=C, tol=1e-10, max_iter=1000).fit(X, RINGS == "middle")
    np.testing.assert_allclose(model.coef_[0, :, 0], linear.coef_[0], atol=1e-5)
    np.testing.assert_allclose(model.intercept_[0], linear.intercept_, atol=1e-5)
    np.testing.assert_allclose(model.predict_proba(X), linear.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("solver", ["newton", "dual_cd", "auto"])
def test_one_anchor_has_the_coefficients_of_the_same_solver(solver):
    model = machine(1, solver=solver, tol=1e-9).fit(X, CIRCLE)
    scale = 1 / np.sqrt(np.mean(np.sum(X**2, axis=1)))
    rows = ArrayRows(scale * X, np.where(CIRCLE, 1.0, -1.0)[:, None])
    linear = Newton(tol=1e-14).solve(Problem(rows, squared_hinge, 1e-3))
    np.testing.assert_allclose(model.coef_[0], scale * linear.coef, atol=1e-4)
    np.testing.assert_allclose(model.intercept_[0], linear.intercept, atol=1e-4)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "log", "softmax", "multiclass_hinge"])
def test_layouts_and_precisions_agree(loss):
    model = machine(loss=loss, alpha=1e-2, tol=1e-6)
    dense = clone(model).fit(X, RINGS).decision_function(X)
    csr = clone(model).fit(sparse.csr_matrix(X), RINGS)
    assert sparse.issparse(csr.anchors_)
    np.testing.assert_allclose(csr.decision_function(X), dense, atol=1e-8)
    single = clone(model).fit(X.astype(np.float32), RINGS)
    found = single.decision_function(X.astype(np.float32))
    assert found.dtype == single.coef_.dtype == single.anchors_.dtype == np.float32
    np.testing.assert_allclose(found, dense, atol=2e-2)
    chunked = clone(model).fit(ChunkedRows(X, RINGS))
    np.testing.assert_allclose(chunked.decision_function(ChunkedRows(X)), dense, atol=1e-5)


def test_it_learns_what_a_linear_model_cannot():
    X, y = make_moons(2000, noise=0.2, random_state=0)
    train, test = slice(1000), slice(1000, None)
    linear, local = (
        LocallyLinearClassifier(m, random_state=0).fit(X[train], y[train]).score(X[test], y[test])
        for m in (1, 30)
    )
    assert linear < 0.9 < 0.95 < local


def test_units_do_not_matter():
    expected = machine().fit(X, RINGS).decision_function(X)
    for unit in (1e-5, 1e7):
        model = machine(selector=Fixed(unit * ANCHORS)).fit(unit * X, RINGS)
        np.testing.assert_allclose(model.decision_function(unit * X), expected, rtol=1e-6)
    auto = LocallyLinearClassifier(20, random_state=0)
    alphas = [clone(auto).fit(unit * X, RINGS).alpha_ for unit in (1.0, 1e4)]
    np.testing.assert_allclose(*alphas, rtol=1e-3)


@pytest.mark.parametrize("alpha", [1e-3, "auto"])
def test_weights_repeat_rows(alpha):
    times = np.random.default_rng(1).integers(0, 3, len(X))
    model = machine(alpha=alpha)
    weighted = clone(model).fit(X, RINGS, times)
    repeated = clone(model).fit(np.repeat(X, times, axis=0), np.repeat(RINGS, times))
    np.testing.assert_allclose(weighted.alpha_, repeated.alpha_, rtol=1e-6)
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-5
    )


def test_weights_of_classes():
    balanced = machine(class_weight="balanced").fit(X, RINGS)
    by_hand = machine().fit(X, RINGS, [1 / np.mean(label == RINGS) for label in RINGS])
    np.testing.assert_allclose(balanced.coef_, by_hand.coef_, atol=1e-6)


def test_local_coefficients_are_those_of_the_prediction():
    model = machine().fit(X, RINGS)
    local = model.local_coef(X)
    assert local.shape == (300, 4, 3)
    gamma = np.array([naive.coordinates(x, ANCHORS, 4) for x in X])
    np.testing.assert_allclose(local, np.einsum("nv,vdk->ndk", gamma, model.coef_), atol=1e-12)
    F = np.einsum("nd,ndk->nk", X, local) + gamma @ model.intercept_
    np.testing.assert_allclose(F, model.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(model.local_coef(sparse.csr_matrix(X)), local, atol=1e-12)


@pytest.mark.parametrize("loss", ["log", "softmax"])
def test_local_coefficients_of_two_classes(loss):
    model = machine(loss=loss).fit(X, CIRCLE)
    F = np.sum(X * model.local_coef(X), axis=1)
    gamma = np.array([naive.coordinates(x, ANCHORS, 4) for x in X])
    b = gamma @ model.intercept_
    F += b[:, 0] if loss == "log" else b[:, 1] - b[:, 0]
    np.testing.assert_allclose(F, model.decision_function(X), atol=1e-9)
    P = model.predict_proba(X)
    np.testing.assert_allclose(P[:, 1], 1 / (1 + np.exp(-F)), atol=1e-9)


def test_products_are_not_expanded():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 40)), rng.integers(0, 2, 3000)
    model = LocallyLinearClassifier(100, n_neighbors=4, alpha=1e-2, random_state=0)
    model.fit(X, y)
    tracemalloc.start()
    model.fit(X, y).predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    expanded, kept = 3000 * 100 * 41 * 8, 3000 * 4 * 41 * 12
    assert model.coef_.shape == (100, 40, 1)
    assert peak < 4 * kept < expanded / 4


def test_products_that_do_not_fit_are_computed_again():
    model = machine(solver="dual_cd", tol=1e-8)
    kept = clone(model).fit(X, CIRCLE)
    again = clone(model).set_params(memory_limit=40_000).fit(X, CIRCLE)
    assert "recomputed" in again.solution_.message
    assert "recomputed" not in kept.solution_.message
    np.testing.assert_allclose(again.decision_function(X), kept.decision_function(X), atol=1e-3)


def test_at_most_one_anchor_for_ten_distinct_rows():
    model = LocallyLinearClassifier(random_state=0)
    assert clone(model).fit(X[:57], CIRCLE[:57]).anchors_.shape == (5, 4)
    assert clone(model).fit(X[:8], CIRCLE[:8]).anchors_.shape == (1, 4)
    thrice = np.tile(X[:57], (3, 1)), np.tile(CIRCLE[:57], 3)
    assert clone(model).fit(*thrice).anchors_.shape == (5, 4)


def test_equal_anchors_are_merged():
    model = machine(24, selector=Fixed(np.repeat(ANCHORS, 2, axis=0))).fit(X, RINGS)
    np.testing.assert_array_equal(model.anchors_, ANCHORS)


@pytest.mark.parametrize("selector", ["uniform", "balanced", "rpcholesky", "dbh", "leverage"])
def test_other_selectors(selector):
    model = LocallyLinearClassifier(20, selector=selector, random_state=0).fit(X, RINGS)
    assert model.anchors_.shape == (20, 4)
    assert model.score(X, RINGS) > 0.8


def test_in_a_pipeline_and_a_grid_search():
    model = make_pipeline(StandardScaler(), LocallyLinearClassifier(random_state=0))
    grid = {"locallylinearclassifier__n_anchors": [1, 20]}
    search = GridSearchCV(model, grid, cv=3).fit(X * [1, 10, 100, 1000], CIRCLE)
    assert search.best_params_ == {"locallylinearclassifier__n_anchors": 20}
    restored = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(restored.predict(X), search.predict(X))


def test_a_seed_decides():
    first, same, other = (
        LocallyLinearClassifier(20, alpha=1e-3, random_state=seed).fit(X, RINGS).coef_
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, same)
    assert not np.array_equal(first, other)


def test_warns_if_the_solver_does_not_converge():
    with pytest.warns(ConvergenceWarning, match="LocallyLinearClassifier: the solver stopped"):
        machine(solver="dual_cd", max_iter=1).fit(X, RINGS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_anchors": 0}, "n_anchors must be an integer >= 1, got 0"),
        ({"n_neighbors": 1.5}, "n_neighbors must be an integer"),
        ({"alpha": 0}, "alpha must be a number > 0 or 'auto'"),
        ({"selector": "best"}, "selector must be"),
        ({"loss": "cosine"}, "loss must be"),
        ({"solver": "magic"}, "solver must be"),
        ({"solver": L1CD(), "alpha": "auto"}, "alpha must be a number for L1CD"),
        ({"solver": "direct", "loss": "squared", "tol": 1.0}, "tol must be None for Direct"),
        ({"class_weight": "even"}, "class_weight must be"),
        ({"memory_limit": "much"}, "memory_limit must be"),
    ],
)
def test_bad_parameters(options, message):
    model = LocallyLinearClassifier().set_params(**options)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.fit(X, RINGS)
    assert vars(model) == before


def test_bad_data():
    with pytest.raises(ValueError, match="at least two classes"):
        machine().fit(X, np.ones(300))
    with pytest.raises(NotFittedError):
        machine().local_coef(X)
    with pytest.raises(ValueError, match="5 features"):
        machine().fit(X, CIRCLE).local_coef(np.ones((2, 5)))
    with pytest.raises(AttributeError, match="needs loss='log' or loss='softmax'"):
        machine().fit(X, CIRCLE).predict_proba(X)
