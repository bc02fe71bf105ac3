import numpy as np
import pytest

from skimp._core._random import as_generator, content_keys, draw_seed, row_keys
from tests.reference import naive


def test_the_same_int_seeds_the_same_generator():
    assert as_generator(3).random() == as_generator(3).random()
    assert as_generator(3).random() != as_generator(4).random()


def test_a_generator_passes_through():
    rng = np.random.default_rng(0)
    assert as_generator(rng) is rng


def test_none_is_fresh():
    assert as_generator(None).random() != as_generator(None).random()


def test_a_random_state_is_drawn_from():
    state = np.random.RandomState(0)
    first, second = as_generator(state).random(), as_generator(state).random()
    again = as_generator(np.random.RandomState(0)).random()
    assert first == again
    assert first != second


def test_seeds_are_whole_numbers_that_row_keys_takes():
    rng = np.random.default_rng(0)
    seeds = [draw_seed(rng) for _ in range(50)]
    assert len(set(seeds)) == 50
    assert all(isinstance(seed, int) and 0 <= seed < 2**63 for seed in seeds)
    assert row_keys(max(seeds), 0, 3).dtype == np.uint64


@pytest.mark.parametrize("seed", [0, 1, 2**63 - 1])
def test_row_keys_are_their_naive_twin(seed):
    keys = row_keys(seed, 5, 25)
    assert keys.tolist() == [naive.row_key(seed, row) for row in range(5, 25)]


def test_row_keys_do_not_depend_on_the_chunking():
    whole = row_keys(7, 0, 100)
    parts = [row_keys(7, start, min(start + 13, 100)) for start in range(0, 100, 13)]
    assert np.array_equal(whole, np.concatenate(parts))
    assert row_keys(7, 4, 4).size == 0


@pytest.mark.parametrize("seed", [0, 1, 123_456_789])
def test_row_keys_are_uniform(seed):
    n = 100_000
    keys = np.sort(row_keys(seed, 0, n) / 2.0**64)
    steps = np.arange(n + 1) / n
    distance = max(np.abs(keys - steps[1:]).max(), np.abs(keys - steps[:-1]).max())
    # Dvoretzky-Kiefer-Wolfowitz: larger with a probability of at most 1e-6
    assert distance <= np.sqrt(np.log(2 / 1e-6) / (2 * n))


@pytest.mark.parametrize("seed", [0, 1])
def test_every_bit_of_row_keys_is_fair(seed):
    n = 100_000
    keys = row_keys(seed, 0, n)
    shares = [np.mean((keys >> np.uint64(bit)) & np.uint64(1)) for bit in range(64)]
    # Hoeffding and a union over 64 bits: larger with a probability of at most 1e-6
    assert np.abs(np.array(shares) - 0.5).max() <= np.sqrt(np.log(2 * 64 / 1e-6) / (2 * n))


def test_keys_of_neighbouring_seeds_share_nothing():
    first, second = row_keys(1, 0, 2000), row_keys(2, 0, 2000)
    assert not set(first.tolist()) & set(second.tolist())
    correlation = np.corrcoef(first.astype(float), second.astype(float))[0, 1]
    assert abs(correlation) <= 5 / np.sqrt(2000)


def test_content_keys_distinguish_rows_alone():
    X = np.array([[a, b, c] for a in range(20) for b in range(-10, 10) for c in (0.0, 0.5)])
    keys = content_keys(X)
    assert len(set(keys)) == len(X)
    assert np.array_equal(content_keys(np.where(X == 0, -0.0, X)[::-1]), keys[::-1])
