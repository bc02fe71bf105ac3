import numpy as np
import pytest
from scipy import sparse

from skimp._core._random import draw_seed
from skimp.budgets import KMeans
from skimp.data import open_rows
from skimp.kernels import Gaussian
from tests.budgets.test_clusters import lloyd
from tests.problems import regression
from tests.reference import naive
from tests.sources import ChunkedRows


def select(X, size, seed=0, **options):
    return KMeans(**options).select(X, size, Gaussian(gamma=1.0), np.random.default_rng(seed))


def sampled(n, size, seed=0, weight=None):
    return naive.sampled_rows(n, size, draw_seed(np.random.default_rng(seed)), weight)


def nearest_rows(X, points):
    return [int(np.argmin([((x - p) ** 2).sum() for x in X])) for p in points]


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_matrix, ChunkedRows])
def test_centres_are_those_of_lloyd(wrap):
    X = regression(160)[0]
    order = sampled(160, 160)
    budget = select(wrap(X), 80)
    assert budget.indices is None
    assert isinstance(budget.points, np.ndarray)
    np.testing.assert_allclose(budget.points, lloyd(X[order], X[order[:80]]), atol=1e-10)


def test_weights_of_rows_count():
    X, _, weight = regression(200)
    weight[:20] = 50
    present = np.flatnonzero(weight)
    order = present[sampled(len(present), len(present))]
    found = select(open_rows(X, weight=weight), 70).points
    np.testing.assert_allclose(found, lloyd(X[order], X[order[:70]], weight[order]), atol=1e-10)


def test_centres_of_the_sample_alone():
    X = regression(700)[0]
    order = sampled(700, 640)
    expected = lloyd(X[order], X[order[:80]])
    np.testing.assert_allclose(select(X, 80, presample=1).points, expected, atol=1e-10)


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9])
def test_rows_are_the_nearest_to_the_centres(offset):
    X = regression(300)[0] + offset
    rows, centres = select(X, 6, points="rows"), select(X, 6).points
    assert sorted(rows.indices) == sorted(nearest_rows(X, centres))
    assert np.array_equal(rows.points, X[rows.indices])


@pytest.mark.parametrize("size", [1, 20, 99])
@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_matrix])
def test_as_many_centres_as_asked_for_where_few_rows_differ(wrap, size):
    X = np.repeat(regression(10)[0], 10, axis=0)
    points = select(wrap(X), size).points
    assert points.shape == (size, 3)
    if size >= 20:
        off = np.abs(points[:, None] - X).max(axis=2).min(axis=1)
        assert off.max() < 1e-12
        assert len(np.unique(points.round(9), axis=0)) == 10


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_matrix])
def test_centres_of_duplicated_rows_are_within_the_data(wrap):
    X = (np.random.default_rng(0).random((300, 6)) < 0.3).astype(np.float64)
    points = select(wrap(X), 100).points
    assert points.min() > -1e-12
    assert points.max() < 1 + 1e-12


def test_centres_of_rows_that_are_not_negative_are_not_either():
    X = np.random.default_rng(0).integers(0, 3, (1000, 3)).astype(np.float64)
    assert select(X, 20).points.min() >= 0


def test_constant_columns_stay_constant():
    X = regression(100)[0]
    X[:, 1] = 7
    np.testing.assert_allclose(select(X, 9).points[:, 1], 7, rtol=1e-14)


def test_far_groups_have_a_centre_each():
    place = np.random.default_rng(0).permutation(np.arange(300) % 5)
    X = 1000.0 * np.eye(5)[place] + np.random.default_rng(1).normal(size=(300, 5))
    found = select(X, 5).points
    expected = np.array([X[place == c].mean(axis=0) for c in range(5)])
    np.testing.assert_allclose(found[np.argsort(-found.argmax(axis=1))], expected[::-1])


@pytest.mark.parametrize("points", ["centres", "rows"])
@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e30, 1e160])
def test_points_scale_with_the_rows(points, scale):
    X = regression(300)[0]
    found = select(X * scale, 6, points=points).points / scale
    np.testing.assert_allclose(found, select(X, 6, points=points).points, rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-46, 1e39])
def test_the_scale_of_weights_does_not_matter(scale):
    X, _, weight = regression(100, dtype=np.float32)
    found, expected = (select(open_rows(X, weight=w), 9).points for w in (weight * scale, weight))
    np.testing.assert_allclose(found, expected, rtol=1e-4)
