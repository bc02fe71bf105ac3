import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from skimp import KernelClassifier, KernelRegressor
from skimp.features import RandomFourier, RandomLayer
from skimp.kernels import ArcCosine, Gaussian
from tests.pairs import in_turn
from tests.problems import labelled, regression
from tests.reference import naive

ACTIVATIONS = ["sigmoid", "tanh", "relu", "sine", "rbf"]
WIDTHS = [0.3, 0.0, 0.7]

every_activation = pytest.mark.parametrize("activation", ACTIVATIONS)


def fitted(activation, X, gamma=0.5, n_components=40, **options):
    layer = RandomLayer(n_components, activation=activation, gamma=gamma, random_state=0, **options)
    return layer.fit(X)


def nodes(layer, X):
    """The features by their formula; the weights and offsets of a sine are in turns."""
    X, W, b = (naive.as_float64(A) for A in (X, layer.weights_, layer.offset_))
    if layer.activation == "rbf":
        return naive.gaussian(X, W.T, layer.gamma_) / np.sqrt(len(b))
    T = X @ W + b
    g, squared = {
        "sigmoid": (lambda t: 1 / (1 + np.exp(-t)), 1),
        "tanh": (np.tanh, 1),
        "relu": (lambda t: np.maximum(t, 0), 2),
        "sine": (lambda t: np.sin(2 * np.pi * (t + 0.25)), 2),
    }[layer.activation]
    return np.sqrt(squared / len(b)) * g(T)


@every_activation
@in_turn(gamma=[0.5, WIDTHS, "scale", "median", "dim"], n_components=[1, 40])
def test_features_are_the_nodes_of_the_formula(activation, gamma, n_components):
    X = regression(60)[0]
    layer = fitted(activation, X, gamma, n_components)
    Z = layer.transform(X)
    assert Z.shape == (60, n_components)
    np.testing.assert_allclose(Z, nodes(layer, X), rtol=1e-12, atol=1e-12)


@every_activation
def test_a_column_of_width_zero_is_not_looked_at(activation):
    X = regression(30)[0]
    layer = fitted(activation, X, WIDTHS)
    assert not layer.weights_[1].any()
    Z = layer.transform(X)
    X[:, 1] += 100
    np.testing.assert_allclose(layer.transform(X), Z, rtol=1e-12, atol=1e-12)


@every_activation
def test_rows_decide_nothing_where_gamma_is_a_number(activation):
    X = regression(50)[0]
    one, other = fitted(activation, X), fitted(activation, 5 * X[:1] + 3)
    assert np.array_equal(one.weights_, other.weights_)
    assert np.array_equal(one.offset_, other.offset_)
    assert np.array_equal(one.transform(X), other.transform(X))


@pytest.mark.parametrize(
    ("gamma", "of"),
    [
        ("scale", lambda X: 1 / (3 * X.var())),
        ("median", naive.median_gamma),
        ("dim", lambda X: 1 / 6),
    ],
)
def test_heuristics_are_those_of_the_gaussian_kernel(gamma, of):
    X = 3 * regression(50)[0]
    layer = fitted("tanh", X, gamma)
    assert layer.gamma_ == pytest.approx(of(X), rel=1e-9)
    assert layer.gamma == gamma
    scaled = fitted("tanh", X, layer.gamma_)
    np.testing.assert_allclose(layer.weights_, scaled.weights_, rtol=1e-12)


def variance_is(values, variance):
    # five standard errors of the variance of normal numbers
    return abs(values.var() - variance) <= 5 * variance * np.sqrt(2 / values.size)


@pytest.mark.parametrize("activation", ["sigmoid", "tanh", "relu"])
def test_weights_and_offsets_are_normal(activation):
    layer = fitted(activation, np.eye(3), [0.4, 0.0, 2.0], 20_000)
    assert variance_is(layer.weights_[0], 0.8)
    assert variance_is(layer.weights_[2], 4.0)
    assert variance_is(layer.offset_, 1.0)


def test_sines_have_uniform_phases():
    layer = fitted("sine", np.eye(3), 0.4, 20_000)
    assert variance_is(2 * np.pi * layer.weights_, 0.8)
    phases = np.sort(layer.offset_ + 0.25)
    assert 0 <= phases[0] < phases[-1] < 1
    # Dvoretzky, Kiefer and Wolfowitz: farther off with a probability of 1e-6
    steps = np.arange(1, 20_001) / 20_000
    assert np.abs(phases - steps).max() <= np.sqrt(np.log(2e6) / (2 * 20_000)) + 1 / 20_000


