import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV

from skimp import KernelClassifier, KernelFactorization
from skimp.budgets import Fixed
from skimp.data import open_rows
from skimp.estimators._factor_learners import Steps, best_codes
from skimp.estimators._factors import Factors, Weighting
from skimp.estimators._labels import nearest_probabilities
from skimp.features import (
    AnchorGraph,
    OrthogonalProjection,
    RandomBinning,
    RandomFourier,
    RandomMaclaurin,
)
from skimp.kernels import FunctionKernel, Gaussian, Linear, Precomputed
from tests.reference import factorization as naive
from tests.words import shared_letters, words

PENALTIES = {"basis": 0.3, "labels": 0.2, "codes": 0.4, "label": 1.5}
GIVEN = {
    "label_weight": 1.5,
    "penalty_basis": 0.3,
    "penalty_labels": 0.2,
    "penalty_codes": 0.4,
    "tol": 1e-13,
    "max_iter": 5000,
    "random_state": 0,
}


def problem(n=60, *, known=0.5, seed=0):
    """Return rows, labels of three classes with -1 for unknown ones, and all labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.5, 0.5])
    return X, np.where(rng.random(n) < known, y, -1), y


def one_hot(some):
    Y = (some[:, None] == np.arange(3)).astype(float)
    Y[some < 0] = np.nan
    return Y


def parts(model, X):
    """Return what the naive objective needs of a fitted model."""
    B = model.approximation_.landmarks_.points
    return model.kernel_(X, B), model.kernel_(B), model.kernel_.diag(X)


@pytest.mark.parametrize("kernel", [Gaussian(0.3), Linear(), 2.0 * Gaussian(0.3)], ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_minimum_of_the_objective(kernel, weighted):
    X, some, _ = problem()
    weight = np.random.default_rng(1).integers(0, 3, len(X)) if weighted else np.ones(len(X))
    model = KernelFactorization(4, kernel=kernel, budget=15, selector="uniform", **GIVEN)
    model.fit(X, some, sample_weight=weight)
    K, K_mm, diagonal = parts(model, X)
    W, V, Y = model.basis_weights_, model.label_weights_, one_hot(some)
    unit = np.average(diagonal, weights=weight)

    def J(W, V):
        H = naive.codes(W, V, K, K_mm, Y, unit, PENALTIES)
        return naive.objective(W, V, H, K, K_mm, diagonal, Y, weight, PENALTIES)

    least = J(W, V)
    assert model.objective_history_[-1] == pytest.approx(least, rel=1e-9)
    assert (np.diff(model.objective_history_) <= 1e-12 * least).all()
    # codes are at their minimum, so that the gradient is that of the factors alone
    rng = np.random.default_rng(2)
    for _ in range(5):
        dW, dV = rng.normal(size=W.shape) * np.abs(W).max(), rng.normal(size=V.shape)
        slope = (J(W + 1e-5 * dW, V + 1e-5 * dV) - J(W - 1e-5 * dW, V - 1e-5 * dV)) / 2e-5
        steep = J(W + dW, V + dV) - least
        assert abs(slope) < 1e-5 * steep


def test_full_budget_equals_the_naive_algorithm():
    X, some, _ = problem(30)
    K = Gaussian(0.3)(X)
    W, V, H = naive.factorize(K, one_hot(some), 5, PENALTIES, np.random.default_rng(0))
    expected = naive.objective(W, V, H, K, K, np.ones(30), one_hot(some), np.ones(30), PENALTIES)
    model = KernelFactorization(5, kernel=Gaussian(0.3), **GIVEN).fit(X, some)
    assert model.objective_history_[-1] == pytest.approx(expected, rel=1e-6)
    # codes are unique up to a rotation
    free = naive.codes(W, V, K, K, np.full((30, 3), np.nan), 1.0, PENALTIES)
    found = model.transform(X)
    np.testing.assert_allclose(found @ found.T, free @ free.T, atol=1e-3)


def test_codes_of_new_rows_ignore_labels():
    X, some, _ = problem()
    model = KernelFactorization(4, kernel=Gaussian(0.3), budget=15, **GIVEN).fit(X, some)
    new = np.random.default_rng(5).normal(size=(7, 3))
    K, K_mm, _ = parts(model, new)
    W, V = model.basis_weights_, model.label_weights_
    expected = naive.codes(W, V, K, K_mm, np.full((7, 3), np.nan), 1.0, PENALTIES)
    np.testing.assert_allclose(model.transform(new), expected, atol=1e-8)


def test_gradients_of_the_thesis():
    rng = np.random.default_rng(0)
    K_mm, n = Gaussian(0.5)(rng.normal(size=(6, 2))), 20
    W, V = rng.normal(size=(6, 3)), rng.normal(size=(2, 3))
    h, k, y = rng.normal(size=3), K_mm[0] + 0.1, np.array([1.0, 0.0])
    shared = {"basis": PENALTIES["basis"] / n, "labels": PENALTIES["labels"] / n}

    def J(W, V):
        return naive.objective(
            W, V, h[None], k[None], K_mm, np.ones(1), y[None], np.ones(1), PENALTIES | shared
        )

    found = naive.gradients(W, V, h, k, K_mm, y, PENALTIES, n)
    for place, part in enumerate((W, V)):
        for entry in np.ndindex(part.shape):
            step = np.zeros_like(part)
            step[entry] = 1e-6
            moved = [(W + step, V), (W - step, V)] if place == 0 else [(W, V + step), (W, V - step)]
            slope = (J(*moved[0]) - J(*moved[1])) / 2e-6
            assert found[place][entry] == pytest.approx(slope, abs=1e-7)


class Setting:
    """What `Steps` reads of a setting."""

    weighting = Weighting(basis=0.3, labels=0.2, codes=0.4, label=1.5)
    unit = 1.0


@pytest.mark.parametrize("size", [1, 7])
def test_stochastic_steps_are_the_naive_gradients(size):
    rng = np.random.default_rng(3)
    B = rng.normal(size=(6, 2))
    K_mm = Gaussian(0.5)(B)
    R = np.linalg.cholesky(K_mm).T
    P, V = rng.normal(size=(6, 3)), rng.normal(size=(2, 3))
    Z, Y, weight = rng.normal(size=(size, 6)), rng.random((size, 2)), rng.random(size) + 0.5
    steps, n = Steps(Factors(P, V), Setting, 20.0, 20.0, 0), 20
    H = best_codes(Factors(P, V), Setting.weighting, Z, Y)
    W = np.linalg.solve(R, P)
    K = Z @ np.linalg.inv(R).T @ K_mm
    np.testing.assert_allclose(H, naive.codes(W, V, K, K_mm, Y, 1.0, PENALTIES), atol=1e-9)
    G = A = 0.0
    for h, k, y, w in zip(H, K, Y, weight / weight.sum(), strict=True):
        of_basis, of_labels = naive.gradients(W, V, h, k, K_mm, y, PENALTIES, n)
        G, A = G + w * of_basis, A + w * of_labels
    steps.step(Z, Y, weight)
    curvature = weight @ np.sum(H**2, axis=1) / weight.sum()
    share = 1.01**-0.5
    # a gradient in raw coordinates is R^T times one in whitened coordinates
    np.testing.assert_allclose(
        R.T @ (P - steps.factors.P), share * G / (curvature + 0.3 / n), atol=1e-9
    )
    np.testing.assert_allclose(
        V - steps.factors.V, share * A / (1.5 * curvature + 0.2 / n), atol=1e-9
    )


def test_stochastic_steps_come_close_to_the_minimum():
    X, some, _ = problem(400)
    model = KernelFactorization(4, kernel=Gaussian(0.3), budget=15, **GIVEN).fit(X, some)
    sgd = clone(model).set_params(solver="sgd", batch_size=10, max_iter=400, tol=1e-5)
    sgd.fit(X, some)
    assert sgd.objective_history_[-1] < 1.02 * model.objective_history_[-1]
    assert sgd.objective_history_[-1] < 0.8 * sgd.objective_history_[0]
    np.testing.assert_array_equal(sgd.coef_, sgd.label_weights_)


@pytest.mark.parametrize("indicators", [False, True])
def test_partial_fit_in_blocks_is_a_fit(indicators):
    X, some, _ = problem(90)
    y = one_hot(some) if indicators else some
    given = {**GIVEN, "kernel": Gaussian(0.3), "budget": 15, "selector": Fixed(X[:15])}
    model = KernelFactorization(4, **given).fit(X, y)
    stream = KernelFactorization(4, **given)
    for start in range(0, 90, 30):
        part = slice(start, start + 30)
        first = {} if indicators or start else {"classes": [0, 1, 2]}
        stream.partial_fit(X[part], y[part], **first)
    assert stream.objective_history_[-1] == pytest.approx(model.objective_history_[-1], rel=1e-7)
    np.testing.assert_array_equal(stream.predict(X), model.predict(X))


def test_partial_fit_of_blocks_without_labels():
    X, some, y = problem(200, known=1.0)
    model = KernelFactorization(random_state=0)
    model.partial_fit(X[:100], np.full(100, -1), classes=[0, 1, 2])
    assert model.transform(X).shape == (200, 100)
    with pytest.raises(NotFittedError, match="no labels so far"):
        model.predict(X)
    model.partial_fit(X[100:], some[100:])
    assert model.score(X[:100], y[:100]) > 0.8


def test_failed_partial_fit_changes_nothing():
    X, some, _ = problem()
    model = KernelFactorization(4, random_state=0).partial_fit(X, some, classes=[0, 1, 2])
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match=r"classes \[0, 1, 2\] of the first call, found 7"):
        model.partial_fit(X, np.full(len(X), 7))
    np.testing.assert_array_equal(model.predict_proba(X), before)


@pytest.mark.parametrize("solver", ["alternating", "sgd"])
def test_stochastic_partial_fit_learns(solver):
    X, some, y = problem(600)
    model = KernelFactorization(10, solver=solver, batch_size=4, budget=50, random_state=0)
    for start in range(0, 600, 100):
        part = slice(start, start + 100)
        model.partial_fit(X[part], some[part], classes=[0, 1, 2])
    assert model.score(X, y) > 0.8


def test_marks_of_rows_without_labels():
    X, some, _ = problem()
    expected = KernelFactorization(5, random_state=0).fit(X, some)
    names = np.array(["low", "middle", "high"], object)
    texts = np.where(some < 0, "-1", names[some])
    mixed = [-1 if s < 0 else names[s] for s in some]
    gaps = pd.Series(np.where(some < 0, None, names[some]))
    for y in (texts, mixed, np.array(mixed, object), gaps):
        model = KernelFactorization(5, random_state=0).fit(X, y)
        assert model.classes_.tolist() == ["high", "low", "middle"]
        np.testing.assert_array_equal(model.predict(X), names[expected.predict(X)])
    numbers = np.where(some < 0, np.nan, some)
    np.testing.assert_array_equal(
        KernelFactorization(5, random_state=0).fit(X, numbers).predict(X), expected.predict(X)
    )


def test_short_texts_and_numbers_among_objects():
    X, _, _ = problem(90)
    y = np.array(["+", "-", "0"])[np.arange(90) % 3]
    assert KernelFactorization(5).fit(X, y).classes_.tolist() == ["+", "-", "0"]
    y = np.where(np.arange(90) % 3, np.arange(90) % 2, -1.0).astype(object)
    assert KernelFactorization(5).fit(X, y).classes_.tolist() == [0, 1]
    days = np.array(["2020-01-01", "2021-01-01"], "M8[D]")[np.arange(90) % 2]
    assert set(KernelFactorization(5).fit(X, days).predict(X)) <= set(days)


def test_score_counts_rows_with_a_label():
    X, some, _ = problem(200)
    model = KernelFactorization(10, random_state=0).fit(X, some)
    known = some >= 0
    assert model.score(X, some) == model.score(X[known], some[known])
    search = GridSearchCV(model, {"n_components": [1, 10]}, cv=3).fit(X, some)
    assert search.best_params_ == {"n_components": 10}
    assert search.best_score_ > 0.8
    with pytest.raises(ValueError, match="labels for some rows"):
        model.score(X, np.full(200, -1))


@pytest.mark.parametrize("mark", [np.nan, -1])
def test_label_indicators(mark):
    X, some, _ = problem(300)
    Y = np.column_stack([X[:, 0] > 0, X[:, 1] > 0.3, X[:, 2] > -0.5]).astype(float)
    known = some >= 0
    given = np.where(known[:, None], Y, mark)
    model = KernelFactorization(20, random_state=0).fit(X, given)
    found = model.predict(X)
    assert found.shape == Y.shape
    assert (found == Y).mean() > 0.85
    P = model.predict_proba(X)
    assert ((P > 0) & (P < 1)).all()
    np.testing.assert_array_equal(P > 0.5, found)


def test_probabilities_and_scores_agree_with_labels():
    X, some, _ = problem(200)
    model = KernelFactorization(10, random_state=0).fit(X, some)
    P, F, labels = model.predict_proba(X), model.decision_function(X), model.predict(X)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert P.min() >= 0
    np.testing.assert_array_equal(labels, P.argmax(axis=1))
    np.testing.assert_array_equal(labels, F.argmax(axis=1))
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(model.predict_log_proba(X), np.log(P))
    np.testing.assert_allclose(F, model.transform(X) @ model.coef_.T + model.intercept_)


def test_nearest_probabilities_are_the_nearest():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(50, 3))
    P = nearest_probabilities(F)
    distance = np.sum((F - P) ** 2, axis=1)
    for other in rng.dirichlet(np.ones(3), 200):
        assert (distance <= np.sum((F - other) ** 2, axis=1) + 1e-12).all()


def test_no_class_is_excluded_by_few_labels():
    X, some, _ = problem(60)
    assert KernelFactorization(random_state=0).fit(X, some).predict_proba(X).min() > 0.003


def test_points_of_codes_approximate_the_rows():
    X, some, _ = problem()
    tiny = {f"penalty_{name}": 1e-5 for name in ("basis", "labels", "codes")}
    tiny |= {"tol": 1e-8, "max_iter": 5000, "random_state": 0}
    model = KernelFactorization(60, kernel=Gaussian(0.1), **tiny).fit(X, some)
    C = model.inverse(model.transform(X))
    B = model.approximation_.landmarks_.points
    np.testing.assert_allclose(model.kernel_(X, B) @ C.T, model.kernel_(X), atol=1e-3)
    with pytest.raises(ValueError, match="H must have"):
        model.inverse(np.ones((2, 3)))


@pytest.mark.parametrize("largest", [2, 4, 40])
def test_weights_are_repeated_rows(largest):
    X, some, _ = problem()
    weight = np.random.default_rng(0).integers(0, largest, len(X))
    given = {**GIVEN, "budget": 15, "selector": Fixed(X[:15]), "kernel": Gaussian(0.2)}
    one = KernelFactorization(4, **given).fit(X, some, sample_weight=weight)
    two = KernelFactorization(4, **given).fit(np.repeat(X, weight, axis=0), np.repeat(some, weight))
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("kernel", [Gaussian(0.2), Linear()], ids=repr)
def test_class_weights_multiply_labelled_rows(kernel):
    X, some, _ = problem(200)
    factors = np.where(some < 0, 1.0, np.array([5.0, 1.0, 0.5])[some])
    given = {**GIVEN, "budget": 15, "selector": Fixed(X[:15]), "kernel": kernel}
    one = KernelFactorization(4, class_weight={0: 5.0, 2: 0.5}, **given).fit(X, some)
    two = KernelFactorization(4, **given).fit(X, some, sample_weight=factors)
    assert one.objective_history_[-1] == pytest.approx(two.objective_history_[-1])
    np.testing.assert_allclose(one.transform(X), two.transform(X), atol=1e-5)


@pytest.mark.parametrize("convert", [np.float32, sparse.csr_matrix, pd.DataFrame], ids=repr)
def test_other_input(convert):
    X, some, _ = problem()
    given = {"n_components": 4, "kernel": Gaussian(0.2), "selector": "uniform", "random_state": 0}
    expected = KernelFactorization(**given).fit(X, some)
    model = KernelFactorization(**given).fit(convert(X), some)
    found = model.decision_function(convert(X))
    np.testing.assert_allclose(found, expected.decision_function(X), atol=1e-3)
    assert model.transform(convert(X)).dtype == (np.float32 if convert is np.float32 else float)


def test_words():
    found, y = words(80)
    some = y.copy()
    some[::2] = -1
    kernel = FunctionKernel(shared_letters)
    model = KernelFactorization(4, kernel=kernel, selector="uniform", random_state=0)
    assert model.fit(found, some).score(found, y) > 0.9


def test_few_labels_with_a_graph():
    X, y = make_moons(2000, noise=0.08, random_state=0)
    some = np.full(2000, -1)
    some[::200] = y[::200]
    graph = KernelFactorization(30, approximation=AnchorGraph(200), random_state=0).fit(X, some)
    alone = KernelClassifier(random_state=0).fit(X[::200], y[::200])
    assert graph.score(X, y) > 0.99 > alone.score(X, y) + 0.05


def test_few_labels_of_digits():
    X, y = load_digits(return_X_y=True)
    rng, gains = np.random.default_rng(0), []
    for _ in range(3):
        known = rng.permutation(len(y))[:60]
        some = np.full_like(y, -1)
        some[known] = y[known]
        graph = KernelFactorization(approximation=AnchorGraph(200), random_state=0).fit(X, some)
        alone = KernelClassifier(random_state=0).fit(X[known], y[known])
        gains.append(graph.score(X, y) - alone.score(X, y))
    assert np.mean(gains) > 0.03


def test_other_maps():
    X, some, y = problem(300)
    for approximation in (RandomFourier(n_components=50), RandomFourier(Gaussian(0.1))):
        model = KernelFactorization(20, approximation=approximation, random_state=0).fit(X, some)
        assert model.score(X, y) > 0.8
        assert model.basis_weights_.shape == (model.approximation_.width, 20)
        assert approximation.kernel_ is None


@pytest.mark.parametrize(
    "approximation",
    [OrthogonalProjection(7), RandomMaclaurin(3, n_components=50, random_state=0), AnchorGraph(20)],
    ids=repr,
)
def test_objectives_of_other_maps(approximation):
    X, some, _ = problem(150)
    model = KernelFactorization(4, approximation=approximation, **GIVEN).fit(X, some)
    Z = model.approximation_.transform(X)
    unit = np.mean(np.sum(Z**2, axis=1))
    W, V, D = model.basis_weights_, model.label_weights_, Z.shape[1]
    H = naive.codes(W, V, Z, np.eye(D), one_hot(some), unit, PENALTIES)
    expected = naive.objective(
        W, V, H, Z, np.eye(D), np.sum(Z**2, axis=1), one_hot(some), np.ones(150), PENALTIES
    )
    assert model.objective_history_[-1] == pytest.approx(expected, rel=1e-6)


def test_precomputed_kernels():
    X, some, _ = problem(60)
    kernel, numbers = 50.0 * Gaussian(0.3), np.arange(60)[:, None]
    one = KernelFactorization(4, kernel=kernel, **GIVEN).fit(X, some)
    two = KernelFactorization(4, kernel=Precomputed(kernel(X)), **GIVEN).fit(numbers, some)
    assert two.objective_history_[-1] == pytest.approx(one.objective_history_[-1], rel=1e-6)


def test_rows_of_zeros_and_classes_that_are_points():
    _, some, _ = problem(60)
    model = KernelFactorization(kernel="linear").fit(np.zeros((60, 3)), some)
    assert np.isfinite(model.decision_function(np.ones((5, 3)))).all()
    y = np.arange(120) % 2
    for seed in range(6):
        points = np.random.default_rng(seed).normal(size=(2, 6))
        model = KernelFactorization(kernel="linear", random_state=0).fit(points[y], y)
        assert model.score(points[y], y) == 1


def test_clean_clusters_on_a_graph():
    for seed in range(6):
        X, y = make_blobs(500, centers=[[0, 0], [10, 0]], random_state=seed)
        graph = AnchorGraph(50, random_state=0)
        model = KernelFactorization(10, approximation=graph, random_state=0).fit(X, y)
        assert model.score(X, y) == 1


def test_one_label_per_class():
    X, y = load_digits(return_X_y=True)
    some = np.full_like(y, -1)
    first = [np.flatnonzero(y == digit)[0] for digit in range(10)]
    some[first] = y[first]
    model = KernelFactorization(approximation=AnchorGraph(300), random_state=0).fit(X, some)
    assert model.score(X, y) > 0.6


def test_many_classes_have_longer_codes():
    X, y = make_blobs(600, centers=60, random_state=0, n_features=5)
    model = KernelFactorization(random_state=0).fit(X, y)
    assert model.transform(X[:2]).shape == (2, 120)


def test_limits_of_a_fit():
    X, some, _ = problem()
    with pytest.raises(MemoryError, match="smaller budget"):
        KernelFactorization(memory_limit="10KB").fit(X, some)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        KernelFactorization(4, max_iter=1).fit(X, some)


@pytest.mark.parametrize(
    ("params", "y", "message"),
    [
        ({}, np.where(np.arange(60) % 2, 1, -1), "found one class: 1. The label -1 marks"),
        ({}, np.full((60, 2), -1), "y must hold labels for some rows"),
        ({"approximation": AnchorGraph(random_state="x")}, np.arange(60) % 2, "random_state"),
        ({}, None, "requires y"),
        ({}, np.full(60, -1), "y must hold labels for some rows .* found none"),
        ({}, np.r_[1.0, np.full(59, -1)], "at least two classes"),
        ({}, np.r_[np.inf, np.arange(59)], "infinity"),
        ({}, np.full((60, 2), 0.5), "must hold 0 and 1 .* found 0.5"),
        ({}, np.r_[[[1.0, np.nan]], np.eye(2)[np.zeros(59, int)]], "must hold 0 and 1"),
        ({}, np.zeros((60, 2, 2)), "dim 3"),
        ({}, np.zeros(59), "inconsistent"),
        ({"approximation": RandomBinning()}, np.arange(60) % 2, "features are numbers"),
        ({"approximation": "fourier"}, np.arange(60) % 2, "a feature map"),
        ({"solver": "newton"}, np.arange(60) % 2, "'alternating' or 'sgd'"),
        ({"penalty_codes": 0}, np.arange(60) % 2, "penalty_codes must be a number > 0"),
        ({"kernel": "tanh"}, np.arange(60) % 2, "positive definite"),
        ({"class_weight": "balanced"}, np.eye(2)[np.arange(60) % 2], "None for label indicators"),
    ],
)
def test_bad_input(params, y, message):
    X, _, _ = problem()
    with pytest.raises(ValueError, match=message):
        KernelFactorization(**params).fit(X, y)


def test_rows_without_targets():
    X, _, _ = problem()
    with pytest.raises(ValueError, match="the rows have none"):
        KernelFactorization().fit(open_rows(X))


def test_partial_fit_needs_classes():
    X, some, _ = problem()
    with pytest.raises(ValueError, match="classes must not hold -1"):
        KernelFactorization().partial_fit(X, some, classes=np.unique(some))
    with pytest.raises(ValueError, match="classes must list all labels"):
        KernelFactorization().partial_fit(X, some)
    assert not hasattr(KernelFactorization(class_weight="balanced"), "partial_fit")
