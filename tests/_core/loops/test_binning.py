from math import floor

import numpy as np
import pytest
from scipy import sparse

from skimp._core.loops import _binning as loops
from tests.pairs import pairwise


def grids(d=4, P=7, *, seed=0, origin=True):
    """Return resolutions, shifts, origins and factors."""
    rng = np.random.default_rng(seed)
    at = rng.normal(size=d) * (np.arange(d) % 2) if origin else np.zeros(d)
    factors = 2 * rng.integers(2**62, size=d) + 1
    return rng.gamma(2.0, size=(d, P)), rng.random((d, P)), at, factors


def rows(n=60, d=4, seed=1):
    rng = np.random.default_rng(seed)
    X = 10 * rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.5)
    X[5] = 0
    return X


def bin_by_hand(x, resolution, shift):
    return int(min(max(floor(x * resolution + shift), -(2**50)), 2**50))


def keys_by_hand(X, R, S, origin, factors):
    """Return sums of bins, less those of the origin, times factors, as 64 bits hold them."""
    keys = np.empty((len(X), R.shape[1]), np.int64)
    for i, x in enumerate(X.tolist()):
        for p in range(R.shape[1]):
            bins = [
                bin_by_hand(x[j], R[j, p], S[j, p]) - bin_by_hand(origin[j], R[j, p], S[j, p])
                for j in range(len(x))
            ]
            key = sum(f * b for f, b in zip(factors.tolist(), bins, strict=True)) % 2**64
            keys[i, p] = np.uint64(key).astype(np.int64)
    return keys


def dense_keys(X, *given):
    keys = np.full((len(X), given[0].shape[1]), 99)
    loops.dense_keys(X, *given, keys)
    return keys


def sparse_keys(X, *given):
    X = sparse.csr_matrix(X)
    keys = np.full((X.shape[0], given[0].shape[1]), 99)
    loops.sparse_keys(X.data, X.indices, X.indptr, *given, keys)
    return keys


@pairwise(origin=[False, True], keys=[dense_keys, sparse_keys], seed=[0, 1, 2])
def test_keys_are_their_naive_twin(keys, origin, seed):
    X, given = rows(seed=seed), grids(seed=seed, origin=origin)
    X[7] = given[2]
    expected = keys_by_hand(X, *given)
    assert not expected[7].any()
    assert np.array_equal(keys(X, *given), expected)


@pytest.mark.parametrize("keys", [dense_keys, sparse_keys])
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint16, np.int64, bool])
def test_keys_of_other_numbers(keys, dtype):
    X, given = np.abs(rows()).astype(dtype), grids()
    assert np.array_equal(keys(X, *given), keys_by_hand(X.astype(np.float64), *given))


@pytest.mark.parametrize("keys", [dense_keys, sparse_keys])
def test_bins_far_out_are_one(keys):
    X = np.array([[1e300], [1e17], [1.7e308], [-1e300], [-1e17], [-1.7e308], [1e9]])
    given = np.full((1, 3), 3.0), np.full((1, 3), 0.5), np.zeros(1), np.array([5])
    found = keys(X, *given)
    assert np.array_equal(found, keys_by_hand(X[[0, 0, 0, 3, 3, 3, 6]], *given))
    assert len({*found[:, 0].tolist()}) == 3


@pytest.mark.parametrize("keys", [dense_keys, sparse_keys])
def test_columns_without_resolution_count_for_nothing(keys):
    X, (R, S, origin, factors) = rows(), grids()
    R[2] = 0
    found = keys(X, R, S, origin, factors)
    X[:, 2] = 1e308
    assert np.array_equal(found, keys(X, R, S, origin, factors))


def test_explicit_zeros_and_unsorted_columns():
    X, given = rows(), grids()
    data, columns = X[:, ::-1].ravel(), np.tile(np.arange(3, -1, -1), len(X))
    keys = np.empty((len(X), 7), np.int64)
    loops.sparse_keys(data, columns, np.arange(0, X.size + 1, 4), *given, keys)
    assert np.array_equal(keys, keys_by_hand(X, *given))


def print_by_hand(key):
    key %= 2**64
    for _ in range(2):
        key = (key ^ (key >> 32)) * 0xD6E8FEB86659FD93 % 2**64
    return key >> 32


def test_prints_are_their_naive_twin():
    keys = np.random.default_rng(0).integers(-(2**63), 2**63, (50, 3))
    keys[0] = -1, 0, 2**63 - 1
    out = np.empty(keys.shape, np.uint32)
    loops.prints(keys, out)
    assert out.tolist() == [[print_by_hand(key) for key in row] for row in keys.tolist()]


def test_prints_of_neighbouring_keys_are_spread_evenly():
    n, cells = 2**16, 256
    out = np.empty((n, 1), np.uint32)
    loops.prints(np.arange(n)[:, None], out)
    for shift in (0, 8, 24):
        counts = np.bincount((out[:, 0] >> shift) % cells, minlength=cells)
        squares = np.sum((counts - n / cells) ** 2) / (n / cells)
        # chi-squared with 255 degrees of freedom, five standard deviations
        assert abs(squares - (cells - 1)) <= 5 * np.sqrt(2 * (cells - 1))


def indexed(lists, bits):
    """Return what `look_up` takes, with the given number of leading bits in each grid."""
    known, starts, firsts = [], [], []
    for prints, leading in zip(lists, bits, strict=True):
        firsts.append(len(starts))
        begin = len(known)
        below = [value >> (32 - leading) for value in prints]
        starts += [begin + sum(b < cell for b in below) for cell in range(2**leading + 1)]
        known += prints
    shifts = np.array([32 - leading for leading in bits], np.uint32)
    return np.array(known, np.uint32), np.array(starts), np.array(firsts), shifts


@pytest.mark.parametrize("bits", [(1, 1, 1), (2, 1, 5), (6, 3, 4)])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
def test_numbers_are_places_in_sorted_lists(bits, dtype):
    rng = np.random.default_rng(0)
    lists = [sorted({*rng.integers(2**32, size=size).tolist()}) for size in (9, 1, 30)]
    lists[0] = [0, *lists[0], 2**32 - 1]
    found = np.column_stack([rng.choice(prints, 80) for prints in lists]).astype(np.uint32)
    found[::3] = rng.integers(2**32, size=found[::3].shape)
    found[:2, 0] = 0, 2**32 - 1
    codes = np.full(found.shape, 77, dtype)
    loops.look_up(found, *indexed(lists, bits), codes)
    numbers = [dict(zip(prints, range(1, 99), strict=False)) for prints in lists]
    expected = [[n.get(x, 0) for n, x in zip(numbers, row, strict=True)] for row in found.tolist()]
    assert codes.tolist() == expected
    assert (codes == 0).any()
    assert codes[1, 0] == len(lists[0])
