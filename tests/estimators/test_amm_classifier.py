import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_moons

from skimp import AMMClassifier
from skimp.budgets import Balanced
from skimp.data import LOCAL, open_rows
from skimp.estimators import _hyperplanes
from skimp.features import Nystroem, RandomBinning, RandomFourier
from skimp.kernels import Gaussian
from skimp.solvers import Passes
from tests.reference.amm import amm_weights
from tests.sources import ChunkedRows

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 4)) * (rng.random((300, 4)) < 0.7)
# some labels are wrong, which gives small weights that can be removed
NOISE = np.where(rng.random(300) < 0.1, rng.integers(0, 3, 300), 0)
CODES = (np.digitize(X[:, 0] * X[:, 1] + 0.3 * X[:, 2], [-0.3, 0.3]) + NOISE) % 3
LABELS = np.array(["low", "mid", "top"])[CODES]
WEIGHT = rng.integers(0, 3, 300).astype(float)
LAYOUTS = {"dense": np.asarray, "CSR": sparse.csr_matrix, "float32": np.float32}


def visits(seed, n_passes, weight):
    """Return the orders in which a fit visits rows, and the factor of each row."""
    found = []
    rows = open_rows(np.zeros((300, 1)), target=np.zeros((300, 1)), weight=weight)
    passes = Passes(rows, "reshuffled", seed, 2**30, LOCAL)
    for number in range(n_passes):
        passes.run(number, lambda X, Y, factor, order: found.append((order, factor)))
    return [order for order, _ in found], found[0][1]


def xor(n):
    """Return rows in four squares, of which opposite ones have the same class."""
    X = np.random.default_rng(1).uniform(-1, 1, (n, 2))
    return X + 0.3 * np.sign(X), X.prod(axis=1) > 0


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("method", ["batch", "online"])
@pytest.mark.parametrize(
    ("average", "pruning", "share", "max_weights"),
    [(True, 10.0, 1.0, 5), (False, 100.0, 0.1, 5), (True, 0.0, 1.0, 2)],
)
def test_equals_the_formulas(layout, method, average, pruning, share, max_weights, monkeypatch):
    monkeypatch.setattr(_hyperplanes, "_EVERY", 250)
    monkeypatch.setattr(_hyperplanes, "_SHARE", share)
    options = {"alpha": 1e-3, "average": average, "pruning": pruning, "max_weights": max_weights}
    rows, batch = LAYOUTS[layout](X), method == "batch"
    model = AMMClassifier(method=method, max_iter=4, random_state=0, **options)
    model.fit(rows, LABELS, WEIGHT)
    plain = np.asarray(rows.todense() if layout == "CSR" else rows, np.float64)
    drawn = visits(model._learner.seed, 4, WEIGHT)
    expected = amm_weights(plain, CODES, *drawn, batch=batch, every=250, share=share, **options)
    assert model.n_weights_.tolist() == [len(weights) for weights in expected]
    assert model.coef_.dtype == rows.dtype
    found = np.column_stack([model.coef_, model.intercept_])
    tol = 1e-5 if layout == "float32" else 1e-10
    np.testing.assert_allclose(found, np.concatenate(expected), rtol=tol, atol=tol)


def test_scores_are_largest_products():
    model = AMMClassifier(random_state=0).fit(X, LABELS)
    products = X @ model.coef_.T + model.intercept_
    parts = np.split(products, np.cumsum(model.n_weights_)[:-1], axis=1)
    expected = np.column_stack([part.max(axis=1) for part in parts])
    np.testing.assert_allclose(model.decision_function(X), expected)
    assert len(model.coef_) > 3


# with 16 grids, all features are 0 or 1/4: products that are equal stay so after rounding
@pytest.mark.parametrize("feature_map", [RandomFourier(n_components=30), RandomBinning(n_grids=16)])
@pytest.mark.parametrize("method", ["batch", "online"])
def test_a_map_equals_its_features(feature_map, method):
    feature_map = clone(feature_map).set_params(random_state=3)
    Z = clone(feature_map).fit_transform(X)
    options = {"method": method, "alpha": 1e-3, "max_iter": 3, "random_state": 0}
    found = AMMClassifier(feature_map, **options).fit(X, LABELS)
    expected = AMMClassifier(**options).fit(Z, LABELS)
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-9)
    np.testing.assert_allclose(found.decision_function(X), expected.decision_function(Z))


@pytest.mark.parametrize("approximation", [30, "fourier", Nystroem(budget=30, selector=Balanced())])
def test_maps_have_curved_boundaries(approximation):
    curved = X[:, 0] ** 2 + X[:, 1] ** 2 > 1
    model = AMMClassifier(approximation, random_state=0).fit(X, curved)
    assert model.score(X, curved) > 0.93
    assert model.coef_.shape[1] == model.approximation_.width


