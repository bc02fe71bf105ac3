import numpy as np
import pytest

from skimp._core.loops._swaps import swap_medoids
from tests.reference import medoids as naive


def problem(n, *, seed, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    return D.astype(dtype), rng.random(n) + 0.1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [2, 3, 7])
def test_no_swap_is_left(k, dtype):
    for seed in range(5):
        D, weight = problem(40, seed=seed, dtype=dtype)
        medoids = np.arange(k)
        start = naive.cost(D, medoids, weight)
        passes, done = swap_medoids(D, weight, medoids, 100, 1e-9)
        assert 0 < passes < 100
        assert done
        assert len(set(medoids.tolist())) == k
        reached = naive.cost(D, medoids, weight)
        assert reached < start
        assert naive.best_swap(D, medoids.tolist(), weight) > reached * (1 - 1e-8)


def test_some_start_reaches_the_optimum():
    D, weight = problem(14, seed=3)
    found = []
    for seed in range(5):
        medoids = np.random.default_rng(seed).permutation(14)[:3]
        swap_medoids(D, weight, medoids, 100, 1e-9)
        found.append(naive.cost(D, medoids, weight))
    assert min(found) == pytest.approx(naive.best(D, 3, weight))


def test_limit_of_passes():
    D, weight = problem(200, seed=0)
    medoids = np.arange(10)
    assert swap_medoids(D, weight, medoids, 1, 1e-9) == (1, False)
    assert naive.cost(D, medoids, weight) < naive.cost(D, np.arange(10), weight)


def test_equal_points():
    D, weight = np.zeros((6, 6)), np.ones(6)
    medoids = np.array([1, 4])
    swap_medoids(D, weight, medoids, 100, 1e-9)
    assert medoids.tolist() == [1, 4]


def test_copies_of_few_points_end_at_once():
    D = np.abs(np.subtract.outer(*[np.repeat([0.0, 1.0, 5.0], 100)] * 2)) * (1 + 1e-15)
    for k in (2, 3, 7):
        medoids = np.arange(k) * 40
        passes, done = swap_medoids(D, np.ones(300), medoids, 100, 1e-9)
        assert done
        assert passes < 5
