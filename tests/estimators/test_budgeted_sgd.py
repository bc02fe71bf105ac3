import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.svm import SVC

from skimp import BudgetedSGDClassifier, BudgetedSGDRegressor, KernelClassifier
from skimp.estimators._kernel_cache import KernelCache
from skimp.kernels import Gaussian, Laplacian, Linear, Polynomial
from skimp.losses import as_loss
from tests.reference import budgeted
from tests.sources import ChunkedRows

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 3))
SIDES = np.where(X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=300) > 0.7, 1.0, -1.0)
LABELS = np.digitize(X[:, 0] + X[:, 1] ** 2, [0.3, 1.2])
NUMBERS = np.sin(2 * X[:, 0]) + X[:, 1]
KERNEL = Gaussian([0.5, 0.2, 0.1])
KEEP = {
    "removal": budgeted.remove,
    "projection": budgeted.project,
    "merging": budgeted.merge,
}


def one_hot(labels):
    return np.where(labels[:, None] == np.unique(labels), 1.0, -1.0)


def test_pegasos_is_the_textbook_recurrence():
    model = BudgetedSGDClassifier(KERNEL, budget=None, alpha=0.01, max_iter=4).fit(X, SIDES)
    order = budgeted.visits(model._learner.seed, len(X), 4)
    coef = budgeted.pegasos(KERNEL(X), SIDES, 0.02, order)
    used = np.flatnonzero(coef)
    assert sorted(map(tuple, model.points_)) == sorted(map(tuple, X[used]))
    np.testing.assert_allclose(model.decision_function(X), KERNEL(X) @ coef, rtol=1e-10, atol=1e-10)
    # coefficients are whole numbers of visits
    counts = model.coef_ * 0.02 * model.n_steps_
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-9)


@pytest.mark.parametrize("memory_limit", [None, 20_000], ids=["in memory", "in buffers"])
def test_cache_supplies_values_of_rows_that_come_again(memory_limit):
    rows = rng.normal(size=(1500, 2))
    labels = rng.integers(0, 2, 1500)
    model = BudgetedSGDClassifier(
        Gaussian(1.0), budget=None, alpha=1e-5, max_iter=3, random_state=0
    )
    source = ChunkedRows(rows, labels)
    model.set_params(memory_limit=memory_limit)
    large = clone(model).fit(source)
    assert (large.cache_.hits > 0) == (memory_limit is None)
    assert 0 < large.cache_.used <= large.cache_.limit
    assert "kernel values cached" in str(large.cache_)
    values = large.cache_.hits + large.cache_.computed
    for size in (1, "3MB"):
        small = clone(model).set_params(cache_size=size, n_jobs=1).fit(source)
        assert small.cache_.used <= small.cache_.limit
        assert small.cache_.hits + small.cache_.computed == values
        # products of other shapes are rounded differently
        np.testing.assert_allclose(large.coef_, small.coef_, rtol=1e-6)


def test_the_least_recently_used_row_leaves_the_cache():
    cache = KernelCache(3 * 8 * 10)
    for row in range(3):
        cache.put(row, np.full(10, float(row)))
    assert cache.get(0)[0] == 0
    cache.put(3, np.full(10, 3.0))
    assert [cache.get(row) is None for row in range(4)] == [False, True, False, False]
    # a longer prefix of a row replaces the shorter one, and takes the place of row 0
    cache.put(3, np.full(20, 4.0))
    assert [cache.get(row) is None for row in range(4)] == [True, True, False, False]
    assert len(cache.get(3)) == 20
    cache.put(4, np.zeros(31))
    assert cache.get(4) is None
    use = cache.use(6, 2, 0.5)
    assert (use.used, use.share) == (240, 0.75)


