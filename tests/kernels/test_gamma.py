import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse
from sklearn.svm import SVC

from skimp.data import open_rows
from skimp.kernels import Cauchy, Chi2, Gaussian, Laplacian, Matern, Polynomial, Tanh
from skimp.kernels._gamma import SAMPLE_SIZE, resolve_gamma
from tests.problems import regression
from tests.reference import naive
from tests.sources import ChunkedRows
from tests.strategies import FLOATS, matrices


def test_scale_is_that_of_scikit_learn():
    X = 3 * regression(50)[0] + 1
    gamma = resolve_gamma("scale", open_rows(X), 0)
    assert gamma == pytest.approx(SVC().fit(X, X[:, 0] > 1)._gamma, rel=1e-9)


@pytest.mark.parametrize("d", [1, 7])
def test_dim_is_one_over_twice_the_columns(d):
    assert resolve_gamma("dim", open_rows(np.ones((3, d))), 0) == 1 / (2 * d)


@settings(max_examples=40, deadline=None)
@given(matrices(dtypes=FLOATS, scales=(1e-3, 1.0, 1e3)))
def test_scale_and_median_are_their_naive_twins(X):
    rows, values = open_rows(X, block_rows=5), naive.as_float64(X)
    if len(np.unique(values, axis=0)) == 1:
        assert resolve_gamma("median", rows, 0) == 1
    else:
        assert resolve_gamma("median", rows, 0) == pytest.approx(naive.median_gamma(X), rel=1e-6)
    variance = naive.variance(X)
    if variance > 1e-12 * np.abs(values).max() ** 2:
        expected = 1 / (X.shape[1] * variance)
        assert resolve_gamma("scale", rows, 0) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("gamma", ["scale", "median"])
@pytest.mark.parametrize("value", [0.0, 0.1, 1e6])
def test_equal_rows_give_one(gamma, value):
    X = np.full((7, 3), value)
    assert resolve_gamma(gamma, open_rows(X, block_rows=3), 0) == 1
    assert resolve_gamma(gamma, open_rows(sparse.csr_matrix(X), block_rows=3), 0) == 1


def test_median_of_repeated_rows_looks_at_rows_that_differ():
    rng = np.random.default_rng(0)
    for d in (2, 10, 50):
        distinct = rng.normal(size=(2, d)) + 10
        X = rng.permutation(np.repeat(distinct, 100, axis=0))
        expected = 1 / ((distinct[0] - distinct[1]) ** 2).sum()
        assert resolve_gamma("median", open_rows(X), 0) == pytest.approx(expected, rel=1e-9)


def test_median_samples_large_data():
    X = np.random.default_rng(0).normal(size=(3 * SAMPLE_SIZE, 2))
    first, second = (resolve_gamma("median", open_rows(X), seed) for seed in (0, 1))
    assert first != second
    sampled = X[naive.sampled_rows(len(X), SAMPLE_SIZE, 0)]
    distances = ((sampled[:, None] - sampled) ** 2).sum(axis=2)
    expected = 1 / np.median(distances[np.triu_indices(SAMPLE_SIZE, k=1)])
    assert first == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("gamma", ["scale", "median"])
def test_the_same_number_from_any_chunking(gamma):
    X, _, weight = regression(300)
    expected = resolve_gamma(gamma, open_rows(X, weight=weight), 0)
    for block_rows in (1, 16, 300):
        rows = ChunkedRows(X, weight=weight, block_rows=block_rows)
        assert resolve_gamma(gamma, rows, 0) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("gamma", ["scale", "median"])
def test_weights_count_as_repeated_rows(gamma):
    X, counts = regression(40)[0], np.arange(40) % 4
    weighted = resolve_gamma(gamma, open_rows(X, weight=counts.astype(float)), 0)
    repeated = resolve_gamma(gamma, open_rows(np.repeat(X, counts, axis=0)), 0)
    assert weighted == pytest.approx(repeated, rel=1e-9)


SQUARED = [Gaussian, Cauchy, Matern, Polynomial, Tanh]
NOT_SQUARED = {Laplacian: naive.manhattan_distances, Chi2: naive.chi_square_distances}


@pytest.mark.parametrize("kind", [*SQUARED, *NOT_SQUARED])
def test_heuristics_of_every_kernel(kind):
    X = np.random.default_rng(0).random((21, 3))
    rows = open_rows(X)
    distances = NOT_SQUARED.get(kind, naive.squared_distances)(X, X)
    spread = X.std() if kind in NOT_SQUARED else X.var()
    expected = {
        "scale": 1 / (3 * spread),
        "median": 1 / np.median(distances[np.triu_indices(21, k=1)]),
        "dim": 1 / 6,
    }
    for name, number in expected.items():
        kernel = kind(gamma=name)
        assert kernel.resolve(rows, 0).gamma == pytest.approx(number, rel=1e-8)
        assert kernel.gamma == name


@pytest.mark.parametrize("kind", [Gaussian, Cauchy, Matern, Laplacian, Chi2])
@pytest.mark.parametrize("gamma", ["scale", "median"])
def test_heuristics_follow_the_scale_of_the_rows(kind, gamma):
    X = np.random.default_rng(0).random((50, 3))
    one, other = (kind(gamma=gamma).resolve(open_rows(s * X), 0)(s * X) for s in (1.0, 100.0))
    np.testing.assert_allclose(other, one, atol=1e-7)


@pytest.mark.parametrize("gamma", [0.3, [0.1, 0.0, 2.0], np.ones(3)], ids=repr)
def test_numbers_are_resolved_to_themselves(gamma):
    kernel = Gaussian(gamma)
    resolved = kernel.resolve(open_rows(np.ones((4, 3))), 0)
    assert resolved == kernel
    assert resolved is not kernel
