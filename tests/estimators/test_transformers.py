import numpy as np
import pytest
from sklearn.base import clone
from sklearn.kernel_approximation import (
    AdditiveChi2Sampler,
    PolynomialCountSketch,
    RBFSampler,
    SkewedChi2Sampler,
)
from sklearn.linear_model import Ridge
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
def test_float32_stays_float32(sampler):
    X, y = problem(dtype=np.float32)
    model = KernelRegressor(approximation=sampler, alpha=ALPHA).fit(X, y)
    assert model.predict(X).dtype == model.coef_.dtype == np.float32
    expected = ridge(sampler, X.astype(float), y).predict(X.astype(float))
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-3 * np.abs(expected).max())


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


def test_the_memory_limit_counts_the_features_of_a_transformer():
    X, y = problem(30)
    model = KernelClassifier(approximation=RBFSampler(n_components=5000), memory_limit="1MB")
    with pytest.raises(MemoryError, match="5000 landmarks or features"):
        model.fit(X, y > 2)