@pytest.mark.parametrize("kind", KEEP)
@pytest.mark.parametrize(
    ("loss", "window"), [("hinge", None), ("hinge", 30), ("multiclass_hinge", None), ("squared", 9)]
)
def test_budget_is_kept_as_by_the_formula(kind, loss, window):
    y = LABELS if loss == "multiclass_hinge" else SIDES
    Y = one_hot(LABELS) if loss == "multiclass_hinge" else SIDES[:, None]
    model = BudgetedSGDClassifier(
        KERNEL, budget=12, maintenance=kind, loss=loss, alpha=0.01, max_iter=2, random_state=3
    )
    model.set_params(window=window).fit(X[:50], y[:50])
    rule = model._learner.rules
    P, C = budgeted.budgeted(
        KERNEL,
        X[:50],
        Y[:50],
        as_loss(loss, owner=""),
        0.01,
        rule.shift,
        budgeted.visits(rule.seed, 50, 2),
        12,
        KEEP[kind],
        window or np.inf,
    )
    assert model.points_.shape == (12, 3)
    expected = KERNEL(X, P) @ C
    np.testing.assert_allclose(model._outputs(X), expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("window", [None, 50])
def test_unlimited_budgets_agree(window):
    small = BudgetedSGDClassifier(KERNEL, budget=300, window=window, max_iter=4, random_state=0)
    large = clone(small).set_params(budget=None)
    found, expected = (model.fit(X, LABELS).decision_function(X) for model in (small, large))
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


def test_many_passes_reach_the_minimum():
    alpha = 0.01
    exact = KernelClassifier(
        KERNEL, approximation=None, loss="hinge", alpha=alpha, fit_intercept=False, tol=1e-6
    )
    model = BudgetedSGDClassifier(KERNEL, budget=None, alpha=alpha, max_iter=300, random_state=0)

    def objective(f, c, P):
        return np.maximum(0, 1 - SIDES * f).mean() + alpha * np.sum(c * (KERNEL(P) @ c))

    f = exact.fit(X, SIDES).decision_function(X)
    least = objective(f, np.linalg.solve(KERNEL(X), f), X)
    found = model.fit(X, SIDES)
    value = objective(found.decision_function(X), found.coef_, found.points_)
    assert least <= value <= 1.01 * least


@pytest.mark.parametrize(
    ("loss", "least"), [("squared", 0.97), ("huber", 0.97), ("epsilon_insensitive", 0.97)]
)
def test_regressors_learn_a_function(loss, least):
    x = np.linspace(-3, 3, 1000)[:, None]
    model = BudgetedSGDRegressor(budget=40, loss=loss, max_iter=10, random_state=0)
    assert model.fit(x, 5 + np.sin(x[:, 0])).score(x, 5 + np.sin(x[:, 0])) > least


def test_squared_loss_is_proportional_to_y():
    model = BudgetedSGDRegressor(budget=20, random_state=0)
    one = model.fit(X, NUMBERS).predict(X)
    np.testing.assert_allclose(model.fit(X, 1e6 * NUMBERS).predict(X), 1e6 * one, rtol=1e-6)


@pytest.mark.parametrize("budget", [20, None])
def test_several_outputs_are_separate(budget):
    Y = np.column_stack([NUMBERS, X[:, 2]])
    model = BudgetedSGDRegressor(budget=budget, maintenance="projection", random_state=0).fit(X, Y)
    assert model.predict(X).shape == (300, 2)
    assert model.score(X, Y) > 0.8


@pytest.mark.parametrize("budget", [15, None])
def test_sparse_rows_give_the_same_model(budget):
    rows = sparse.random(200, 8, 0.3, format="csr", random_state=0)
    labels = rng.integers(0, 3, 200)
    model = BudgetedSGDClassifier(Gaussian(0.5), budget=budget, random_state=0)
    found = model.fit(rows, labels).decision_function(rows)
    assert sparse.issparse(model.points_) == (budget is None)
    expected = model.fit(rows.toarray(), labels).decision_function(rows.toarray())
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("budget", [15, None])
def test_blocks_of_a_stream_continue(budget):
    model = BudgetedSGDClassifier(budget=budget, random_state=0)
    for part in np.split(np.arange(300), 10):
        model.partial_fit(X[part], LABELS[part], classes=[0, 1, 2])
    assert model.n_steps_ == 300
    assert model.n_iter_ == 10
    copied = pickle.loads(pickle.dumps(model))
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="labels from the classes"):
        model.partial_fit(X, LABELS + 1)
    np.testing.assert_array_equal(model.decision_function(X), before)
    again = [m.partial_fit(X, LABELS).decision_function(X) for m in (model, copied)]
    np.testing.assert_array_equal(*again)
    assert not np.array_equal(again[0], before)


def test_a_window_forgets():
    model = BudgetedSGDClassifier(budget=30, alpha=1e-3, window=200, random_state=0)
    model.partial_fit(np.tile(X, (20, 1)), np.tile(SIDES, 20), classes=[-1, 1])
    other = clone(model).set_params(window=None)
    other.partial_fit(np.tile(X, (20, 1)), np.tile(SIDES, 20), classes=[-1, 1])
    # the classes change their sides
    assert model.partial_fit(X, -SIDES).score(X, -SIDES) > 0.8
    assert other.partial_fit(X, -SIDES).score(X, -SIDES) < 0.5


