import tracemalloc
from itertools import permutations
from math import perm

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from skimp.features._pool import _successes, draw_signs, draw_subsets, stretched
from tests.pairs import in_turn

SPARSITIES = [1, 1.5, 3, 9.9, 10, 20, 300.0]


def rng(seed=0):
    return np.random.default_rng(seed)


def check_subsets(found, n_items, n_subsets, size):
    assert found.shape == (n_subsets, size)
    assert all(len(set(items)) == size for items in found.tolist())
    assert found.min() >= 0
    assert found.max() < n_items


def check_permutations(found, n_items):
    """Each permutation is used up before the next."""
    drawn = found.ravel().tolist()
    for start in range(0, len(drawn), n_items):
        part = drawn[start : start + n_items]
        assert len(set(part)) == len(part)
    uses = np.bincount(drawn, minlength=n_items)
    assert uses.max() - uses.min() <= 1


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(1, 12), st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_subsets_repeat_no_item_and_use_all_equally_often(data, n_items, n_subsets, seed):
    size = data.draw(st.integers(1, n_items))
    drawn = draw_subsets(n_items, n_subsets, size, rng(seed), spread=True)
    check_subsets(drawn, n_items, n_subsets, size)
    check_permutations(drawn, n_items)
    check_subsets(
        draw_subsets(n_items, n_subsets, size, rng(seed), spread=False), n_items, n_subsets, size
    )


@pytest.mark.parametrize("n_items", [1, 2, 7, 8])
def test_a_permutation_may_end_anywhere_in_a_subset(n_items):
    for size in range(1, n_items + 1):
        # after as many subsets as items, all remainders have been met
        drawn = draw_subsets(n_items, n_items + 1, size, rng(size), spread=True)
        check_subsets(drawn, n_items, n_items + 1, size)
        check_permutations(drawn, n_items)


@pytest.mark.parametrize(("n_subsets", "size"), [(1, 1), (1, 6), (5, 1), (7, 4)])
def test_items_enough_for_all_subsets_are_used_once(n_subsets, size):
    drawn = draw_subsets(n_subsets * size, n_subsets, size, rng(), spread=True)
    assert sorted(drawn.ravel()) == list(range(n_subsets * size))


@pytest.mark.parametrize("spread", [True, False])
def test_a_subset_may_have_all_items(spread):
    drawn = draw_subsets(5, 4, 5, rng(), spread=spread)
    assert all(sorted(items) == list(range(5)) for items in drawn.tolist())
    assert len({tuple(items) for items in drawn.tolist()}) > 1


@pytest.mark.parametrize("spread", [True, False])
@pytest.mark.parametrize(("n_items", "size"), [(4, 1), (5, 2), (4, 3), (3, 3)])
def test_every_subset_is_uniform(spread, n_items, size):
    n_subsets, draws, generator = 4, 800, rng()
    uses = [dict.fromkeys(permutations(range(n_items), size), 0) for _ in range(n_subsets)]
    for _ in range(draws):
        drawn = draw_subsets(n_items, n_subsets, size, generator, spread=spread)
        for counts, items in zip(uses, drawn.tolist(), strict=True):
            counts[tuple(items)] += 1
    share = 1 / perm(n_items, size)
    bound = 5 * np.sqrt(draws * share * (1 - share))
    for counts in uses:
        assert all(abs(count - draws * share) <= bound for count in counts.values())


def test_subsets_that_are_not_spread_are_independent():
    draws, generator = 3000, rng()
    pairs = np.zeros((4, 4))
    for _ in range(draws):
        first, second = draw_subsets(4, 2, 2, generator, spread=False)
        pairs[first[0], second[0]] += 1
    assert np.abs(pairs - draws / 16).max() <= 5 * np.sqrt(draws / 16 * 15 / 16)


def test_subsets_of_one_permutation_are_disjoint():
    for seed in range(20):
        first, second = draw_subsets(4, 2, 2, rng(seed), spread=True)
        assert not set(first) & set(second)


@pytest.mark.parametrize("sparsity", SPARSITIES)
def test_signs_have_three_values(sparsity):
    drawn = draw_signs(30, 1000, sparsity, rng())
    assert drawn.shape == (30, 1000)
    entries = drawn.toarray() if sparse.issparse(drawn) else drawn
    root = np.sqrt(sparsity)
    assert set(np.unique(entries)) == ({-1.0, 1.0} if sparsity == 1 else {-root, 0.0, root})


