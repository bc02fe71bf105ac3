import numpy as np
import pytest

from skimp.data import Block, Codes
from skimp.solvers import as_dense_features, as_features, as_targets

CODES = Codes(np.array([[0, 1], [2, 0]], np.uint8), np.array([0, 3]), np.float64(0.5), 5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("X", [CODES, CODES.tocsr(), CODES.tocsr().toarray()], ids=type)
def test_one_matrix_in_three_forms(X, dtype):
    expected = CODES.tocsr().toarray().astype(dtype)
    Z, C = as_features(X, np.dtype(dtype)), np.arange(10, dtype=dtype).reshape(5, 2)
    assert (Z @ C).dtype == dtype
    np.testing.assert_allclose(Z @ C, expected @ C, rtol=1e-6)
    whole = as_dense_features(X, np.dtype(dtype))
    assert isinstance(whole, np.ndarray)
    assert whole.dtype == dtype
    assert np.array_equal(whole, expected)


def test_what_needs_no_conversion_is_not_copied():
    X = np.ones((3, 2))
    assert as_features(X, X.dtype) is X
    assert as_dense_features(X, X.dtype) is X


@pytest.mark.parametrize("weight", [None, np.array([1.0, 2.0])])
def test_targets_and_weights_are_columns(weight):
    Y = np.array([[1, 2, 3], [4, 5, 6]])
    found, column = as_targets(Block(np.ones((2, 1)), Y, weight, 0), np.dtype(np.float32))
    assert found.dtype == column.dtype == np.float32
    assert np.array_equal(found, Y)
    assert column.tolist() == ([[1.0], [1.0]] if weight is None else [[1.0], [2.0]])