def test_centres_are_as_wide_as_rows():
    layer = fitted("rbf", np.eye(4), [0.4, 0.0, 2.0, 1.0], 20_000)
    assert not layer.offset_.any()
    for j, gamma in ((0, 0.4), (2, 2.0), (3, 1.0)):
        assert variance_is(layer.weights_[j], 1 / (4 * gamma))
    X = 7 * np.random.default_rng(0).normal(size=(5000, 4))
    wide = fitted("rbf", X, "scale", 20_000)
    assert variance_is(wide.weights_, X.var())


@pytest.mark.parametrize("gamma", [0.4, WIDTHS], ids=str)
@pytest.mark.parametrize("activation", ["sine", "relu"])
def test_products_are_unbiased(activation, gamma):
    X, size = regression(5)[0], 40_000
    Z = fitted(activation, X, gamma, size).transform(X)
    if activation == "sine":
        K = Gaussian(gamma)(X)
    else:
        K = ArcCosine(order=1)(np.column_stack([np.sqrt(2 * np.array(gamma)) * X, np.ones(5)]))
    terms = size * Z[:, None, :] * Z[None, :, :]
    standard_error = terms.std(axis=2, ddof=1) / np.sqrt(size)
    assert (np.abs(terms.mean(axis=2) - K) <= 5 * standard_error).all()
    assert (standard_error <= 0.03 * np.abs(K).max()).all()


@every_activation
@pytest.mark.parametrize(("dtype", "large"), [(np.float32, 1e30), (np.float64, 1e300)])
def test_large_rows_do_not_overflow(activation, dtype, large):
    X = (large * np.array([[1, 0, 0], [0, -1, 0], [0, 0, 0.5]])).astype(dtype)
    Z = fitted(activation, np.eye(3, dtype=dtype)).transform(X)
    assert np.isfinite(Z).all()
    if activation in ("sigmoid", "tanh"):
        low = 0 if activation == "sigmoid" else -1
        assert set(np.unique(np.round(Z * np.sqrt(40), 5))) == {low, 1}
    elif activation == "rbf":
        assert not Z.any()
    elif activation == "sine":
        assert np.abs(Z).max() <= np.sqrt(2 / 40) * (1 + 1e-6)


@every_activation
def test_regression_in_the_layer_is_ridge_on_its_features(activation):
    X, y, weight = regression(200)
    model = KernelRegressor(
        approximation=RandomLayer(30, activation=activation, gamma=0.3), alpha=1e-3, random_state=0
    ).fit(X, y, sample_weight=weight)
    Z = model.approximation_.transform(X)
    coef, intercept = naive.ridge(Z, y[:, None], alpha=1e-3, weight=weight)
    np.testing.assert_allclose(model.predict(X), (Z @ coef + intercept)[:, 0], rtol=1e-7, atol=1e-8)


@every_activation
def test_classification_in_the_layer_is_logistic_regression_on_its_features(activation):
    X, y, _ = labelled(200, n_classes=2)
    layer = RandomLayer(20, activation=activation, gamma=0.3)
    options = {"loss": "log", "alpha": 1e-3, "tol": 1e-12, "random_state": 0}
    model = KernelClassifier(approximation=layer, **options).fit(X, y)
    Z = model.approximation_.transform(X)
    twin = LogisticRegression(C=1 / (2 * 200 * 1e-3), solver="newton-cholesky", tol=1e-8).fit(Z, y)
    np.testing.assert_allclose(model.decision_function(X), twin.decision_function(Z), atol=1e-5)
    again = clone(model).fit(X, y)
    assert np.array_equal(again.decision_function(X), model.decision_function(X))


def test_a_layer_of_sines_does_what_fourier_features_do():
    X, y, _ = regression(400)
    maps = (
        RandomLayer(400, activation="sine", gamma=0.3, random_state=0),
        RandomFourier(Gaussian(0.3), n_components=400, form="phase", random_state=0),
    )
    scores = [KernelRegressor(approximation=m, alpha=1e-5).fit(X, y).score(X, y) for m in maps]
    assert min(scores) > 0.98
