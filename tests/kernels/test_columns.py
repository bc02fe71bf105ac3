"""What every kernel does with arrays as users have them: any layout, many rows, no writing."""

import numpy as np
import pytest
from scipy import sparse

from skimp.data import open_rows
from skimp.kernels import Chi2, Cosine, Gaussian, Laplacian, Precomputed
from skimp.kernels._columns import STRIP
from tests.catalog import KERNELS, parts

N_ROWS = 2 * STRIP + 77


def resolved(kernel, n=N_ROWS, dtype=np.float64):
    """Return a kernel with numbers as parameters, and rows that suit it."""
    X = np.random.default_rng(0).random((n, 5))
    if isinstance(kernel, Precomputed):
        X = np.arange(n)[:, None] % len(kernel.matrix)
    return kernel.resolve(open_rows(X), 0), X.astype(dtype)


@pytest.mark.parametrize("kernel", parts(KERNELS), ids=repr)
def test_any_layout_gives_the_same_values(kernel):
    k, X = resolved(kernel, 40)
    K, diagonal = k(X, X[::3]), k.diag(X)
    read_only = X.copy()
    read_only.flags.writeable = False
    strided = np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2]
    unsorted = sparse.csr_matrix(X)
    unsorted.indices, unsorted.data = unsorted.indices.copy(), unsorted.data.copy()
    for start, stop in zip(unsorted.indptr[:-1], unsorted.indptr[1:], strict=True):
        unsorted.indices[start:stop] = unsorted.indices[start:stop][::-1]
        unsorted.data[start:stop] = unsorted.data[start:stop][::-1]
    unsorted.has_sorted_indices = False
    for given in (np.asfortranarray(X), read_only, strided, X[::-1][::-1], unsorted):
        np.testing.assert_allclose(k(given, given[::3]), K, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(k.diag(given), diagonal, rtol=1e-12)
        if k.differentiable:
            G = k.gradient(X, X[:2])
            np.testing.assert_allclose(k.gradient(given, given[:2]), G, rtol=1e-9, atol=1e-12)


def test_memory_maps_are_rows(tmp_path):
    X = np.random.default_rng(0).random((30, 5))
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    for kernel in parts(KERNELS)[:12]:
        k = kernel.resolve(open_rows(X), 0)
        assert np.array_equal(k(mapped), k(X))


@pytest.mark.parametrize("kernel", [Chi2(0.5), Cosine(), Gaussian(0.5), Laplacian(0.5)])
def test_sparse_rows_with_repeated_entries_are_read_and_left_alone(kernel):
    S = sparse.csr_matrix(([1.0, 2.0, 3.0], [1, 1, 0], [0, 2, 3]), (2, 2))
    assert not S.has_canonical_format
    expected = kernel(S.toarray())
    np.testing.assert_allclose(kernel(S), expected, rtol=1e-12)
    assert S.nnz == 3