@pytest.mark.parametrize("budget", [20, None])
def test_heavy_rows_count_by_their_weight(budget):
    # ten rows with half of the weight outvote a thousand others around one place
    rows = 0.1 * rng.normal(size=(1010, 2))
    labels, weight = np.arange(1010) >= 1000, np.where(np.arange(1010) >= 1000, 200.0, 1.0)
    model = BudgetedSGDClassifier(Gaussian(0.1), budget=budget, max_iter=20, random_state=0)
    assert model.fit(rows, labels, weight).predict(rows).mean() > 0.9
    assert model.fit(rows, labels).predict(rows).mean() < 0.1
    model.set_params(class_weight={True: 200.0}).fit(rows, labels)
    assert model.predict(rows).mean() > 0.9


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), Gaussian(0.01)], ids=repr)
def test_projection_in_single_precision(kernel):
    rows = np.float32(rng.normal(size=(900, 5)))
    rows[::50] = 0
    labels = rows[:, 0] + rows[:, 1] > 0
    model = BudgetedSGDClassifier(kernel, budget=200, maintenance="projection", random_state=0)
    found = model.fit(rows, labels).decision_function(rows)
    expected = model.set_params(budget=None).fit(rows, labels).decision_function(rows)
    assert np.abs(found - expected).max() <= 1e-2 * np.abs(expected).max()


def test_rows_of_weight_zero_are_absent_from_the_penalty():
    model = BudgetedSGDClassifier(random_state=0)
    weight = np.where(np.arange(300) < 200, 1.0, 0.0)
    assert model.fit(X, SIDES, weight).alpha_ == 1 / 400


def test_points_are_copies():
    model = BudgetedSGDClassifier(budget=20, random_state=0).fit(X, SIDES)
    model.points_[:] = 0
    assert model.score(X, SIDES) > 0.8


def test_a_stream_needs_rows_for_its_bandwidth():
    with pytest.raises(ValueError, match="needs at least 10 rows for gamma='scale', found 1"):
        BudgetedSGDClassifier().partial_fit(X[:1], [0], classes=[0, 1])
    model = BudgetedSGDClassifier(Gaussian(0.5)).partial_fit(X[:1], [0], classes=[0, 1])
    assert model.n_steps_ == 1


def test_points_and_intercept_are_the_whole_model():
    model = BudgetedSGDRegressor(budget=20, random_state=0).fit(X, NUMBERS + 100)
    f = model.kernel_(X, model.points_) @ model.coef_ + model.intercept_
    np.testing.assert_allclose(f[:, 0], model.predict(X), rtol=1e-9)


def test_other_kernels_project():
    model = BudgetedSGDClassifier(Laplacian(0.5), budget=20, random_state=0)
    expected = clone(model).set_params(maintenance="projection").fit(X, SIDES)
    np.testing.assert_array_equal(model.fit(X, SIDES).coef_, expected.coef_)
    with pytest.raises(ValueError, match="maintenance must be 'projection' or 'removal' for Lap"):
        model.set_params(maintenance="merging").fit(X, SIDES)


def test_penalty_of_an_svm():
    model = BudgetedSGDClassifier(budget=None, max_iter=100, random_state=0).fit(X, SIDES)
    assert model.alpha_ == 1 / 600
    svm = SVC(C=1.0).fit(X, SIDES)
    assert np.mean(model.predict(X) == svm.predict(X)) > 0.97
    assert clone(model).partial_fit(X, SIDES, classes=[-1, 1]).alpha_ == 1e-4


@pytest.mark.parametrize("loss", ["squared", "squared_hinge"])
@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2)])
def test_steps_on_long_rows_do_not_overshoot(loss, kernel):
    rows = X.copy()
    rows[rng.integers(0, 300, 5)] *= 1e3
    model = BudgetedSGDClassifier(kernel, budget=30, loss=loss, random_state=0)
    model.partial_fit(X[:50], SIDES[:50], classes=[-1, 1])
    F = model.partial_fit(rows, SIDES).decision_function(X)
    assert np.abs(F).max() < 1e3


def test_probabilities_need_their_loss():
    model = BudgetedSGDClassifier(loss="log", budget=30, random_state=0).fit(X, LABELS)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    with pytest.raises(AttributeError, match="needs loss='log'"):
        BudgetedSGDClassifier().predict_proba(X)


@pytest.mark.parametrize(
    ("params", "found"),
    [
        ({"budget": 0}, "budget .*0"),
        ({"maintenance": "none"}, "maintenance .*'none'"),
        ({"alpha": 0.0}, "alpha .*0"),
        ({"cache_size": "much"}, "cache_size .*'much'"),
        ({"cache_size": None}, "cache_size .*None"),
        ({"loss": "step"}, "loss .*'step'"),
        ({"kernel": "wavelet"}, "kernel .*'wavelet'"),
        ({"max_iter": 0}, "max_iter .*0"),
    ],
)
def test_bad_parameters_are_refused(params, found):
    with pytest.raises(ValueError, match=f"BudgetedSGDClassifier: {found}"):
        BudgetedSGDClassifier(**params).fit(X, LABELS)
    with pytest.raises(ValueError, match="loss must be a loss for numbers"):
        BudgetedSGDRegressor(loss="hinge").fit(X, NUMBERS)


def test_a_model_without_points_predicts_the_median():
    model = BudgetedSGDRegressor().fit(X, np.full(300, 7.0))
    assert model.points_.shape == (0, 3)
    assert np.all(model.predict(X) == 7)
