import pickle

import numpy as np
import pytest
from hypothesis import given
from scipy import sparse

from skimp.features import LocalProducts
from tests.reference import local as naive
from tests.strategies import matrices

DOUBLE = np.dtype(np.float64)
X = np.random.default_rng(0).normal(size=(60, 3)) * (np.random.default_rng(1).random((60, 3)) < 0.7)
ANCHORS = np.random.default_rng(2).normal(size=(7, 3))


def products(k, *, anchors=ANCHORS, scale=0.4, dtype=DOUBLE):
    return LocalProducts(anchors, k, scale, dtype, 4.0 * k)


def coordinates_of(local, X):
    """Return the coordinates as a matrix with a column per anchor."""
    numbers, weights = local.coordinates(X)
    full = np.zeros((X.shape[0], local.anchors.shape[0]))
    np.put_along_axis(full, numbers, weights, axis=1)
    return full


@pytest.mark.parametrize("k", [1, 2, 5, 7])
@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("as_anchors", [np.asarray, sparse.csr_matrix])
def test_fast_equals_naive(k, as_rows, as_anchors):
    local = products(k, anchors=as_anchors(ANCHORS))
    Z = local.map_sparse(as_rows(X))
    assert sparse.issparse(Z)
    assert Z.shape == (60, local.width)
    expected = naive.features(X, ANCHORS, k, 0.4)
    np.testing.assert_allclose(Z.toarray(), expected, atol=1e-12)
    assert Z.nnz == np.count_nonzero(expected)
    assert sparse.csr_matrix((Z.data, Z.indices, Z.indptr), Z.shape).has_canonical_format


@pytest.mark.parametrize("dtype", [np.float32, np.uint8, bool])
def test_other_data_types(dtype):
    given = (2 * np.abs(X)).astype(dtype)
    single = np.dtype(np.float32)
    Z = products(3, anchors=ANCHORS.astype(single), dtype=single).map_sparse(given)
    assert Z.dtype == single
    expected = naive.features(given.astype(float), ANCHORS.astype(single), 3, 0.4)
    np.testing.assert_allclose(Z.toarray(), expected, atol=2e-5)


@given(matrices())
def test_coordinates_are_nonnegative_and_sum_to_one(X):
    D = X.toarray() if sparse.issparse(X) else X
    anchors = np.unique(D[::2].astype(float), axis=0)
    for k in {1, min(3, len(anchors)), len(anchors)}:
        gamma = coordinates_of(products(k, anchors=anchors), X)
        assert (gamma >= 0).all()
        np.testing.assert_allclose(gamma.sum(axis=1), 1)
        assert (np.count_nonzero(gamma, axis=1) <= k).all()


@pytest.mark.parametrize("k", [1, 3, 7])
def test_an_anchor_has_the_coordinate_one(k):
    np.testing.assert_array_equal(coordinates_of(products(k), ANCHORS), np.eye(7))


def test_anchors_at_the_same_distance_have_equal_coordinates():
    square = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1]])
    centre = np.zeros((1, 2))
    assert coordinates_of(products(4, anchors=square), centre).tolist() == [[0.25] * 4]
    # the next anchor is at this distance, too
    assert coordinates_of(products(2, anchors=square), centre).tolist() == [[0.5, 0.5, 0, 0]]


@pytest.mark.parametrize("k", [2, 3, 4, 7])
def test_coordinates_are_continuous(k):
    line = np.linspace(-2, 2, 40_001)[:, None] * [[0.7, 1.0, -0.4]] + [[0.1, 0.2, 0.3]]
    gamma = coordinates_of(products(k), line)
    nearest = np.argsort(((line[:, None] - ANCHORS) ** 2).sum(axis=2), axis=1)[:, :k]
    assert k == 7 or len(np.unique(np.sort(nearest, axis=1), axis=0)) > 1
    # plain inverse distances jump by about 1 / k if the set of nearest anchors changes
    assert np.abs(np.diff(gamma, axis=0)).max() < 2e-3


def test_units_do_not_matter():
    gamma = coordinates_of(products(3), X)
    for unit in (1e-150, 1e-3, 1e150):
        same = coordinates_of(products(3, anchors=unit * ANCHORS), unit * X)
        np.testing.assert_allclose(same, gamma, atol=1e-9)


@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_matrix])
def test_inner_products_without_the_features(as_rows):
    local = products(3)
    Z = local.map_sparse(X).toarray()
    np.testing.assert_allclose(local.gram(as_rows(X)), Z @ Z.T, atol=1e-12)


def test_combine_weights_anything_by_the_coordinates():
    local, models = products(3), np.random.default_rng(3).normal(size=(7, 2, 5))
    expected = np.einsum("nv,vab->nab", coordinates_of(local, X), models)
    np.testing.assert_allclose(local.combine(X, models), expected, atol=1e-12)


def test_refuses_other_columns_and_overflow():
    with pytest.raises(ValueError, match="X must have 3 columns, found 2"):
        products(2).map_sparse(X[:, :2])
    with pytest.raises(ValueError, match="rescale the columns of X"):
        products(2).coordinates(1e200 * X)


def test_pickles():
    local = products(3)
    before = local.map_sparse(X)
    restored = pickle.loads(pickle.dumps(local))
    np.testing.assert_array_equal(restored.map_sparse(X).toarray(), before.toarray())
