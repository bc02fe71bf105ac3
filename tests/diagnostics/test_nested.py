import numpy as np
import pytest

from skimp.budgets import KMeans, Uniform
from skimp.data import open_rows
from skimp.diagnostics._nested import nest
from skimp.features import Nystroem
from skimp.kernels import Gaussian, Laplacian, Linear
from tests.problems import regression

KERNEL = Gaussian(0.5)


def fitted(feature_map, X, seed=0):
    rng = np.random.default_rng(seed)
    rows = open_rows(X)
    return feature_map.fit_rows(rows, rng), rng


def landmarks(selector, X, budget=20, kernel=KERNEL):
    given = fitted(Nystroem(kernel, budget=budget, selector=selector), X)
    return given[0], nest(*given)


def features(basis, X):
    Z = np.empty((X.shape[0], basis.width), basis.dtype)
    basis.map_block(X, Z)
    return Z


@pytest.mark.parametrize(
    "selector",
    [KMeans(), Uniform(replacement=True), Uniform(stratify="cluster")],
    ids=repr,
)
def test_other_budgets_are_put_into_an_order_of_pivots(selector):
    X = regression(90)[0]
    feature_map, functions = landmarks(selector, X, kernel=Laplacian(1.0))
    points = feature_map.budget_.points
    found = functions.points
    assert not np.array_equal(found, points)
    assert sorted(map(tuple, found)) == sorted(map(tuple, points))


def test_first_pivots_stand_for_the_others_better_than_last_ones():
    # two tight clusters: two pivots are one of each unless a row is drawn from what is rounding
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0], [10.0]], 30, axis=0) + 1e-3 * rng.normal(size=(60, 1))
    given = Nystroem(Gaussian(0.5), budget=20, selector=KMeans())
    for seed in range(10):
        functions = nest(*fitted(given, X, seed))
        basis = functions.basis
        points = getattr(basis, "landmarks_", basis).points
        assert sorted(points[:2, 0].round()) == [0.0, 10.0]


@pytest.mark.parametrize("kernel", [Gaussian(1e-3)], ids=repr)
def test_functions_of_dependent_points_are_orthonormal_and_nested(kernel):
    X = regression(90)[0]
    feature_map, functions = landmarks(Uniform(), X, 30, kernel)
    basis = functions.basis
    assert basis is not feature_map
    assert basis.penalty is None
    assert basis.width == 30
    assert basis.dtype == np.float64
    points = feature_map.budget_.points
    assert np.array_equal(basis.landmarks_.points, points)
    Z, W = features(basis, X), basis.root
    assert np.array_equal(W, np.triu(W))
    for size in (1, 4, 30):
        # products are those of the kernel where one row is a point, to the root of the jitter
        found = features(basis, points)[:, :size] @ Z[:, :size].T
        expected = kernel(points[:size], X)
        jitter = 8 * np.finfo(np.float64).eps * 30
        np.testing.assert_allclose(found[:size], expected, atol=2 * np.sqrt(jitter))


def test_a_kernel_that_is_zero_is_refused():
    given = fitted(Nystroem(Linear(), budget=3, selector="uniform"), np.zeros((9, 2)))
    with pytest.raises(ValueError, match="kernel is zero"):
        nest(*given)
