import numpy as np
import pytest
from scipy import sparse

from skimp.budgets import Fixed, KMeans, RPCholesky, Uniform
from skimp.data import open_rows
from skimp.diagnostics._nested import nest
from skimp.features import Landmarks, Nystroem, RandomFourier, RandomLayer
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


@pytest.mark.parametrize("make", [Uniform, RPCholesky, lambda: Fixed(regression(90)[0][::-1])])
def test_budgets_that_are_nested_keep_their_order(make):
    X = regression(90)[0]
    feature_map, functions = landmarks(make(), X)
    assert functions.order is None
    assert not functions.averaged
    assert functions.step == 1
    assert isinstance(functions.basis, Landmarks)
    assert np.array_equal(functions.basis.points, feature_map.budget_.points)


def test_first_uniform_points_are_a_smaller_budget():
    X = regression(90)[0]
    _, functions = landmarks(Uniform(), X, 20)
    for size in (1, 5, 20):
        smaller, _ = landmarks(Uniform(), X, size)
        assert np.array_equal(functions.basis.points[:size], smaller.budget_.points)


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


def test_sparse_points():
    X = regression(90)[0]
    _, dense_functions = landmarks(Uniform(), X)
    _, functions = landmarks(Uniform(), sparse.csr_matrix(X))
    assert sparse.issparse(functions.basis.points)
    assert np.array_equal(functions.basis.points.toarray(), dense_functions.basis.points)
    assert landmarks(KMeans(), sparse.csr_matrix(X))[1].basis.width == 20


@pytest.mark.parametrize("kernel", [Gaussian(1e-2), Gaussian(1e-3)], ids=repr)
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


def test_the_fitted_map_is_not_changed():
    X = regression(90)[0]
    feature_map, rng = fitted(Nystroem(Gaussian(1e-3), budget=30, selector="uniform"), X)
    before = feature_map.transform(X)
    names = set(vars(feature_map))
    nest(feature_map, rng)
    assert np.array_equal(feature_map.transform(X), before)
    assert set(vars(feature_map)) == names


def test_pairs_of_a_cosine_and_its_sine_belong_together():
    X = regression(90)[0]
    feature_map, rng = fitted(RandomFourier(KERNEL, n_components=10), X)
    functions = nest(feature_map, rng)
    assert functions.basis is feature_map
    assert functions.averaged
    assert functions.step == 2
    turns = 2 * np.pi * X @ feature_map.frequencies_
    Z = features(feature_map, X)[:, functions.order]
    for j in range(5):
        pair = np.column_stack([np.cos(turns[:, j]), np.sin(turns[:, j])]) / np.sqrt(5)
        np.testing.assert_allclose(Z[:, 2 * j : 2 * j + 2], pair, atol=1e-12)


@pytest.mark.parametrize(
    "feature_map",
    [RandomFourier(KERNEL, n_components=7, form="phase"), RandomLayer(7)],
    ids=repr,
)
def test_other_features_are_one_by_one(feature_map):
    given = fitted(feature_map, regression(90)[0])
    functions = nest(*given)
    assert functions.basis is given[0]
    assert functions.averaged
    assert functions.order is None
    assert functions.step == 1


def test_a_kernel_that_is_zero_is_refused():
    given = fitted(Nystroem(Linear(), budget=3, selector="uniform"), np.zeros((9, 2)))
    with pytest.raises(ValueError, match="kernel is zero"):
        nest(*given)
