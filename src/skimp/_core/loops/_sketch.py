"""Count sketches, which add each column to one of a few buckets with a random sign."""

from numba import njit


@njit(nogil=True, cache=True)
def sketch_dense(X, buckets, signs, out):
    """Fill the sketches of dense rows, to which a constant column 1 is appended."""
    d = X.shape[1]
    out[:] = 0
    for i in range(X.shape[0]):
        row = out[i]
        row[buckets[d]] = signs[d]
        for j in range(d):
            row[buckets[j]] += signs[j] * X[i, j]


@njit(nogil=True, cache=True)
def sketch_sparse(indptr, indices, data, buckets, signs, out):
    """Fill the same sketches as `sketch_dense` for CSR rows."""
    d = len(buckets) - 1
    out[:] = 0
    for i in range(len(indptr) - 1):
        row = out[i]
        row[buckets[d]] = signs[d]
        for entry in range(indptr[i], indptr[i + 1]):
            j = indices[entry]
            row[buckets[j]] += signs[j] * data[entry]
