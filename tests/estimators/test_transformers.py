import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.kernel_approximation import (
    AdditiveChi2Sampler,
    PolynomialCountSketch,
    RBFSampler,
    SkewedChi2Sampler,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection

from skimp import KernelClassifier, KernelRegressor
from skimp.features import Transformer

ALPHA = 1e-3
SAMPLERS = [
    AdditiveChi2Sampler(),
    SkewedChi2Sampler(n_components=20, random_state=0),
    RBFSampler(n_components=20, random_state=0),
    PolynomialCountSketch(n_components=16, random_state=0),
    GaussianRandomProjection(n_components=3, random_state=0),
    *(
        SparseRandomProjection(3, density=density, random_state=0)
        for density in (1 / 3, 1.0, "auto")
    ),
]

every_sampler = pytest.mark.parametrize("sampler", SAMPLERS, ids=repr)


def problem(n=150, dtype=np.float64):
    """Rows without negative entries, some of them zero, and a target."""
    rng = np.random.default_rng(0)
    X = rng.gamma(0.5, size=(n, 4))
    X[X < 0.05] = 0
    y = np.sqrt(X[:, 0]) - X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n) + 2
    return X.astype(dtype), y


def ridge(sampler, X, y, **options):
    return make_pipeline(clone(sampler), Ridge(alpha=len(X) * ALPHA, **options)).fit(X, y)


@every_sampler
def test_regression_is_ridge_on_the_features(sampler):
    fit_intercept = isinstance(sampler, RBFSampler)
    X, y = problem()
    model = KernelRegressor(approximation=sampler, alpha=ALPHA, fit_intercept=fit_intercept)
    twin = ridge(sampler, X, y, fit_intercept=fit_intercept)
    np.testing.assert_allclose(model.fit(X, y).predict(X), twin.predict(X), rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(model.coef_[:, 0], twin[-1].coef_, atol=1e-6)
    assert isinstance(model.approximation_, Transformer)


@pytest.mark.parametrize("sampler", SAMPLERS[1:8:4], ids=repr)
def test_weighted_regression_on_two_targets(sampler):
    X, y = problem()
    Y = np.column_stack([y, -2 * y**2])
    weight = np.random.default_rng(1).integers(0, 4, len(X)).astype(float)
    model = KernelRegressor(approximation=sampler, alpha=ALPHA).fit(X, Y, sample_weight=weight)
    Z = clone(sampler).fit_transform(X)
    expected = Ridge(alpha=weight.sum() * ALPHA).fit(Z, Y, sample_weight=weight).predict(Z)
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("sampler", SAMPLERS[1:8:4], ids=repr)
def test_classification_is_logistic_regression_on_the_features(sampler):
    X, y = problem()
    labels = y > np.median(y)
    options = {"loss": "log", "alpha": ALPHA, "tol": 1e-12}
    model = KernelClassifier(approximation=sampler, **options).fit(X, labels)
    linear = LogisticRegression(C=1 / (2 * len(X) * ALPHA), solver="newton-cholesky", tol=1e-8)
    expected = make_pipeline(clone(sampler), linear).fit(X, labels).decision_function(X)
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("sampler", SAMPLERS[1:8:4], ids=repr)
def test_float32_stays_float32(sampler):
    X, y = problem(dtype=np.float32)
    model = KernelRegressor(approximation=sampler, alpha=ALPHA).fit(X, y)
    assert model.predict(X).dtype == model.coef_.dtype == np.float32
    expected = ridge(sampler, X.astype(float), y).predict(X.astype(float))
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-3 * np.abs(expected).max())


def test_names_of_columns_are_kept():
    X, y = problem()
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = KernelClassifier(approximation=AdditiveChi2Sampler()).fit(frame, y > 2)
    assert list(model.feature_names_in_) == list("abcd")
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[list("dcba")])


@pytest.mark.parametrize("sampler", [AdditiveChi2Sampler(), SkewedChi2Sampler()], ids=repr)
def test_negative_rows_are_refused_by_the_sampler(sampler):
    X, y = problem()
    model = KernelClassifier(approximation=sampler).fit(X, y > 2)
    X[3, 1] = -5
    message = "Negative values in data|X may not contain entries smaller than -skewedness"
    with pytest.raises(ValueError, match=message):
        model.predict(X)
    with pytest.raises(ValueError, match=message):
        clone(model).fit(X, y > 2)


def test_the_seed_of_the_estimator_is_that_of_the_sampler():
    X, y = problem()

    def outputs(seed, sampler):
        model = KernelClassifier(approximation=sampler, alpha=ALPHA, random_state=seed).fit(
            X, y > 2
        )
        return model.coef_

    free, fixed = RBFSampler(n_components=10), RBFSampler(n_components=10, random_state=5)
    assert np.array_equal(outputs(0, free), outputs(0, free))
    assert not np.array_equal(outputs(0, free), outputs(1, free))
    assert np.array_equal(outputs(0, fixed), outputs(1, fixed))
    assert free.random_state is None


def test_grid_search_reaches_inside_a_sampler():
    X, y = problem()
    model = KernelClassifier(approximation=AdditiveChi2Sampler(), alpha=ALPHA)
    grid = {"approximation__sample_steps": [1, 2, 3], "alpha": [1e-4, 1e2]}
    search = GridSearchCV(model, grid, cv=3).fit(X, y > 2)
    assert search.best_params_["alpha"] == 1e-4
    steps = search.best_params_["approximation__sample_steps"]
    fitted = search.best_estimator_.approximation_
    assert fitted.transformer_.sample_steps == steps
    assert fitted.width == 4 * (2 * steps - 1)
    assert model.approximation.sample_steps == 2


class Counting(RBFSampler):
    """Random features that note how many rows they were fitted to."""

    def fit(self, X, y=None):
        self.n_rows_ = len(X)
        return super().fit(X, y)


def test_a_sampler_is_fitted_to_a_sample_of_many_rows():
    X, y = problem(12_000)
    model = KernelRegressor(approximation=Counting(n_components=5), alpha=ALPHA, random_state=0)
    assert model.fit(X[:300], y[:300]).approximation_.transformer_.n_rows_ == 300
    assert model.fit(X, y).approximation_.transformer_.n_rows_ == 10_000


def test_a_transformer_may_be_given_as_a_map():
    X, y = problem()
    plain = KernelClassifier(approximation=AdditiveChi2Sampler(), alpha=ALPHA).fit(X, y > 2)
    mapped = KernelClassifier(approximation=Transformer(AdditiveChi2Sampler()), alpha=ALPHA)
    assert np.array_equal(mapped.fit(X, y > 2).coef_, plain.coef_)


def test_warm_starts_go_on_from_a_sampler():
    X, y = problem()
    model = KernelClassifier(
        approximation=RBFSampler(n_components=10), alpha=ALPHA, warm_start=True, random_state=0
    ).fit(X, y > 2)
    first = model.approximation_
    assert model.fit(X, y > 2).approximation_ is first
    assert model.set_params(approximation__n_components=11).fit(X, y > 2).approximation_.width == 11


def test_the_memory_limit_counts_the_features_of_a_transformer():
    X, y = problem(30)
    model = KernelClassifier(approximation=RBFSampler(n_components=5000), memory_limit="1MB")
    with pytest.raises(MemoryError, match="5000 landmarks or features"):
        model.fit(X, y > 2)
