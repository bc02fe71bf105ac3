import numpy as np
import pytest
from scipy import sparse

from skimp._core._random import draw_seed
from skimp.budgets import DBH
from skimp.budgets._dbh import _bits, _number
from skimp.budgets._groups import share_points
from skimp.data import LOCAL, ArrayRows
from skimp.kernels import Gaussian, Laplacian, Linear
from tests.pairs import in_turn, pairwise
from tests.problems import regression
from tests.reference import budgets


def select(X, size, kernel=None, seed=0, **params):
    kernel = Gaussian(gamma=0.1) if kernel is None else kernel
    return DBH(**params).select(X, size, kernel, np.random.default_rng(seed))


def bucket_numbers(X, n_hashes, kernel, rng, **params):
    return DBH(**params)._buckets(ArrayRows(X, block_rows=32), n_hashes, kernel, rng, LOCAL)


def as_sets(numbers):
    return {frozenset(np.flatnonzero(numbers == b).tolist()) for b in range(numbers.max() + 1)}


@pytest.mark.parametrize("kernel", [Gaussian(gamma=0.1), Laplacian(gamma=0.3), Linear()], ids=repr)
@pytest.mark.parametrize("n_hashes", [1, 2, 5])
def test_buckets_for_the_same_pairs(kernel, n_hashes):
    X = regression(100)[0]
    rng = np.random.default_rng(3)
    pairs = [rng.choice(100, 2, replace=False) for _ in range(n_hashes)]
    numbers = bucket_numbers(X, n_hashes, kernel, np.random.default_rng(3))
    expected = budgets.median_buckets(kernel(X), pairs)
    assert as_sets(numbers) == {frozenset(bucket) for bucket in expected}


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_matrix])
def test_floor_hashing_for_the_same_directions(wrap):
    X = regression(100)[0]
    rng = np.random.default_rng(3)
    V, shifts = rng.standard_normal((3, 4)), rng.uniform(size=4)
    numbers = bucket_numbers(
        wrap(X), 4, Gaussian(gamma=0.1), np.random.default_rng(3), hashing="floor"
    )
    expected = budgets.floor_buckets(X, V, shifts)
    assert as_sets(numbers) == {frozenset(bucket) for bucket in expected}


@pytest.mark.parametrize("n", [2, 3, 4, 7, 50, 101])
def test_a_bit_parts_the_upper_half_from_the_lower_one(n):
    projection = np.random.default_rng(0).normal(size=n)
    bits = _bits(projection, 0.5, seed=1)
    assert abs(2 * np.count_nonzero(bits) - n) <= 1
    assert projection[bits].min() > projection[~bits].max()


@pairwise(dtype=[np.float32, np.float64], n=[2, 3, 50, 101], value=[0.0, 1.0, -3e-7])
def test_equal_projections_are_split_evenly(dtype, n, value):
    halves = [_bits(np.full(n, value, dtype), 0.5, seed) for seed in range(30)]
    assert all(abs(2 * np.count_nonzero(bits) - n) <= 1 for bits in halves)
    assert len({bits.tobytes() for bits in halves}) > 1


@pytest.mark.parametrize("low", [0, 10, 49])
def test_ties_at_the_median_alone_are_split(low):
    projection = np.repeat([-1.0, 0.0, 1.0], [low, 80 - low, 20])
    bits = _bits(projection, 0.5, seed=1)
    assert np.count_nonzero(bits) == 50
    assert not bits[:low].any()
    assert bits[80:].all()


def test_what_differs_by_rounding_is_a_tie():
    rounding = np.random.default_rng(0).integers(-2, 3, 100) * np.finfo(np.float64).eps
    first = _bits(np.append(np.full(100, 1e-3), 1.0), 0.5, seed=1)
    assert np.array_equal(_bits(np.append(1e-3 + rounding, 1.0), 0.5, seed=1), first)


