import numpy as np
import pytest
from scipy import sparse

from skimp._core.loops._sketch import sketch_dense, sketch_sparse
from tests.pairs import pairwise


def naive_sketch(X, buckets, signs, k):
    """The sum over columns, and a constant 1 behind them, of signs in buckets."""
    C = np.zeros((len(buckets), k))
    for j, (bucket, sign) in enumerate(zip(buckets, signs, strict=True)):
        C[j, bucket] = sign
    return np.hstack([X, np.ones((len(X), 1))]) @ C


def drawn(d, k, dtype=np.float64, *, n=6):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(dtype)
    X[rng.random((n, d)) < 0.4] = 0
    X[2] = 0
    signs = (rng.choice([-1, 1], d + 1) * rng.random(d + 1)).astype(dtype)
    return X, rng.integers(k, size=d + 1).astype(np.uint32), signs


def from_csr(S, buckets, signs, k):
    out = np.full((S.shape[0], k), np.nan, signs.dtype)
    sketch_sparse(S.indptr, S.indices, S.data, buckets, signs, out)
    return out


@pairwise(dtype=[np.float32, np.float64], d=[1, 5, 40], k=[1, 2, 7, 60])
def test_sketches_are_sums_in_buckets(dtype, d, k):
    X, buckets, signs = drawn(d, k, dtype)
    before, dense = X.copy(), np.full((6, k), np.nan, dtype)
    sketch_dense(X, buckets, signs, dense)
    rows, weights = X.astype(np.float64), signs.astype(np.float64)
    expected = naive_sketch(rows, buckets, weights, k)
    bound = (d + 1) * np.finfo(dtype).eps * naive_sketch(np.abs(rows), buckets, np.abs(weights), k)
    assert (np.abs(dense - expected) <= bound).all()
    assert (np.abs(from_csr(sparse.csr_array(X), buckets, signs, k) - expected) <= bound).all()
    assert np.array_equal(X, before)


def test_a_row_of_zeros_has_the_sketch_of_the_constant():
    buckets, signs = np.array([0, 1, 3], np.uint32), np.array([5.0, 6.0, -0.5])
    dense = np.empty((1, 4))
    sketch_dense(np.zeros((1, 2)), buckets, signs, dense)
    empty = from_csr(sparse.csr_array((1, 2)), buckets, signs, 4)
    assert dense.tolist() == empty.tolist() == [[0, 0, 0, -0.5]]


def test_a_column_may_share_the_bucket_of_the_constant():
    buckets, signs = np.array([1, 1], np.uint32), np.array([2.0, -0.5])
    out = np.empty((2, 2))
    sketch_dense(np.array([[3.0], [-1.0]]), buckets, signs, out)
    assert out.tolist() == [[0, 5.5], [0, -2.5]]


def test_explicit_zeros_unsorted_and_repeated_entries_are_what_they_add_up_to():
    _, buckets, signs = drawn(4, 3)
    indptr, indices = np.array([0, 4, 4, 6]), np.array([3, 0, 3, 1, 2, 2])
    S = sparse.csr_array((np.array([1.0, 2.0, 0.5, 0.0, 4.0, -4.0]), indices, indptr), shape=(3, 4))
    X = np.array([[2.0, 0.0, 0.0, 1.5], [0.0] * 4, [0.0] * 4])
    expected = naive_sketch(X, buckets, signs, 3)
    np.testing.assert_allclose(from_csr(S, buckets, signs, 3), expected, atol=1e-14)


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_indices_of_either_width(index):
    X, buckets, signs = drawn(5, 7)
    S = sparse.csr_array(X)
    out = np.empty((6, 7))
    sketch_sparse(S.indptr.astype(index), S.indices.astype(index), S.data, buckets, signs, out)
    np.testing.assert_allclose(out, naive_sketch(X, buckets, signs, 7), atol=1e-14)


def test_whole_numbers_are_sketched_in_the_dtype_of_the_output():
    X, buckets, signs = drawn(5, 7, np.float32)
    X = np.round(3 * X).astype(np.int8)
    out = np.empty((6, 7), np.float32)
    sketch_dense(X, buckets, signs, out)
    expected = naive_sketch(X.astype(np.float64), buckets, signs.astype(np.float64), 7)
    np.testing.assert_allclose(out, expected, atol=6 * np.finfo(np.float32).eps * 3 * 6)


def test_sketches_are_written_between_other_columns():
    X, buckets, signs = drawn(5, 4)
    expected, S = naive_sketch(X, buckets, signs, 4), sparse.csr_array(X)
    wide = np.full((2, 6, 7), -9.0)
    sketch_dense(X, buckets, signs, wide[0, :, 2:6])
    sketch_sparse(S.indptr, S.indices, S.data, buckets, signs, wide[1, :, 2:6])
    np.testing.assert_allclose(wide[:, :, 2:6], [expected] * 2, atol=1e-14)
    assert (wide[:, :, [0, 1, 6]] == -9).all()
