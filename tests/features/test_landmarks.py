import pickle

import numpy as np
import pytest
from scipy import sparse

from skimp.features import Landmarks
from skimp.kernels import Gaussian
from tests.problems import regression


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_and_penalty_are_kernel_matrices(wrap, dtype):
    X = regression(600, dtype=dtype)[0]
    kernel, B = Gaussian(0.5), X[:7]
    landmarks = Landmarks(kernel, wrap(B))
    out = np.empty((600, 7), dtype)
    landmarks.map_block(X, out)
    assert (landmarks.width, landmarks.dtype) == (7, dtype)
    np.testing.assert_allclose(out, kernel(X, B), atol=20 * np.finfo(dtype).eps)
    assert landmarks.penalty.dtype == np.float64
    np.testing.assert_allclose(landmarks.penalty, kernel(B.astype(np.float64)), atol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_decide_the_dtype(dtype):
    landmarks = Landmarks(Gaussian(0.5), np.eye(3), np.dtype(dtype))
    assert landmarks.points.dtype == landmarks.dtype == dtype


def test_pickles_hold_the_points_and_no_matrix():
    X = regression(400)[0]
    landmarks = Landmarks(Gaussian(0.5), X)
    expected, out = np.empty((400, 400)), np.empty((400, 400))
    landmarks.map_block(X, expected)
    assert landmarks.penalty.shape == (400, 400)
    pickled = pickle.dumps(landmarks)
    assert len(pickled) < X.nbytes + 2000
    pickle.loads(pickled).map_block(X, out)
    assert np.array_equal(out, expected)
