"""Random generators, and pseudo-random keys of rows."""

import numpy as np

from skimp._core._types import Array, RandomState


def as_generator(random_state: RandomState) -> np.random.Generator:
    """Convert a ``random_state`` into a generator."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(np.iinfo(np.int32).max, size=4))
    return np.random.default_rng(random_state)


def draw_seed(rng: np.random.Generator) -> int:
    """Draw an integer seed."""
    return int(rng.integers(np.iinfo(np.int64).max))


def row_keys(seed: int, start: int, stop: int) -> Array:
    """Return a pseudo-random 64-bit key for each row number in ``start, ..., stop - 1``.

    The key is a counter-based hash (the finalizer of SplitMix64) of the seed and the row number.
    The rows with the smallest keys are therefore the same sample for every block size.
    """
    # mix the seed first, or the keys of neighbouring seeds would be shifted copies of each other
    key = np.arange(start, stop, dtype=np.uint64) + _mix(np.array([seed], dtype=np.uint64))
    return _mix(key * np.uint64(0x9E3779B97F4A7C15))


def content_keys(X: Array) -> Array:
    """Return a 64-bit hash of the float64 values of each row: equal rows have equal keys."""
    key = np.zeros(len(X), np.uint64)
    # minus zero becomes zero
    for column in np.ascontiguousarray(X.T, np.float64) + 0.0:
        key = _mix(key ^ column.view(np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
    return key


def _mix(key: Array) -> Array:
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Array = key ^ (key >> np.uint64(31))
    return mixed