@pytest.mark.parametrize("method", ["batch", "online"])
@pytest.mark.parametrize("n_rows", [200, 2000, 20_000])
def test_pruning_keeps_the_weights_that_matter(method, n_rows):
    # early in a fit, the published limit exceeds the norms of all weights
    rows, classes = xor(n_rows)
    model = AMMClassifier(method=method, max_iter=5, random_state=0).fit(rows, classes)
    assert model.score(rows, classes) == 1
    assert (model.n_weights_ >= 2).all()


def test_pruning_removes_small_weights(monkeypatch):
    monkeypatch.setattr(_hyperplanes, "_EVERY", 100)
    rows, classes = make_moons(2000, noise=0.4, random_state=0)
    n_weights = [
        AMMClassifier(alpha=1e-3, pruning=pruning, random_state=0).fit(rows, classes).n_weights_
        for pruning in (0.0, 30.0)
    ]
    assert n_weights[1].sum() < n_weights[0].sum()


def test_a_call_is_an_online_pass():
    one = AMMClassifier(random_state=0).partial_fit(X, LABELS, classes=["low", "mid", "top"])
    expected = AMMClassifier(method="online", max_iter=1, random_state=0).fit(X, LABELS)
    np.testing.assert_array_equal(one.coef_, expected.coef_)
    twice = one.partial_fit(X, LABELS).decision_function(X)
    assert one.n_iter_ == 2
    expected.partial_fit(X, LABELS)
    np.testing.assert_array_equal(twice, expected.decision_function(X))


def test_stream_learns_row_by_row_and_from_classes_that_come_late():
    rows, classes = xor(1500)
    model = AMMClassifier(random_state=0)
    for part in np.split(np.argsort(~classes[:300], kind="stable"), 300):
        model.partial_fit(rows[part], classes[part], classes=[False, True])
    for part in np.split(np.arange(300, 1500), 12):
        model.partial_fit(rows[part], classes[part])
    assert model.score(rows, classes) > 0.99


def test_calls_continue_a_fit_and_fail_as_a_whole():
    model = AMMClassifier(random_state=0).fit(X, LABELS)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="found 'none'"):
        model.partial_fit(X, np.where(CODES == 0, "none", "mid"))
    np.testing.assert_array_equal(model.decision_function(X), before)
    assert model.partial_fit(X, LABELS).n_iter_ == 21
    assert np.abs(model.decision_function(X) - before).max() > 0


def test_buffers_learn_as_well():
    rows, classes = xor(2000)
    source = ChunkedRows(rows, classes)
    expected = AMMClassifier(random_state=0).fit(rows, classes).coef_
    np.testing.assert_array_equal(AMMClassifier(random_state=0).fit(source).coef_, expected)
    model = AMMClassifier("fourier", memory_limit=100_000, random_state=0)
    assert model.fit(source).score(rows, classes) > 0.99


def test_class_weights_are_row_weights():
    factors = {"low": 1.0, "mid": 3.0, "top": 2.0}
    found = AMMClassifier(class_weight=factors, random_state=0).fit(X, LABELS)
    expected = AMMClassifier(random_state=0).fit(X, LABELS, [factors[label] for label in LABELS])
    np.testing.assert_array_equal(found.coef_, expected.coef_)


def test_balanced_weights_need_all_rows():
    model = AMMClassifier(class_weight="balanced")
    with pytest.raises(AttributeError, match="compute_class_weight"):
        model.partial_fit(X, LABELS, classes=["low", "mid", "top"])


@pytest.mark.parametrize("size", [1e160, 1e200, 1e307])
def test_huge_rows_are_refused(size):
    with pytest.raises(ValueError, match="rescale"):
        AMMClassifier().fit(np.full((50, 2), size), np.arange(50) % 2)


@pytest.mark.parametrize(
    ("approximation", "found"),
    [
        (30, "30 rows for Nystroem"),
        (RandomBinning(), "1000 rows for RandomBinning"),
        (RandomFourier(), "10 rows for gamma='scale'"),
    ],
    ids=repr,
)
def test_the_first_rows_of_a_stream_suffice_for_the_map(approximation, found):
    model = AMMClassifier(approximation)
    with pytest.raises(ValueError, match=f"needs at least {found}.*, found 5: pass more rows"):
        model.partial_fit(X[:5], LABELS[:5], classes=["low", "mid", "top"])
    model.set_params(approximation=RandomFourier(Gaussian(0.5), n_components=10))
    assert model.partial_fit(X[:5], LABELS[:5], classes=["low", "mid", "top"]).n_iter_ == 1
