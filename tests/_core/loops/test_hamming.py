import numpy as np
import pytest

from skimp._core.loops._hamming import nearest_codes
from tests.pairs import in_turn

EDGES = np.array([0, 1, 2, 2**63, 2**64 - 1, 0x5555555555555555, 0xAAAAAAAAAAAAAAAA], np.uint64)


def found(queries, codes, size, skipped=None):
    skipped = np.full(len(queries), -1) if skipped is None else np.asarray(skipped)
    distances, neighbors = np.full((2, len(queries), size), -9, np.int64)
    nearest_codes(queries, codes, skipped, distances, neighbors)
    return distances, neighbors


def naive(queries, codes, size, skipped=None):
    """Count differing digits of binary numbers, and sort; equal counts stay in their order."""
    distances, neighbors = np.empty((2, len(queries), size), np.int64)
    for q, query in enumerate(queries):
        counts = [
            sum((int(a) ^ int(b)).bit_count() for a, b in zip(query, code, strict=True))
            for code in codes
        ]
        allowed = [i for i in range(len(codes)) if skipped is None or i != skipped[q]]
        neighbors[q] = sorted(allowed, key=counts.__getitem__)[:size]
        distances[q] = [counts[i] for i in neighbors[q]]
    return distances, neighbors


def words(n, width, seed=0):
    return np.random.default_rng(seed).integers(0, 2**64, (n, width), np.uint64)


def test_bits_are_counted_in_any_word():
    codes = np.concatenate([EDGES, words(200, 1)[:, 0]])[:, None]
    zero = np.zeros((1, 1), np.uint64)
    distances, neighbors = found(zero, codes, len(codes))
    assert [int(codes[i, 0]).bit_count() for i in neighbors[0]] == distances[0].tolist()
    assert sorted(neighbors[0]) == list(range(len(codes)))


@in_turn(width=[1, 2, 5], size=[1, 3, 49, 50])
def test_equals_its_naive_twin(width, size):
    queries, codes = words(7, width, 1), words(50, width, 2)
    for ours, theirs in zip(found(queries, codes, size), naive(queries, codes, size), strict=True):
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("size", [1, 5, 39])
def test_a_code_of_each_query_is_left_out(size):
    codes, numbers = words(40, 2) & np.uint64(7), np.array([0, 39, 7, 7, -1])
    expected = naive(codes[numbers], codes, size, numbers)
    for ours, theirs in zip(found(codes[numbers], codes, size, numbers), expected, strict=True):
        assert np.array_equal(ours, theirs)
    assert not (expected[1] == numbers[:, None]).any()


@pytest.mark.parametrize("bits", [0, 1, 2])
def test_of_equally_near_codes_the_first_come_first(bits):
    codes = words(60, 1) & np.uint64(2**bits - 1)
    distances, neighbors = found(codes[:5], codes, 60)
    assert np.array_equal(neighbors, naive(codes[:5], codes, 60)[1])
    for near, numbers in zip(distances, neighbors, strict=True):
        assert (np.diff(near) >= 0).all()
        assert (np.diff(numbers)[np.diff(near) == 0] > 0).all()


@pytest.mark.parametrize("width", [1, 3])
def test_codes_that_differ_in_every_bit(width):
    ones = np.full((1, width), 2**64 - 1, np.uint64)
    codes = np.vstack([np.zeros_like(ones), ones])
    distances, neighbors = found(ones, codes, 2)
    assert distances.tolist() == [[0, 64 * width]]
    assert neighbors.tolist() == [[1, 0]]
    alone = found(ones, codes, 1, [1])
    assert [part.item() for part in alone] == [64 * width, 0]
