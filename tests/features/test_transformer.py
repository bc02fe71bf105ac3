import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.kernel_approximation import (
    AdditiveChi2Sampler,
    PolynomialCountSketch,
    RBFSampler,
    SkewedChi2Sampler,
)
from sklearn.preprocessing import StandardScaler
from sklearn.random_projection import GaussianRandomProjection

from skimp.data import open_rows
from skimp.features import RandomFourier, Transformer
from skimp.features import _transformer as module
from skimp.features._transformer import as_map
from skimp.kernels import AdditiveChi2

SAMPLERS = [
    AdditiveChi2Sampler(),
    AdditiveChi2Sampler(sample_steps=3),
    SkewedChi2Sampler(n_components=20, random_state=0),
    RBFSampler(n_components=20, random_state=0),
    PolynomialCountSketch(n_components=16, random_state=0),
    GaussianRandomProjection(n_components=3, random_state=0),
]

every_sampler = pytest.mark.parametrize("sampler", SAMPLERS, ids=repr)


class RowCount(TransformerMixin, BaseEstimator):
    """Rows as they are, and the rows that it was fitted to."""

    def fit(self, X, y=None):
        self.seen_ = X
        return self

    def transform(self, X):
        return X


def histograms(n=80, d=5, dtype=np.float64):
    """Rows without negative entries, some of them zero, that sum to one."""
    X = np.random.default_rng(0).dirichlet(np.full(d, 0.6), n)
    X[X < 0.05] = 0
    return (X / X.sum(axis=1, keepdims=True)).astype(dtype)


def as_dense(Z):
    return Z.toarray() if sparse.issparse(Z) else Z


@every_sampler
@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_features_are_those_of_the_transformer(sampler, wrap):
    X = wrap(histograms())
    if sparse.issparse(X) and isinstance(sampler, SkewedChi2Sampler):
        with pytest.raises(TypeError, match=r"[Ss]parse"):
            Transformer(sampler).fit(X)
        return
    fitted = Transformer(sampler).fit(X)
    Z = fitted.transform(X)
    expected = as_dense(clone(sampler).fit(X).transform(X))
    assert Z.dtype == np.float64
    assert fitted.width == Z.shape[1]
    np.testing.assert_allclose(Z, expected, rtol=1e-12, atol=1e-14)


def test_the_given_transformer_is_not_fitted():
    scaler = StandardScaler()
    fitted = Transformer(scaler).fit(histograms())
    assert not hasattr(scaler, "mean_")
    assert fitted.transformer is scaler
    np.testing.assert_allclose(fitted.transformer_.mean_, histograms().mean(axis=0))


def test_a_transformer_without_a_seed_has_that_of_the_map():
    X = histograms()

    def features(seed, sampler=None):
        sampler = sampler or RBFSampler(n_components=10)
        return Transformer(sampler, random_state=seed).fit_transform(X)

    assert np.array_equal(features(0), features(0))
    assert not np.array_equal(features(0), features(1))
    seeded = RBFSampler(n_components=10, random_state=3)
    assert np.array_equal(features(0, seeded), features(1, seeded))
    assert np.array_equal(features(0, seeded), seeded.fit_transform(X))


def test_many_rows_are_sampled_for_the_fit(monkeypatch):
    X = np.random.default_rng(0).normal(size=(500, 2))
    everything = Transformer(RowCount(), random_state=0).fit(X).transformer_.seen_
    assert sorted(map(tuple, everything)) == sorted(map(tuple, X))
    monkeypatch.setattr(module, "_SAMPLE", 30)
    fitted = Transformer(RowCount(), random_state=0).fit(X)
    seen = fitted.transformer_.seen_
    assert seen.shape == (30, 2)
    assert len(set(map(tuple, seen)) & set(map(tuple, X))) == 30
    assert np.array_equal(fitted.transform(X), X)
    other = Transformer(RowCount(), random_state=1).fit(X).transformer_.seen_
    assert not np.array_equal(np.sort(other, axis=0), np.sort(seen, axis=0))


def test_weights_count_as_repeated_rows():
    X, counts = np.random.default_rng(0).normal(size=(50, 3)), np.arange(50) % 3
    weighted = open_rows(X, weight=counts.astype(float))
    repeated = open_rows(np.repeat(X, counts, axis=0))
    one, other = (
        Transformer(StandardScaler()).fit_rows(rows, np.random.default_rng(0))
        for rows in (weighted, repeated)
    )
    np.testing.assert_allclose(one.transform(X), other.transform(X))