@pytest.mark.parametrize(
    ("sparsity", "is_sparse"), [(1, False), (9.9, False), (10, True), (300, True)]
)
def test_signs_are_sparse_from_ten_on(sparsity, is_sparse):
    drawn = draw_signs(30, 1000, sparsity, rng())
    assert sparse.issparse(drawn) == is_sparse
    if is_sparse:
        assert drawn.format == "csr"
        assert np.abs(drawn.data).min() > 0


def check_counts(hits, probability):
    """Counts in all, in each column and in each row are within Bernstein's bound."""
    log = np.log(2 * (1 + sum(hits.shape)) / 1e-6)
    for axis, n in [(None, hits.size), (0, hits.shape[0]), (1, hits.shape[1])]:
        variance = n * probability * (1 - probability)
        bound = log / 3 + np.sqrt(log**2 / 9 + 2 * variance * log)
        assert np.abs(hits.sum(axis=axis) - n * probability).max() <= bound


@in_turn(sparsity=SPARSITIES, shape=[(3000, 12), (12, 3000)])
def test_signs_have_the_probabilities_of_achlioptas(sparsity, shape):
    drawn = draw_signs(*shape, sparsity, rng())
    entries = drawn.toarray() if sparse.issparse(drawn) else drawn
    check_counts(entries > 0, 0.5 / sparsity)
    check_counts(entries < 0, 0.5 / sparsity)
    check_counts(entries == 0, 1 - 1 / sparsity)


@pytest.mark.parametrize("sparsity", SPARSITIES)
def test_moments_of_signs(sparsity):
    s, drawn = sparsity, draw_signs(250, 400, sparsity, rng(1))
    r = (drawn.toarray() if sparse.issparse(drawn) else drawn).ravel()
    # of powers m, whose means are s^(m/2 - 1) for even m and 0 for odd ones
    for power in (1, 2, 3, 4):
        mean = 0 if power % 2 else s ** (power / 2 - 1)
        variance = s ** (power - 1) - mean**2
        assert abs((r**power).mean() - mean) <= 5 * np.sqrt(variance / r.size) + 1e-12


@pytest.mark.parametrize("sparsity", [1, 3, 20])
def test_entries_of_signs_are_uncorrelated(sparsity):
    drawn = draw_signs(2000, 12, sparsity, rng(2))
    R = drawn.toarray() if sparse.issparse(drawn) else drawn
    products = (R.T @ R)[np.triu_indices(12, 1)]
    assert np.abs(products).max() <= 5 * np.sqrt(len(R))
    rows = (R[::2] * R[1::2]).sum(axis=1)
    assert abs(rows.sum()) <= 5 * np.sqrt(R.size / 2)


@pytest.mark.parametrize("sparsity", [10, 19, 400])
def test_sparse_signs_take_the_memory_of_their_entries(sparsity):
    tracemalloc.start()
    drawn = draw_signs(20_000, 200, sparsity, rng())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # numbers of places, rows, columns and entries, as they are found and as they are kept
    assert peak <= 12 * 8 * drawn.nnz + 8 * 20_001 + 100_000


@pytest.mark.parametrize(("trials", "probability"), [(40, 0.1), (7, 0.02)])
def test_each_trial_succeeds_as_often_and_alone(trials, probability):
    draws, generator = 20_000, rng(5)
    hits = np.zeros((draws, trials), bool)
    for row in hits:
        row[_successes(trials, probability, generator)] = True
    check_counts(hits, probability)
    both = (hits[:, :-1] & hits[:, 1:]).sum(axis=0) / draws
    assert np.abs(both - probability**2).max() <= 5 * np.sqrt(probability**2 / draws)


@pytest.mark.parametrize("sparsity", [1, 3, 20])
def test_there_may_be_no_signs(sparsity):
    assert draw_signs(3, 0, sparsity, rng()).shape == (3, 0)


@pytest.mark.parametrize("sparsity", [1, 20])
def test_stretched_vectors_have_each_entry_multiplied(sparsity):
    pool, factors = draw_signs(4, 50, sparsity, rng()), np.array([2.0, 0.0, 0.5, 1.0])
    found = stretched(pool.copy(), factors)
    assert sparse.issparse(found) == sparse.issparse(pool)
    if sparse.issparse(found):
        assert found.format == "csr"
        pool, found = pool.toarray(), found.toarray()
    for j in range(4):
        assert np.array_equal(found[j], factors[j] * pool[j])
