import numpy as np
import pytest
from scipy import sparse

from skimp._core._random import draw_seed
from skimp.budgets import Agglomerative
from skimp.budgets._agglomerative import _bisect, _merge
from skimp.kernels import Gaussian, Laplacian, Linear
from tests.pairs import in_turn, pairwise
from tests.problems import regression
from tests.reference import budgets, naive

LINKAGES = ["single", "complete", "average"]
SEPARATED = np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0], [30.0, 30.0]], [20, 5, 12, 1], axis=0)


def select(X, size, kernel=None, seed=0, **params):
    kernel = Gaussian(gamma=0.1) if kernel is None else kernel
    return Agglomerative(**params).select(X, size, kernel, np.random.default_rng(seed))


def as_sets(labels):
    return {frozenset(np.flatnonzero(labels == c).tolist()) for c in range(labels.max() + 1)}


def as_clusters(K, size, linkage):
    return [sorted(cluster) for cluster in budgets.merged(K, size, linkage)]


@pairwise(
    linkage=LINKAGES,
    kernel=[Gaussian(gamma=0.1), Laplacian(gamma=0.3), Linear()],
    size=[1, 2, 7, 24, 25],
)
def test_clusters_of_naive_merging(linkage, kernel, size):
    K = kernel(regression(25)[0])
    expected = budgets.merged(K, size, linkage)
    assert as_sets(_merge(K, size, linkage)) == {frozenset(cluster) for cluster in expected}


def test_linkages_differ():
    K = Linear()(regression(25)[0])
    found = {frozenset(as_sets(_merge(K, 5, linkage))) for linkage in LINKAGES}
    assert len(found) == 3


@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_matrix])
def test_a_medoid_stands_for_each_cluster(linkage, wrap):
    X, kernel = regression(25)[0], Gaussian(gamma=0.1)
    K = kernel(X)
    budget = select(wrap(X), 6, kernel, linkage=linkage)
    found = {
        frozenset(c): budgets.scatter(K, budgets.medoid(K, c), c)
        for c in as_clusters(K, 6, linkage)
    }
    assert len(np.unique(budget.indices)) == 6
    for i in budget.indices:
        (cluster,) = [c for c in found if i in c]
        # of two rows either is a medoid
        assert budgets.scatter(K, i, cluster) == pytest.approx(found[cluster], abs=1e-12)
    assert {c for c in found if c & set(budget.indices.tolist())} == set(found)
    points = budget.points.toarray() if sparse.issparse(budget.points) else budget.points
    assert np.array_equal(points, X[budget.indices])


@pytest.mark.parametrize("linkage", LINKAGES)
def test_or_its_mean(linkage):
    X, kernel = regression(25)[0], Gaussian(gamma=0.1)
    budget = select(X, 6, kernel, linkage=linkage, points="centres")
    means = [X[c].mean(axis=0) for c in as_clusters(kernel(X), 6, linkage)]
    assert budget.indices is None
    np.testing.assert_allclose(
        np.array(sorted(budget.points.tolist())), sorted(np.array(means).tolist()), rtol=1e-12
    )


@in_turn(linkage=[*LINKAGES, "bisecting"], dtype=[np.float32, np.float64, np.int8])
def test_a_point_of_each_of_separated_groups(linkage, dtype):
    rng = np.random.default_rng(0)
    X = (SEPARATED + rng.integers(0, 2, SEPARATED.shape)).astype(dtype)
    budget = select(X, 4, Gaussian(gamma=0.01), linkage=linkage)
    assert budget.points.dtype == dtype
    group = np.repeat(np.arange(4), [20, 5, 12, 1])
    assert sorted(group[budget.indices]) == [0, 1, 2, 3]


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("size", [1, 2, 9])
def test_bisected_clusters_are_as_many_as_asked_for(wrap, size):
    labels = _bisect(wrap(regression(10)[0]), size, np.random.default_rng(0))
    assert np.array_equal(np.unique(labels), np.arange(size))


def test_bisecting_divides_until_the_sum_of_squares_is_small():
    X = regression(200)[0]
    inertia = []
    for size in (2, 4, 8):
        labels = _bisect(X, size, np.random.default_rng(0))
        parts = [X[labels == c] for c in range(size)]
        inertia.append(sum(((part - part.mean(axis=0)) ** 2).sum() for part in parts))
    assert sorted(inertia, reverse=True) == inertia
    assert inertia[0] < ((X - X.mean(axis=0)) ** 2).sum()


@pairwise(
    points=["rows", "centres"],
    linkage=[*LINKAGES, "bisecting"],
    X=[np.ones((10, 2)), np.repeat(np.eye(3), [1, 4, 5], axis=0), np.zeros((10, 1))],
    size=[1, 3, 9],
)
def test_equal_rows_are_completed(X, size, linkage, points):
    budget = select(X, size, linkage=linkage, points=points)
    assert len(budget.points) == size
    if points == "rows":
        assert len(np.unique(budget.indices)) == size
        assert np.array_equal(budget.points, X[budget.indices])
    distinct = len(np.unique(X, axis=0))
    if size >= distinct and linkage != "bisecting":
        assert len(np.unique(budget.points.round(12), axis=0)) == distinct


def test_rows_come_from_a_sample():
    X = regression(100)[0]
    budget = select(X, 5, presample=20, seed=4)
    sample = naive.sampled_rows(100, 20, draw_seed(np.random.default_rng(4)))
    assert set(budget.indices) <= set(sample)
    among = select(X[sample], 5)
    assert np.array_equal(np.sort(sample[among.indices]), np.sort(budget.indices))


def test_a_sample_has_two_rows_a_point_at_least():
    X = regression(100)[0]
    budget = select(X, 30, presample=1, seed=4)
    sample = naive.sampled_rows(100, 60, draw_seed(np.random.default_rng(4)))
    assert len(np.unique(budget.indices)) == 30
    assert set(budget.indices) <= set(sample)


@pytest.mark.parametrize(("dtype", "scale"), [(np.float32, 2.0**83), (np.float64, 2.0**664)])
def test_bisecting_takes_rows_of_any_scale(dtype, scale):
    X, params = regression(100)[0].astype(dtype), {"linkage": "bisecting", "points": "centres"}
    found, expected = (select(A, 8, Linear(), **params).points for A in (X * dtype(scale), X))
    assert np.array_equal(found, expected * dtype(scale))


def test_bisecting_takes_rows_far_from_the_origin():
    X = np.round(regression(100)[0] * 2**20) / 2**20
    found, expected = (_bisect(A, 8, np.random.default_rng(0)) for A in (X + 2.0**30, X))
    assert np.array_equal(found, expected)