@pytest.mark.parametrize("n", [4, 51, 100])
def test_interval_bits_are_half_of_the_rows_in_a_row_of_ranks(n):
    projection = np.random.default_rng(0).permutation(n).astype(float)
    for first in (0.0, 0.13, 0.25, 0.499):
        ranks = np.sort(projection[_bits(projection, first, seed=1)])
        assert len(ranks) == (n + 1) // 2 or ranks[-1] == n - 1
        assert abs(2 * len(ranks) - n) <= 1
        assert np.array_equal(ranks, ranks[0] + np.arange(len(ranks)))
        assert ranks[0] == round(first * n)


def test_intervals_are_drawn_at_random():
    X, kernel = regression(100)[0], Linear()
    starts = set()
    for seed in range(20):
        rng = np.random.default_rng(seed)
        numbers = bucket_numbers(X, 1, kernel, rng, hashing="interval")
        a, b = np.random.default_rng(seed).choice(100, 2, replace=False)
        order = np.argsort(kernel(X)[:, a] - kernel(X)[:, b])
        ones = np.flatnonzero(numbers[order])
        assert np.array_equal(ones, ones[0] + np.arange(50))
        starts.add(int(ones[0]))
    assert len(starts) > 10
    assert max(starts) <= 50


def test_numbers_are_equal_where_all_codes_are_and_have_no_gaps():
    rng = np.random.default_rng(0)
    codes = rng.integers(-1000, 1000, (500, 40))[rng.integers(0, 90, 500)]
    numbers = _number(codes)
    assert np.array_equal(np.unique(numbers), np.arange(len(np.unique(codes, axis=0))))
    assert len(np.unique(np.column_stack([numbers, codes]), axis=0)) == numbers.max() + 1


@pairwise(hashing=["median", "interval", "floor"], members=[1, 10, 1000], size=[1, 3, 8, 13, 99])
def test_each_bucket_gives_medoids_of_its_members(size, members, hashing):
    X, kernel = regression(100)[0], Gaussian(gamma=0.1)
    rng = np.random.default_rng(5)
    n_hashes = int(np.floor(np.log2(size)))
    numbers = bucket_numbers(X, n_hashes, kernel, rng, hashing=hashing)
    groups = [np.flatnonzero(numbers == b) for b in range(numbers.max() + 1)]
    given = share_points(np.bincount(numbers), size)
    expected = budgets.bucket_medoids(kernel(X), groups, given, members, draw_seed(rng))
    budget = select(X, size, kernel, seed=5, members=members, hashing=hashing)
    assert budget.indices.tolist() == expected
    assert np.array_equal(budget.points, X[expected])


def test_the_first_algorithm_where_no_bucket_is_empty():
    X, kernel = regression(200)[0], Linear()
    K, rng = kernel(X), np.random.default_rng(0)
    pairs = [rng.choice(200, 2, replace=False) for _ in range(2)]
    groups = budgets.median_buckets(K, pairs)
    assert len(groups) == 4
    expected = {budgets.medoid(K, sorted(group)) for group in groups}
    assert set(select(X, 4, kernel, members=200).indices.tolist()) == expected


@pairwise(
    hashing=["median", "interval", "floor"],
    size=[1, 5, 32, 59],
    X=[
        np.ones((60, 3)),
        np.repeat(np.eye(3), 20, axis=0),
        np.column_stack([np.arange(60.0), np.ones(60)]),
        np.append(np.zeros((59, 1)), [[1e6]], axis=0),
    ],
)
def test_as_many_rows_as_asked_for_where_buckets_are_empty(X, size, hashing):
    assert len(np.unique(select(X, size, hashing=hashing).indices)) == size


def test_equal_rows_fall_into_two_buckets_of_a_half_each():
    numbers = bucket_numbers(np.ones((60, 3)), 1, Linear(), np.random.default_rng(0))
    assert np.bincount(numbers).tolist() == [30, 30]


@in_turn(hashing=["median", "interval", "floor"], scale=[1e-170, 1e-160, 1e-155, 1e150])
def test_a_linear_kernel_of_any_scale(scale, hashing):
    budget = select(scale * regression(100)[0], 8, Linear(), hashing=hashing)
    assert len(np.unique(budget.indices)) == 8