def test_the_width_is_guessed_before_the_fit():
    rows = open_rows(np.ones((50, 4)))
    assert Transformer(RBFSampler(n_components=30)).planned_width(rows) == 30
    assert Transformer(AdditiveChi2Sampler()).planned_width(rows) == 4


def test_columns_of_objects_are_numbers_to_a_transformer():
    X = histograms()
    Z = Transformer(AdditiveChi2Sampler()).fit_transform(X.astype(object))
    np.testing.assert_allclose(Z, AdditiveChi2Sampler().fit_transform(X), rtol=1e-12)


def test_maps_stay_maps():
    given = RandomFourier(n_components=5)
    assert isinstance(as_map(given), RandomFourier)
    assert as_map(given) is not given
    assert as_map(RBFSampler()).transformer.n_components == 100


@pytest.mark.parametrize("transformer", ["rbf", RBFSampler, None, 3, AdditiveChi2(), np.ones(3)])
def test_what_is_no_transformer_is_refused(transformer):
    message = "Transformer: transformer must be a transformer, got"
    with pytest.raises(ValueError, match=re.escape(message)):
        Transformer(transformer).fit(histograms())


def sech(t):
    return 2 * np.exp(-np.abs(t)) / (1 + np.exp(-2 * np.abs(t)))


def sampling_errors(X, steps, interval):
    """Bound the error of sampling the spectrum sech(pi w) of the additive chi-square kernel.

    With t = log(y / x), a column's 2 x y / (x + y) is sqrt(x y) sech(t / 2). By Poisson's formula,
    samples at all multiples of L add sech at t plus multiples of 2 pi / L; only the first are
    taken, so the rest of the spectrum is missed, too.
    """
    k, j = np.arange(1, 20), np.arange(steps, steps + 400)
    missed = 2 * interval * np.sum(sech(np.pi * interval * j))
    bound = np.zeros((len(X), len(X)))
    for column in X.T:
        x = np.where(column > 0, column, 1.0)
        t = np.log(x[:, None] / x)[..., None]
        aliases = sech(t / 2 + np.pi * k / interval) + sech(t / 2 - np.pi * k / interval)
        bound += np.sqrt(np.outer(column, column)) * (aliases.sum(axis=-1) + missed)
    return bound


@pytest.mark.parametrize(("steps", "interval"), [(1, 0.8), (2, 0.5), (3, 0.4), (8, 0.3), (30, 0.2)])
def test_additive_chi_square_features_approximate_the_kernel(steps, interval):
    X = histograms()
    # the intervals of up to three steps are those that scikit-learn has for them
    given = None if steps <= 3 else interval
    sampler = AdditiveChi2Sampler(sample_steps=steps, sample_interval=given)
    Z = Transformer(sampler).fit_transform(X)
    error = np.abs(Z @ Z.T - AdditiveChi2()(X))
    assert (error <= sampling_errors(X, steps, interval) + 1e-12).all()


def test_more_steps_leave_less_error():
    X = histograms()
    K = AdditiveChi2()(X)
    maps = [Transformer(AdditiveChi2Sampler(sample_steps=steps)) for steps in (1, 2, 3)]
    maps.append(Transformer(AdditiveChi2Sampler(sample_steps=60, sample_interval=0.1)))
    errors = [np.linalg.norm(Z @ Z.T - K) for Z in (m.fit_transform(X) for m in maps)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] <= np.linalg.norm(sampling_errors(X, 60, 0.1)) + 1e-9


def test_skewed_chi_square_features_approximate_their_kernel():
    X, size = histograms(40), 4000
    sampler = SkewedChi2Sampler(skewedness=0.1, n_components=size)
    Z = Transformer(sampler, random_state=0).fit_transform(X)
    S = X + 0.1
    K = np.prod(2 * np.sqrt(S[:, None] * S[None]) / (S[:, None] + S[None]), axis=2)
    # means of terms in [-2, 2]; larger with a probability of 1e-6 at most
    bound = 4 * np.sqrt(np.log(2 * 40**2 / 1e-6) / (2 * size))
    assert np.abs(Z @ Z.T - K).max() <= bound
